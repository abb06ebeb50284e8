import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';

/*
 * `npm run api-report`: compares the public types of each export of package.json with its report in
 * `api/`, and fails when they differ. `-- --write` updates the reports. They are reviewed like code:
 * a change of the public API shows as a diff.
 */

const root = fileURLToPath(new URL('../../../', import.meta.url));
const { write } = parseArgs({ options: { write: { type: 'boolean', default: false } } }).values;

interface PackageJSON {
  readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
}

/** Name of the report → declarations of the export. */
function entryPoints(): [name: string, types: string][] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackageJSON;
  return Object.entries(exports).flatMap(([path, target]) =>
    typeof target === 'string' ? [] : [[path === '.' ? 'index' : path.slice('./'.length), target.types]],
  );
}

/** @returns whether the report is up to date */
function check(name: string, types: string, tempFolder: string): boolean {
  const extractorConfig = ExtractorConfig.prepare({
    configObjectFullPath: undefined,
    packageJsonFullPath: join(root, 'package.json'),
    configObject: {
      projectFolder: root,
      mainEntryPointFilePath: join(root, types),
      newlineKind: 'lf',
      compiler: {
        overrideTsconfig: {
          compilerOptions: {
            target: 'es2022',
            // api-extractor does not find AbortSignal and others in @types/node alone.
            lib: ['es2023', 'es2024.string', 'esnext.disposable', 'dom'],
            module: 'nodenext',
            types: ['node'],
            strict: true,
            exactOptionalPropertyTypes: true,
            skipLibCheck: true,
          },
          files: [join(root, types)],
        },
      },
      apiReport: {
        enabled: true,
        reportFolder: join(root, 'api'),
        reportTempFolder: tempFolder,
        reportFileName: `${name}.api.md`,
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      messages: {
        compilerMessageReporting: { default: { logLevel: 'error' as never } },
        extractorMessageReporting: { default: { logLevel: 'none' as never } },
        tsdocMessageReporting: { default: { logLevel: 'none' as never } },
      },
    },
  });
  const { apiReportChanged, errorCount } = Extractor.invoke(extractorConfig, {
    localBuild: write,
    printApiReportDiff: true,
    messageCallback: (message) => {
      // Its own words tell to copy files from a folder that is gone.
      if (message.messageId === 'console-api-report-not-copied') message.handled = true;
    },
  });
  return errorCount === 0 && (write || !apiReportChanged);
}

const tempFolder = mkdtempSync(join(tmpdir(), 'api-report-'));
try {
  mkdirSync(join(root, 'api'), { recursive: true });
  const changed = entryPoints()
    .filter(([name, types]) => !check(name, types, tempFolder))
    .map(([name]) => name);
  if (changed.length > 0) {
    console.error(
      `The public API has changed: ${changed.join(', ')}. Run npm run api-report -- --write and review api/.`,
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(tempFolder, { recursive: true });
}
