import { constants, type BigIntStats as Stats } from 'node:fs';
import { makeDirectories } from '../../shared/make-directories.ts';
import type { HostFiles } from './host-files.ts';

interface FileKind {
  readonly what: string;
  readonly matches: (stats: Stats) => boolean;
}

const file: FileKind = { what: 'file', matches: (stats) => stats.isFile() };
const directory: FileKind = { what: 'directory', matches: (stats) => stats.isDirectory() };

const kinds: ReadonlyMap<string, FileKind> = new Map([
  ['Directory', directory],
  ['DirectoryOrCreate', directory],
  ['File', file],
  ['FileOrCreate', file],
  ['Socket', { what: 'socket file', matches: (stats) => stats.isSocket() }],
  ['CharDevice', { what: 'character device', matches: (stats) => stats.isCharacterDevice() }],
  ['BlockDevice', { what: 'block device', matches: (stats) => stats.isBlockDevice() }],
]);

/**
 * Creates a missing path if the type is `…OrCreate`, and rejects a path of another type. The path is the host's, and may
 * have links. Source: kubelet `checkType`.
 *
 * Divergence: a file is not created through a link at the end of its path.
 */
export async function checkHostPathType(files: HostFiles, path: string, type = ''): Promise<void> {
  if (type === '') return;
  const kind = kinds.get(type);
  if (kind === undefined) throw new Error(`${type} is an invalid volume type`);
  const stats = await files.stat(path).catch(() => undefined);
  if (stats === undefined && type === 'DirectoryOrCreate') await makeDirectories(path, 0o755, files);
  else if (stats === undefined && type === 'FileOrCreate') await createFile(files, path);
  else if (stats === undefined)
    throw new Error(
      `hostPath type check failed, ${path} is not a ${kind.what}, unable to determine its type: path ${JSON.stringify(path)} does not exist`,
    );
  else if (!kind.matches(stats))
    throw new Error(`hostPath type check failed: ${path} is not a ${kind.what}, it's a ${typeOf(stats)}`);
}

async function createFile(files: HostFiles, path: string): Promise<void> {
  await (await files.open(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY, 0o644)).close();
}

function typeOf(stats: Stats): string {
  for (const [type, { matches }] of kinds) if (matches(stats)) return type;
  return '';
}
