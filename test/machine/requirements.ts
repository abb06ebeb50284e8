import { existsSync } from 'node:fs';
import { missingPackages, missingPrograms } from '../support/node/requirements.ts';

/** Program → Debian's package. */
const programs = {
  'qemu-system-x86_64': 'qemu-system-x86',
  mmdebstrap: 'mmdebstrap',
  'mkfs.ext4': 'e2fsprogs',
  ssh: 'openssh-client',
  ip: 'iproute2',
  openssl: 'openssl',
};

const files = { '/bin/busybox': 'busybox-static' };

/** What is missing on this machine to start a virtual one with its control plane; empty if nothing is. */
export function missingRequirements(): string[] {
  return [
    ...(process.platform === 'linux' && process.arch === 'x64' ? [] : ['Linux on x86-64']),
    ...(process.getuid?.() === 0 ? [] : ['root: a network device is made']),
    ...(existsSync('/dev/net/tun') ? [] : ['/dev/net/tun (the kernel module tun)']),
    ...missingPrograms('conformance'),
    ...missingPackages(programs, files),
  ];
}
