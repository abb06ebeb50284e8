import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';

/** How many IDs each pod has. kubelet: `userNamespaces.idsPerPod`. */
export const idsPerPod = 65_536;
export const idCount = 2 ** 32;
const execute = promisify(execFile);

/** IDs of the machine that no user and no other program has. */
export interface IDRange {
  readonly firstID: number;
  readonly length: number;
}

/**
 * The subordinate IDs of the user `kubelet`, if it exists and `getsubids` is installed; otherwise all IDs above those of
 * the machine's users. Source: kubelet `getKubeletMappings`.
 */
export async function readIDRange(
  usersFile = '/etc/passwd',
  run: (program: string, args: readonly string[]) => Promise<{ readonly stdout: string }> = execute,
): Promise<IDRange> {
  const users = await readFile(usersFile, 'utf8').catch(() => '');
  const all = { firstID: idsPerPod, length: idCount - idsPerPod };
  if (!users.split('\n').some((line) => line.startsWith('kubelet:'))) return all;
  try {
    const [uids, gids] = await Promise.all([run('getsubids', ['kubelet']), run('getsubids', ['-g', 'kubelet'])]);
    if (uids.stdout !== gids.stdout) throw new Error('mismatched subuids and subgids for user "kubelet"');
    return parseSubordinateIDs(uids.stdout);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return all;
    throw error;
  }
}

/** `0: kubelet 65536 2147483648`. Source: kubelet `parseGetSubIdsOutput`. */
export function parseSubordinateIDs(output: string): IDRange {
  const lines = output.trim().split('\n');
  const [, , firstID, length, more] = (lines[0] ?? '').split(/\s+/);
  const isValid =
    lines.length === 1 && more === undefined && [firstID, length].every((id) => /^\d{1,10}$/.test(id ?? ''));
  if (!isValid) throw new Error(`error parsing ${JSON.stringify(output)}: it must contain only one line`);
  return { firstID: Number(firstID), length: Number(length) };
}
