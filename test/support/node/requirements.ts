import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isPresent, programsOf, type SetName, titleOf } from '../../kubernetes/programs.ts';

/** Program → Debian's package. */
const programs: Readonly<Record<string, string>> = {
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  iptables: 'iptables',
  ip: 'iproute2',
  nsenter: 'util-linux',
  curl: 'curl',
};

const files: Readonly<Record<string, string>> = {
  '/usr/lib/cni/bridge': 'containernetworking-plugins',
  '/bin/busybox': 'busybox-static',
};

/** What is missing on this machine to start a control plane, containerd and nodes; empty if nothing is. */
export function missingRequirements(set: SetName = 'node'): string[] {
  const isInstalled = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
  const missing = programsOf([set]).filter((program) => !isPresent(program));
  return [
    ...(process.platform === 'linux' ? [] : ['Linux']),
    ...(process.getuid?.() === 0 ? [] : ['root: containers are started']),
    ...(missing.length === 0 ? [] : [`${missing.map(titleOf).join(', ')}: \`npm run kubernetes -- ${set}\``]),
    ...Object.entries(programs).flatMap(([name, from]) => (isInstalled(name) ? [] : [`${name} (package: ${from})`])),
    ...Object.entries(files).flatMap(([name, from]) => (existsSync(name) ? [] : [`${name} (package: ${from})`])),
  ];
}
