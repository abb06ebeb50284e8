import { HostDirectory } from '../host-paths/host-directory.ts';
import type { HostFiles } from '../host-paths/host-files.ts';
import { readAll } from '../host-paths/host-file.ts';
import { resolveInside } from '../host-paths/resolve.ts';

/** Much more than the kernel passes to a process. */
const maxFileBytes = 1024 * 1024;

/**
 * The value of a variable in a file of a volume; empty if the file does not assign it. Rejects if the file is missing,
 * is outside of the volume through a link, or has invalid lines before the variable. Source: kubelet `envutil.ParseEnv`.
 *
 * Divergence: a file of more than 1 MiB is refused; the kubelet reads as far as the variable.
 */
export async function readEnvFile(files: HostFiles, volume: string, path: string, key: string): Promise<string> {
  const { root, names } = await resolveInside(files, volume, path);
  const file = await HostDirectory.use(files, root, names.slice(0, -1), (folder) =>
    folder.openFile(names.at(-1) ?? ''),
  );
  return parseEnvFile((await readAll(file, maxFileBytes)).toString(), key);
}

/**
 * The value of a variable in lines of `NAME='value'`. A value is literal and may have several lines; comments and empty
 * lines are skipped. Lines behind the variable are not read. @throws Error with the number of an invalid line
 */
export function parseEnvFile(text: string, key: string): string {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  // The last line end begins no line.
  if (lines.at(-1) === '') lines.pop();
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]!.replace(/^[ \t]+/, '');
    if (line === '' || line.startsWith('#')) continue;
    const equals = line.indexOf('=');
    const name = line.slice(0, Math.max(equals, 0));
    if (equals === -1) refuse(index, "missing '='");
    if (/^[ \t]*$/.test(name)) refuse(index, 'empty variable name');
    if (/[ \t]$/.test(name)) refuse(index, "whitespace before '=' is not allowed");
    let rest = line.slice(equals + 1);
    // As in a shell, what follows is another word, and the value is empty.
    if (/^[ \t]/.test(rest)) {
      if (name === key) return '';
      continue;
    }
    if (!rest.startsWith("'")) refuse(index, 'value must be enclosed in single quotes');

    const start = index;
    const value: string[] = [];
    rest = rest.slice(1);
    while (!rest.includes("'")) {
      value.push(rest);
      index += 1;
      if (index === lines.length) refuse(start, 'unclosed single quote');
      rest = lines[index]!;
    }
    const end = rest.indexOf("'");
    if (!/^[ \t]*(#|$)/.test(rest.slice(end + 1))) refuse(index, 'unexpected content after closing quote');
    if (name === key) return [...value, rest.slice(0, end)].join('\n');
  }
  return '';
}

function refuse(index: number, why: string): never {
  throw new Error(`invalid environment variable format at line ${index + 1}: ${why}`);
}
