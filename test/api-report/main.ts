import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { checkExamples } from './examples.ts';
import { checkSurface, type EntryPoint } from './surface.ts';

/*
 * `npm run api-report`: compares the public types of each export of package.json with its report in
 * `api/`, and fails when they differ. `-- --write` updates the reports. They are reviewed like code:
 * a change of the public API shows as a diff. Also fails when too much is exported, when nothing uses
 * an exported symbol, and when an `@example` is missing or does not compile.
 */

const root = fileURLToPath(new URL('../../../', import.meta.url));
const { write } = parseArgs({ options: { write: { type: 'boolean', default: false } } }).values;

interface PackageJSON {
  readonly exports: Readonly<Record<string, string | { readonly types: string; readonly default: string }>>;
}

function readEntryPoints(): EntryPoint[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as PackageJSON;
  return Object.entries(exports).flatMap(([path, target]) => {
    if (typeof target === 'string') return [];
    const name = path === '.' ? 'index' : path.slice('./'.length);
    return [{ name, types: target.types, module: target.default }];
  });
}

/** @returns whether the report is up to date */
function checkReport({ name, types }: EntryPoint, tempFolder: string): boolean {
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

const entryPoints = readEntryPoints();
const tempFolder = mkdtempSync(join(tmpdir(), 'api-report-'));
try {
  mkdirSync(join(root, 'api'), { recursive: true });
  const changed = entryPoints.filter((entry) => !checkReport(entry, tempFolder)).map(({ name }) => name);
  const problems = [...(await checkSurface(root, entryPoints)), ...(await checkExamples(root, entryPoints))];
  if (changed.length > 0) {
    problems.push(
      `The public API has changed: ${changed.join(', ')}. Run npm run api-report -- --write and review api/.`,
    );
  }
  for (const problem of problems) console.error(problem);
  if (problems.length > 0) process.exitCode = 1;
} finally {
  rmSync(tempFolder, { recursive: true });
}
