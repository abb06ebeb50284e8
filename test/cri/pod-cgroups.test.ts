import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { ensurePodCgroup, podCgroupResources, removePodCgroups, updatePodCgroup } from '../../src/cri/pod-cgroups.ts';
import { silentLogger } from '../../src/testing/silent-logger.ts';
import { TestDirectories } from '../support/directories.ts';
import { podWith } from './pods.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

it.each([
  ['cgroup 2', ['.']],
  ['cgroup 1', ['cpu', 'memory']],
])('removes the cgroups of removed pods: %s', async (_name, hierarchies) => {
  const mountPoint = directories.create();
  if (hierarchies.includes('.')) writeFileSync(join(mountPoint, 'cgroup.controllers'), '');
  const folders = hierarchies.map((hierarchy) => join(mountPoint, hierarchy, 'kubepods'));
  const paths = ['podgone', 'burstable/podgone/container', 'besteffort/podgone', 'podkept', 'other'];
  for (const folder of folders) for (const path of paths) mkdirSync(join(folder, path), { recursive: true });
  await removePodCgroups('/kubepods', (podUID) => podUID === 'gone', mountPoint);
  for (const folder of folders)
    expect(
      ['podgone', 'burstable/podgone', 'besteffort/podgone', 'podkept', 'other'].map((path) =>
        existsSync(join(folder, path)),
      ),
    ).toEqual([false, false, false, true, true]);
});

it('leaves a cgroup that cannot be removed', async () => {
  const mountPoint = directories.create();
  const pod = join(mountPoint, 'cpu', 'kubepods', 'podgone');
  mkdirSync(pod, { recursive: true });
  // Stands for a process in it.
  writeFileSync(join(pod, 'busy'), '');
  await removePodCgroups('/kubepods', () => true, mountPoint);
  expect(existsSync(pod)).toBe(true);
});

const limited = (cpu: string, memory: string) =>
  podWith({}, { resources: { limits: { cpu, memory }, requests: { cpu: '100m' } } });
const cgroup = 'kubepods/burstable/poduid-1';

/** A folder that looks like cgroup v1, whose kernel does not act; `read` shows the limits of the pod. */
function cgroup1() {
  const mountPoint = directories.create();
  for (const name of ['cpu', 'memory', 'pids', 'freezer']) mkdirSync(join(mountPoint, name));
  const read = (file: string) => readFileSync(join(mountPoint, file.split('.')[0]!, cgroup, file), 'utf8');
  return {
    options: { cgroupRoot: '/kubepods', cpus: 4, mountPoint, logger: silentLogger },
    write: (file: string, text: string) => writeFileSync(join(mountPoint, file.split('.')[0]!, cgroup, file), text),
    limits: () => ['memory.limit_in_bytes', 'cpu.cfs_quota_us', 'cpu.shares'].map((file) => Number(read(file))),
    folders: () => ['cpu', 'memory', 'pids', 'freezer'].filter((name) => existsSync(join(mountPoint, name, cgroup))),
  };
}

it('creates the cgroup of a pod with its limits, once: cgroup 1', async () => {
  const { options, limits, folders } = cgroup1();
  await ensurePodCgroup(limited('200m', '64Mi'), options);
  expect(folders()).toEqual(['cpu', 'memory', 'pids']);
  expect(limits()).toEqual([64 * 2 ** 20, 20_000, 102]);
  await ensurePodCgroup(limited('300m', '64Mi'), options);
  expect(limits()).toEqual([64 * 2 ** 20, 20_000, 102]);
});

/** A folder that looks like cgroup v2, whose kernel does not act. */
function cgroup2() {
  const mountPoint = directories.create();
  const parents = ['.', 'kubepods', 'kubepods/burstable'].map((path) => join(mountPoint, path));
  for (const parent of parents) {
    mkdirSync(parent, { recursive: true });
    writeFileSync(join(parent, 'cgroup.controllers'), 'cpuset cpu io memory pids');
  }
  const write = (file: string, text: string) => writeFileSync(join(mountPoint, cgroup, file), text);
  return {
    mountPoint,
    parents,
    write,
    options: { cgroupRoot: '/kubepods', cpus: 4, mountPoint, logger: silentLogger },
  };
}

it('creates the cgroup of a pod with its limits and gives it its controllers: cgroup 2', async () => {
  const { mountPoint, parents, options } = cgroup2();
  await ensurePodCgroup(limited('200m', '64Mi'), options);
  const read = (...path: string[]) => readFileSync(join(...path), 'utf8');
  expect(parents.map((parent) => read(parent, 'cgroup.subtree_control'))).toEqual(Array(3).fill('+cpu +memory +pids'));
  const files = ['memory.max', 'cpu.max', 'cpu.weight'];
  expect(files.map((file) => read(mountPoint, cgroup, file))).toEqual([String(64 * 2 ** 20), '20000 100000', '4']);
});

