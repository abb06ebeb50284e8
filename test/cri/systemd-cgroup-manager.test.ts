import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { CgroupFiles } from '../../src/cri/cgroup-files.ts';
import { parseCgroupName } from '../../src/cri/cgroup-manager.ts';
import { PodCgroups } from '../../src/cri/pod-cgroups.ts';
import { resourceProperties, sliceName, SystemdCgroupManager } from '../../src/cri/systemd-cgroup-manager.ts';
import { silentLogger } from '../../src/testing/recording-logger.ts';
import { TestDirectories } from '../support/directories.ts';
import { podWith } from './pods.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

const machine = { cpus: 4, hugePageSizes: [] };
const pod = ['kubepods', 'burstable', 'pod1234-abcd'];
const slice = 'kubepods-burstable-pod1234_abcd.slice';

/** A folder that looks like cgroup v2, and a systemd that refuses these methods and verbs. */
function systemd(refusals: readonly string[] = []) {
  const mountPoint = directories.create();
  const folder = join(mountPoint, 'kubepods.slice/kubepods-burstable.slice', slice);
  for (const parent of ['.', 'kubepods.slice', 'kubepods.slice/kubepods-burstable.slice']) {
    mkdirSync(join(mountPoint, parent), { recursive: true });
    writeFileSync(join(mountPoint, parent, 'cgroup.controllers'), 'cpu memory pids');
  }
  const calls: string[] = [];
  const run = async (program: string, args: readonly string[]): Promise<void> => {
    calls.push(
      [program, ...args].join(' ').replace(/ -- call org\S+ \/org\S+ org\.freedesktop\.systemd1\.Manager/, ''),
    );
    const refusal = refusals.find((name) => args.includes(name));
    if (refusal !== undefined) throw new Error(`${program}: no ${refusal}`);
  };
  const files = new CgroupFiles(mountPoint);
  const manager = new SystemdCgroupManager(files, run);
  return { mountPoint, folder, calls, files, manager };
}

describe('a cgroup has the slice that the kubelet gives it', () => {
  const { manager } = systemd();
  it.each([
    ['/', '-.slice', '/'],
    ['/kubepods', 'kubepods.slice', '/kubepods.slice'],
    ['/kubepods/burstable', 'kubepods-burstable.slice', '/kubepods.slice/kubepods-burstable.slice'],
    ['/my-pods/pod1-2', 'my_pods-pod1_2.slice', '/my_pods.slice/my_pods-pod1_2.slice'],
  ])('%s', (path, name, folders) => {
    expect([sliceName(parseCgroupName(path)), manager.path(parseCgroupName(path))]).toEqual([name, folders]);
  });

  it('and the runtime is told its path', () => {
    const { files } = systemd();
    const cgroups = new PodCgroups({ files, manager, root: ['kubepods'], machine, logger: silentLogger });
    expect(cgroups.parentOf(podWith())).toBe(
      '/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-poduid_1.slice',
    );
  });
});

describe('systemd is told each limit that it has a property for', () => {
  const config = { memory: 2 ** 26, cpuQuota: 20_000, cpuShares: 102, pidsLimit: 100, hugePageLimits: { '2MB': 0 } };
  it.each([
    ['cgroup 2', true, ['MemoryMax', 'CPUWeight'], ['67108864', '4']],
    ['cgroup 1', false, ['MemoryLimit', 'CPUShares'], ['67108864', '102']],
  ])('%s', (_name, isUnified, names, values) => {
    expect(resourceProperties(config, isUnified)).toEqual([
      ['TasksMax', 't', '100'],
      [names[0], 't', values[0]],
      ['CPUQuotaPerSecUSec', 't', '200000'],
      [names[1], 't', values[1]],
    ]);
  });

  it.each([
    ['no limit', -1, '18446744073709551615'],
    ['1.5 % of a CPU, rounded up', 1500, '20000'],
    ['a whole percentage', 2000, '20000'],
  ])('a quota of %s', (_name, cpuQuota, value) => {
    expect(resourceProperties({ cpuQuota }, true)).toEqual([['CPUQuotaPerSecUSec', 't', value]]);
  });
});

