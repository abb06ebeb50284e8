import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The repository's folder, also when this file runs compiled from `dist`. */
export const repository = fileURLToPath(
  new URL(import.meta.url.includes('/dist/test/') ? '../../../../' : '../../../', import.meta.url),
);
const scripts = join(repository, '..', 'shared', 'node');
const programs = ['containerd', 'runc', 'ctr', 'ip', 'iptables', 'nsenter', 'curl', 'openssl', 'kubectl'];
const packages = 'containerd runc containernetworking-plugins busybox-static iptables iproute2 curl openssl';

/** What is missing on this machine, one sentence each. */
export function missingRequirements(): string[] {
  const missing: string[] = [];
  if (process.getuid?.() !== 0) missing.push('It must run as root, because containerd and the kubelet do.');
  if (!existsSync(join(scripts, 'kubelet'))) {
    missing.push(
      `${scripts} is missing: the scripts that start a kubelet v1.37.1, a control plane and a containerd of their own.`,
    );
  }
  const absent = programs.filter((name) => spawnSync('which', [name]).status !== 0);
  if (!existsSync('/usr/lib/cni/bridge')) absent.push('/usr/lib/cni/bridge');
  if (!existsSync('/bin/busybox')) absent.push('/bin/busybox');
  if (absent.length > 0) {
    missing.push(`Not installed: ${absent.join(', ')}. On Debian: apt-get install ${packages}; kubectl separately.`);
  }
  return missing;
}

/** Runs a script of `../shared/node`; resolves with the last line that it prints. */
export async function runNodeScript(name: string, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(join(scripts, name), args, { maxBuffer: 1 << 24 });
  return stdout.trim().split('\n').at(-1)!;
}