describe('the resources of a pod are those of its cgroup', () => {
  it('cgroup 1', async () => {
    const { options, write } = cgroup1();
    await ensurePodCgroup(limited('200m', '64Mi'), options);
    write('cpu.cfs_period_us', '50000\n');
    expect(podCgroupResources(limited('1', '1Gi'), options)).toEqual({
      requests: { cpu: '100m' },
      limits: { cpu: '400m', memory: '64Mi' },
    });
    write('cpu.cfs_quota_us', '-1\n');
    write('memory.limit_in_bytes', '9223372036854771712\n');
    expect(podCgroupResources(limited('1', '1Gi'), options)).toEqual({
      requests: { cpu: '100m' },
      // The kubelet shows this, too.
      limits: { memory: '9007199254740988Ki' },
    });
  });

  it('cgroup 2', async () => {
    const { options, write } = cgroup2();
    await ensurePodCgroup(limited('200m', '64Mi'), options);
    // 100m is the weight 4, which is 79m.
    const requests = { cpu: '79m' };
    const limits = { cpu: '200m', memory: '64Mi' };
    expect(podCgroupResources(limited('1', '1Gi'), options)).toEqual({ requests, limits });
    write('cpu.max', 'max 100000\n');
    write('memory.max', 'max\n');
    expect(podCgroupResources(limited('1', '1Gi'), options)).toEqual({ requests, limits: {} });
  });

  it.each([
    ['stays if it is what the weight of the cgroup stands for', '2\n', '50m'],
    ['does not stay if the cgroup has another weight', '4\n', '79m'],
  ])('a pod-level request %s', async (_, weight, cpu) => {
    const { options, write } = cgroup2();
    const pod = podWith({ resources: { requests: { cpu: '50m' } } });
    await ensurePodCgroup(pod, options);
    write('cpu.max', 'max 100000');
    write('memory.max', 'max');
    write('cpu.weight', weight);
    expect(podCgroupResources(pod, options)).toEqual({ requests: { cpu }, limits: {} });
  });

  it('what is gone has none, and a file that cannot be read is an error', async () => {
    const { options, write } = cgroup1();
    const none = { requests: {}, limits: {} };
    expect(podCgroupResources(limited('200m', '64Mi'), options)).toEqual(none);
    await ensurePodCgroup(limited('200m', '64Mi'), options);
    write('cpu.cfs_period_us', '100000');
    rmSync(join(options.mountPoint, 'cpu', cgroup), { recursive: true });
    expect(podCgroupResources(limited('200m', '64Mi'), options)).toEqual({ ...none, limits: { memory: '64Mi' } });
    const file = join(options.mountPoint, 'memory', cgroup, 'memory.limit_in_bytes');
    rmSync(file);
    mkdirSync(file);
    expect(() => podCgroupResources(limited('200m', '64Mi'), options)).toThrow('EISDIR');
  });
});

it('all pods together have the share of cpu of the machine', async () => {
  const { options } = cgroup1();
  await ensurePodCgroup(podWith(), options);
  expect(readFileSync(join(options.mountPoint, 'cpu/kubepods/cpu.shares'), 'utf8')).toBe('4096');
});

it('the root cgroup, which has no limits, is not written', async () => {
  const { options } = cgroup1();
  await ensurePodCgroup(podWith(), { ...options, cgroupRoot: '/' });
  expect(existsSync(join(options.mountPoint, 'cpu/cpu.shares'))).toBe(false);
});

it('a besteffort pod has the least share of cpu, and so have all together', async () => {
  const { options } = cgroup1();
  await ensurePodCgroup(podWith(), options);
  const shares = ['', 'poduid-1'].map((name) =>
    readFileSync(join(options.mountPoint, 'cpu/kubepods/besteffort', name, 'cpu.shares'), 'utf8'),
  );
  expect(shares).toEqual(['2', '2']);
});

it('rejects with the path of a cgroup that cannot be created', async () => {
  const { options } = cgroup1();
  writeFileSync(join(options.mountPoint, 'cpu/kubepods'), '');
  await expect(ensurePodCgroup(podWith(), options)).rejects.toThrow(/^ENOTDIR.*cpu\/kubepods/);
});

it('a limit that cannot be written is logged, and the pod starts', async () => {
  const { options } = cgroup1();
  mkdirSync(join(options.mountPoint, 'memory', cgroup, 'memory.limit_in_bytes'), { recursive: true });
  const logged: unknown[] = [];
  const logger = { ...silentLogger, error: (fields: unknown) => void logged.push(fields) };
  await ensurePodCgroup(limited('200m', '64Mi'), { ...options, logger });
  const reason = expect.stringMatching(/^EISDIR.*memory\.limit_in_bytes/) as string;
  expect(logged).toEqual([{ pod: 'default/web', podUID: 'uid-1', reason }]);
});

