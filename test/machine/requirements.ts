import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { isPresent, programsOf, titleOf } from '../kubernetes/programs.ts';

/** Program → Debian's package. */
const programs: Readonly<Record<string, string>> = {
  'qemu-system-x86_64': 'qemu-system-x86',
  mmdebstrap: 'mmdebstrap',
  'mkfs.ext4': 'e2fsprogs',
  ssh: 'openssh-client',
  ip: 'iproute2',
  openssl: 'openssl',
};

/** What is missing on this machine to start a virtual one with its control plane; empty if nothing is. */
export function missingRequirements(): string[] {
  const isInstalled = (program: string): boolean => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
  const missing = programsOf(['conformance']).filter((program) => !isPresent(program));
  return [
    ...(process.platform === 'linux' && process.arch === 'x64' ? [] : ['Linux on x86-64']),
    ...(process.getuid?.() === 0 ? [] : ['root: a network device is made']),
    ...(existsSync('/dev/net/tun') ? [] : ['/dev/net/tun (the kernel module tun)']),
    ...(existsSync('/bin/busybox') ? [] : ['/bin/busybox (package: busybox-static)']),
    ...(missing.length === 0 ? [] : [`${missing.map(titleOf).join(', ')}: \`npm run kubernetes -- conformance\``]),
    ...Object.entries(programs).flatMap(([name, from]) => (isInstalled(name) ? [] : [`${name} (package: ${from})`])),
  ];
}
