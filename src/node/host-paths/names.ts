import { posix } from 'node:path';

/** The name itself, if it is one component of a path. @throws Error */
export function requireName(name: string): string {
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name))
    throw new Error(`${JSON.stringify(name)} is not the name of a file`);
  return name;
}

/** kubelet: `maxPathLength`. */
const maxPathBytes = 4096;

/** The path itself, unless it is longer than the kernel accepts. @throws Error */
export function requirePathLength(path: string): string {
  if (Buffer.byteLength(path) > maxPathBytes)
    throw new Error(`invalid path: must be less than or equal to ${maxPathBytes} characters`);
  return path;
}

/**
 * A path of a container as the kernel reads it, without `.`, `..` and superfluous slashes; `..` stays only at the start of
 * a relative path. Source: Go `filepath.Clean`.
 */
export function cleanPath(path: string): string {
  const normalized = posix.normalize(path);
  return normalized.length > 1 && normalized.endsWith('/') ? normalized.slice(0, -1) : normalized;
}