it('creates a slice as the kubelet does, and its folder', async () => {
  const { manager, calls, folder, mountPoint } = systemd();
  await manager.create(pod);
  expect(calls).toEqual([
    `busctl StartTransientUnit ssa(sv)a(sa(sv)) ${slice} replace 7` +
      ` Description s libcontainer container ${slice} Wants as 1 kubepods-burstable.slice` +
      ' MemoryAccounting b true CPUAccounting b true IOAccounting b true TasksAccounting b true' +
      ' DefaultDependencies b false 0',
    `systemctl start -- ${slice}`,
  ]);
  expect(existsSync(folder)).toBe(true);
  expect(readFileSync(join(mountPoint, 'kubepods.slice/cgroup.subtree_control'), 'utf8')).toBe('+cpu +memory +pids');
});

it('creates the folders of cgroup 1, where systemd has another name for io', async () => {
  const mountPoint = directories.create();
  for (const name of ['cpu,cpuacct', 'memory', 'pids']) mkdirSync(join(mountPoint, name));
  symlinkSync('cpu,cpuacct', join(mountPoint, 'cpu'));
  const calls: string[] = [];
  const run = async (program: string, args: readonly string[]) => void calls.push([program, ...args].join(' '));
  const manager = new SystemdCgroupManager(new CgroupFiles(mountPoint), run);
  await manager.create(pod);
  await manager.update(pod, { cpuShares: 102 });
  expect(calls[0]).toContain(' CPUAccounting b true BlockIOAccounting b true ');
  expect(calls[2]).toMatch(/SetUnitProperties .* 1 CPUShares t 102$/);
  const folders = ['cpu,cpuacct', 'memory', 'pids'].map((name) => join(mountPoint, name, manager.path(pod)));
  expect(folders.map((folder) => existsSync(folder))).toEqual([true, true, true]);
  expect(readFileSync(join(folders[0]!, 'cpu.shares'), 'utf8')).toBe('102');
});

it('a slice that systemd has loaded already is used', async () => {
  const { manager, calls } = systemd(['StartTransientUnit']);
  await manager.create(pod);
  expect(calls.slice(1)).toEqual([`busctl GetUnit s ${slice}`, `systemctl start -- ${slice}`]);
});

it('limits are set in systemd and in the cgroup', async () => {
  const { manager, calls, folder } = systemd();
  await manager.create(pod);
  calls.length = 0;
  await manager.update(pod, { memory: 2 ** 26, cpuQuota: 1500, cpuShares: 102 });
  expect(calls).toEqual([
    `busctl SetUnitProperties sba(sv) ${slice} true 3 MemoryMax t 67108864 CPUQuotaPerSecUSec t 20000 CPUWeight t 4`,
  ]);
  const contents = ['memory.max', 'cpu.max', 'cpu.weight'].map((file) => readFileSync(join(folder, file), 'utf8'));
  expect(contents).toEqual(['67108864', '2000 100000', '4']);
});

it('stops the slice of a removed pod, and removes its folder', async () => {
  const { manager, calls, folder, files } = systemd(['reset-failed']);
  await manager.create(pod);
  mkdirSync(join(folder, 'cri-containerd-1.scope'));
  calls.length = 0;
  const cgroups = new PodCgroups({ files, manager, root: ['kubepods'], machine, logger: silentLogger });
  await cgroups.removeOrphans((podUID) => podUID === 'other');
  expect(calls).toEqual([]);
  await cgroups.removeOrphans((podUID) => podUID === '1234-abcd');
  expect(calls).toEqual([`systemctl stop -- ${slice}`, `systemctl reset-failed -- ${slice}`]);
  expect(existsSync(folder)).toBe(false);
});

describe('an error of systemd says which slice', () => {
  it.each<[string, string[], (manager: SystemdCgroupManager) => Promise<void>]>([
    ['StartTransientUnit', ['StartTransientUnit', 'GetUnit'], (manager) => manager.create(pod)],
    ['start', ['start'], (manager) => manager.create(pod)],
    ['SetUnitProperties', ['SetUnitProperties'], (manager) => manager.update(pod, { cpuShares: 2 })],
    ['stop', ['stop'], (manager) => manager.destroy(pod)],
  ])('%s', async (what, refusals, call) => {
    await expect(call(systemd(refusals).manager)).rejects.toThrow(
      new RegExp(`^${what} of ${slice}: (busctl|systemctl): no ${what}$`),
    );
  });
});
