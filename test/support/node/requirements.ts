import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isPresent, programsOf, type SetName, titleOf } from '../../kubernetes/programs.ts';

/** Program or file → Debian's package. */
type PackageOf = Readonly<Record<string, string>>;

const programs: PackageOf = {
  containerd: 'containerd',
  ctr: 'containerd',
  runc: 'runc',
  iptables: 'iptables',
  ip: 'iproute2',
  nsenter: 'util-linux',
  curl: 'curl',
};

const files: PackageOf = {
  '/usr/lib/cni/bridge': 'containernetworking-plugins',
  '/bin/busybox': 'busybox-static',
};

/** What is missing on this machine to start a control plane, containerd and nodes; empty if nothing is. */
export function missingRequirements(set: SetName = 'node'): string[] {
  return [
    ...(process.platform === 'linux' ? [] : ['Linux']),
    ...(process.getuid?.() === 0 ? [] : ['root: containers are started']),
    ...missingPrograms(set),
    ...missingPackages(programs, files),
  ];
}

/** Programs of Kubernetes that are not built. */
export function missingPrograms(set: SetName): string[] {
  const missing = programsOf([set]).filter((program) => !isPresent(program));
  return missing.length === 0 ? [] : [`${missing.map(titleOf).join(', ')}: \`npm run kubernetes -- ${set}\``];
}

export function missingPackages(ofPrograms: PackageOf, ofFiles: PackageOf): string[] {
  const isInstalled = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
  const missing = [
    ...Object.entries(ofPrograms).filter(([name]) => !isInstalled(name)),
    ...Object.entries(ofFiles).filter(([path]) => !existsSync(path)),
  ];
  return missing.map(([name, from]) => `${name} (package: ${from})`);
}
