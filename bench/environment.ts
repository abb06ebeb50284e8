import { accessSync, constants, readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The folder of package.json; this file runs from dist/bench. */
const projectRoot = new URL('../../', import.meta.url);

export function projectPath(path: string): string {
  return fileURLToPath(new URL(path, projectRoot));
}

interface PackageFile {
  readonly name: string;
  readonly version: string;
}

/** What the figures depend on: machine, versions, date and command. */
export function environment(command: string): Record<string, string> {
  const versionOf = (folder: string): string => {
    const { name, version } = JSON.parse(readFileSync(projectPath(`${folder}package.json`), 'utf8')) as PackageFile;
    return `${name} ${version}`;
  };
  const packages = ['', 'node_modules/undici/', 'node_modules/@kubernetes/client-node/'].map(versionOf);
  const processors = cpus();
  return {
    command,
    date: new Date().toISOString().slice(0, 10),
    machine: `${processors.length} × ${processors[0]?.model.trim() || process.arch}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    platform: `${process.platform} ${process.arch}`,
    versions: [...packages, `Node.js ${process.versions.node}`, `V8 ${process.versions.v8}`].join(', '),
  };
}

/**
 * The program that runs the same benchmarks with the kubelet's code: `path`, otherwise KUBELET_ORACLE,
 * otherwise the one next to the project. Undefined if there is none; then only our figures are printed.
 */
export function findOracle(path: string | undefined): string | undefined {
  const chosen = path ?? (process.env['KUBELET_ORACLE'] || undefined);
  if (chosen !== undefined) return chosen;
  const shared = projectPath('../shared/oracle/kubelet-oracle');
  return isExecutable(shared) ? shared : undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
