import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { scripts } from './scripts.ts';

/** Program → Debian's package. */
const programs: Readonly<Record<string, string>> = {
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  iptables: 'iptables',
  ip: 'iproute2',
  nsenter: 'util-linux',
  curl: 'curl',
  openssl: 'openssl',
  xz: 'xz-utils',
  kubectl: 'not in Debian; see https://kubernetes.io/docs/tasks/tools/',
};

const files: Readonly<Record<string, string>> = {
  '/usr/lib/cni/bridge': 'containernetworking-plugins',
  '/bin/busybox': 'busybox-static',
};

/**
 * What is missing on this machine to start a control plane, containerd and nodes; empty if nothing is.
 *
 * @param tools the folder of the scripts that start them
 */
export function missingRequirements(tools = scripts): string[] {
  const isInstalled = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
  return [
    ...(process.platform === 'linux' ? [] : ['Linux']),
    ...(process.getuid?.() === 0 ? [] : ['root: containers are started']),
    ...['assets', 'containerd', 'control-plane', 'kubelet']
      .map((script) => path.join(tools, script))
      .filter((script) => !existsSync(script))
      .map((script) => `${script}: one of the scripts that start the parts of a cluster`),
    ...Object.entries(programs).flatMap(([name, from]) => (isInstalled(name) ? [] : [`${name} (package: ${from})`])),
    ...Object.entries(files).flatMap(([name, from]) => (existsSync(name) ? [] : [`${name} (package: ${from})`])),
  ];
}
