import type { TestNode } from '../test-node.ts';
import { bootstrap } from './bootstrap.ts';
import { cgroups, systemdCgroups } from './cgroups.ts';
import { fullDisk } from './full-disk.ts';
import { appArmor, userNamespaces } from './isolation.ts';
import { kills } from './kills.ts';
import { reboot } from './reboot.ts';
import { shapes } from './shapes.ts';

/** What is checked on the node, in this order. */
export const parts = {
  cgroups,
  apparmor: appArmor,
  'user-namespaces': userNamespaces,
  kills,
  reboot,
  shapes: (node) => shapes(node, 'cgroupfs'),
  'systemd-cgroups': systemdCgroups,
  'systemd-shapes': (node) => shapes(node, 'systemd'),
  'full-disk': fullDisk,
  bootstrap,
} as const satisfies Readonly<Record<string, (node: TestNode) => Promise<void>>>;

export type PartName = keyof typeof parts;

export const partNames = Object.keys(parts) as readonly PartName[];

/** Those of CI. */
export const quickParts: readonly PartName[] = ['cgroups', 'reboot'];

export function isPartName(name: string): name is PartName {
  return Object.hasOwn(parts, name);
}