it('limits the processes of a pod', async () => {
  const { options } = cgroup1();
  await ensurePodCgroup(limited('200m', '64Mi'), { ...options, podPidsLimit: 100 });
  const pids = join(options.mountPoint, 'pids', cgroup, 'pids.max');
  expect(readFileSync(pids, 'utf8')).toBe('100');
  expect(existsSync(pids.replace(`${cgroup}/`, 'kubepods/burstable/'))).toBe(false);
});

describe('the runtime is told the limits of a resized pod', () => {
  it('before each of them is written, with those that the cgroup has', async () => {
    const { options, write, limits } = cgroup1();
    await ensurePodCgroup(limited('200m', '64Mi'), options);
    write('memory.usage_in_bytes', '1000');
    write('memory.limit_in_bytes', '9223372036854771712');
    const told: unknown[] = [];
    const updateSandbox = async (config: object) => void told.push([config, limits()]);
    for (const step of ['before', 'after'] as const)
      await updatePodCgroup(limited('400m', '32Mi'), step, { ...options, updateSandbox });
    const memory = 32 * 2 ** 20;
    expect(told).toEqual([
      [{ cpuShares: 102, cpuQuota: 40_000, memory: undefined }, [2 ** 63 - 4096, 20_000, 102]],
      [{ cpuShares: 102, cpuQuota: 40_000, memory }, [2 ** 63 - 4096, 40_000, 102]],
    ]);
  });

  it('a limit that it refuses is not written', async () => {
    const { options, limits } = cgroup1();
    await ensurePodCgroup(limited('200m', '64Mi'), options);
    const before = limits();
    const updateSandbox = () => Promise.reject(new Error('refused'));
    const updated = updatePodCgroup(limited('400m', '128Mi'), 'before', { ...options, updateSandbox });
    await expect(updated).rejects.toThrow(
      'failed to notify runtime for UpdatePodSandboxResources (resource=memory); resize rejected: refused',
    );
    expect(limits()).toEqual(before);
  });

  it('it is told the earlier limits when one cannot be written', async () => {
    const { options } = cgroup1();
    await ensurePodCgroup(limited('200m', '64Mi'), options);
    const quota = join(options.mountPoint, 'cpu', cgroup, 'cpu.cfs_quota_us');
    const told: unknown[] = [];
    const updateSandbox = async ({ cpuQuota }: { readonly cpuQuota?: number | undefined }) => {
      if (told.push(cpuQuota) > 1) return;
      rmSync(quota);
      mkdirSync(quota);
    };
    const updated = updatePodCgroup(limited('400m', '64Mi'), 'before', { ...options, updateSandbox });
    await expect(updated).rejects.toThrow('EISDIR');
    expect(told).toEqual([40_000, 20_000]);
  });
});

it('limits are raised before the containers are resized, and lowered after', async () => {
  const { options, write, limits } = cgroup1();
  await ensurePodCgroup(limited('200m', '64Mi'), options);
  write('memory.usage_in_bytes', '1000');
  await updatePodCgroup(limited('400m', '32Mi'), 'before', options);
  expect(limits()).toEqual([64 * 2 ** 20, 40_000, 102]);
  await updatePodCgroup(limited('400m', '32Mi'), 'after', options);
  expect(limits()).toEqual([32 * 2 ** 20, 40_000, 102]);
});

it('a first limit is written after the resize, as a lower one is, and a removed limit stays', async () => {
  const { options, write, limits } = cgroup1();
  await ensurePodCgroup(limited('200m', '64Mi'), options);
  write('cpu.cfs_quota_us', '-1');
  await updatePodCgroup(limited('200m', '64Mi'), 'before', options);
  expect(limits()[1]).toBe(-1);
  await updatePodCgroup(limited('200m', '64Mi'), 'after', options);
  expect(limits()[1]).toBe(20_000);
  const unlimited = podWith({}, { resources: { requests: { cpu: '100m' } } });
  for (const step of ['before', 'after'] as const) await updatePodCgroup(unlimited, step, options);
  expect(limits()).toEqual([64 * 2 ** 20, 20_000, 102]);
});

it('a memory limit is not lowered below the usage', async () => {
  const { options, write, limits } = cgroup1();
  await ensurePodCgroup(limited('200m', '64Mi'), options);
  write('memory.usage_in_bytes', String(32 * 2 ** 20));
  await expect(updatePodCgroup(limited('400m', '32Mi'), 'before', options)).rejects.toThrow(
    'cannot decrease memory limits: attempting to set pod memory limit (33554432) below current usage (33554432)',
  );
  expect(limits()).toEqual([64 * 2 ** 20, 20_000, 102]);
});
