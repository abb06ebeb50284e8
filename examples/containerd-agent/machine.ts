import { readdir, readFile, statfs } from 'node:fs/promises';
import { cpus, networkInterfaces, release, totalmem } from 'node:os';
import { quantityValue } from 'kubelet-status-manager';
import type { NodeStatus } from 'kubelet-status-manager/agent';

/** A version of the kubelet whose behaviour this agent has, which controllers compare; the suffix says that it is not one. */
const kubeletVersion = 'v1.37.1+kubelet-status-manager';

/** The machine's resources as a Node shows them. Source: cAdvisor `MachineInfo`, `EphemeralStorageCapacityFromFsInfo`. */
export async function machineCapacity(rootDir: string, maxPods: number): Promise<Readonly<Record<string, string>>> {
  const { blocks, bsize } = await statfs(rootDir);
  return {
    cpu: String(cpus().length),
    'ephemeral-storage': String(blocks * bsize),
    ...(await hugePages()),
    memory: `${Math.floor(totalmem() / 1024)}Ki`,
    pods: String(maxPods),
  };
}

/**
 * What pods may request: the capacity without what the thresholds of eviction keep free, and memory without huge pages.
 * Source: kubelet `hardEvictionReservation`, `nodestatus.MachineInfo`.
 */
export function allocatable(
  capacity: Readonly<Record<string, string>>,
  evictionHard: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const bytesOf = (quantity = '0'): number => quantityValue(quantity) ?? 0;
  const reserved = (resource: string, threshold = '0'): number =>
    threshold.endsWith('%')
      ? Math.trunc((bytesOf(capacity[resource]) * Number.parseFloat(threshold)) / 100)
      : bytesOf(threshold);
  const hugePages = Object.keys(capacity).filter((name) => name.startsWith('hugepages-'));
  const hugeBytes = hugePages.reduce((sum, name) => sum + bytesOf(capacity[name]), 0);
  const memory = bytesOf(capacity['memory']) - reserved('memory', evictionHard['memory.available']) - hugeBytes;
  const disk = bytesOf(capacity['ephemeral-storage']);
  return {
    ...capacity,
    memory: `${Math.max(0, Math.floor(memory / 1024))}Ki`,
    'ephemeral-storage': String(Math.max(0, disk - reserved('ephemeral-storage', evictionHard['nodefs.available']))),
  };
}

/** Bytes of swap, from `/proc/meminfo`. Source: cAdvisor `GetMachineSwapCapacity`. */
export function swapCapacity(meminfo: string): number {
  return Number(/^SwapTotal: +(\d+) kB$/m.exec(meminfo)?.[1] ?? 0) * 1024;
}

/** @param uidMap of `/proc/self/uid_map`; empty where there are no user namespaces. Source: moby `userns.RunningInUserNS`. */
export function isInUserNamespace(uidMap: string): boolean {
  return !/^\s*(0\s+0\s+4294967295\s*)?$/.test(uidMap);
}

/** What identifies the machine and its software. */
export async function machineInfo(): Promise<NonNullable<NodeStatus['nodeInfo']>> {
  const swapBytes = swapCapacity(await firstFile('/proc/meminfo'));
  const machineID = (await firstFile('/etc/machine-id', '/var/lib/dbus/machine-id')).trim();
  return {
    machineID,
    systemUUID: (await firstFile('/sys/class/dmi/id/product_uuid')).trim() || machineID,
    bootID: (await firstFile('/proc/sys/kernel/random/boot_id')).trim(),
    kernelVersion: release(),
    osImage: /^PRETTY_NAME="?([^"\n]*)/m.exec(await firstFile('/etc/os-release'))?.[1] ?? '',
    kubeletVersion,
    kubeProxyVersion: '',
    operatingSystem: 'linux',
    architecture: process.arch === 'x64' ? 'amd64' : process.arch,
    ...(swapBytes > 0 && { swap: { capacity: swapBytes } }),
    runningInUserNamespace: isInUserNamespace(await firstFile('/proc/self/uid_map')),
  };
}

/** The IPv4 address of the interface that has the default route, otherwise the first one that is not a loopback. */
export async function defaultNodeIP(): Promise<string | undefined> {
  const interfaces = networkInterfaces();
  const routes = (await firstFile('/proc/net/route')).split('\n').map((line) => line.split('\t'));
  const [defaultInterface = ''] = routes.find(([, destination]) => destination === '00000000') ?? [];
  const addresses = [interfaces[defaultInterface] ?? [], ...Object.values(interfaces).map((list) => list ?? [])].flat();
  return addresses.find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
}

/** Source: `v1helper.HugePageResourceName`. */
async function hugePages(): Promise<Record<string, string>> {
  const folder = '/sys/kernel/mm/hugepages';
  const resources: Record<string, string> = {};
  for (const name of await readdir(folder).catch(() => [])) {
    const sizeKi = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1]);
    if (!sizeKi) continue;
    const pages = Number(await firstFile(`${folder}/${name}/nr_hugepages`));
    resources[`hugepages-${binaryQuantity(sizeKi)}`] = pages === 0 ? '0' : binaryQuantity(pages * sizeKi);
  }
  return resources;
}

function binaryQuantity(ki: number): string {
  if (ki % 2 ** 20 === 0) return `${ki / 2 ** 20}Gi`;
  return ki % 2 ** 10 === 0 ? `${ki / 2 ** 10}Mi` : `${ki}Ki`;
}

/** Empty if there is none of these files. */
async function firstFile(...paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    try {
      return await readFile(path, 'utf8');
    } catch {
      // The next one, or none: the Node shows an empty text, like the kubelet's.
    }
  }
  return '';
}
