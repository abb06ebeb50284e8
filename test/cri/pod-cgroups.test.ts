import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { CgroupFiles } from '../../src/cri/cgroup-files.ts';
import { CgroupfsManager, type CgroupName, parseCgroupName } from '../../src/cri/cgroup-manager.ts';
import { PodCgroups, type PodCgroupsOptions } from '../../src/cri/pod-cgroups.ts';
import { recordingLogger, silentLogger } from '../../src/testing/recording-logger.ts';
import { TestDirectories } from '../support/directories.ts';
import { podWith } from './pods.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

/** With the driver cgroupfs. */
function podCgroups(mountPoint: string, options: Partial<PodCgroupsOptions> = {}): PodCgroups {
  const files = new CgroupFiles(mountPoint);
  const manager = new CgroupfsManager(files);
  return new PodCgroups({
    files,
    manager,
    root: ['kubepods'],
    machine: { cpus: 4, hugePageSizes: [] },
    logger: silentLogger,
    ...options,
  });
}

it.each([
  ['cgroup 2', ['.']],
  ['cgroup 1', ['cpu', 'memory']],
])('removes the cgroups of removed pods: %s', async (_name, hierarchies) => {
  const mountPoint = directories.create();
  if (hierarchies.includes('.')) writeFileSync(join(mountPoint, 'cgroup.controllers'), '');
  const folders = hierarchies.map((hierarchy) => join(mountPoint, hierarchy, 'kubepods'));
  const paths = ['podgone', 'burstable/podgone/container', 'besteffort/podgone', 'podkept', 'other', 'mypodgone'];
  for (const folder of folders) for (const path of paths) mkdirSync(join(folder, path), { recursive: true });
  await podCgroups(mountPoint).removeOrphans((podUID) => podUID === 'gone');
  for (const folder of folders)
    expect(
      ['podgone', 'burstable/podgone', 'besteffort/podgone', 'podkept', 'other', 'mypodgone'].map((path) =>
        existsSync(join(folder, path)),
      ),
    ).toEqual([false, false, false, true, true, true]);
});

it('a cgroup that cannot be removed is logged once, and the others are removed', async () => {
  const mountPoint = directories.create();
  const folders = ['podbusy', 'podgone'].map((name) => join(mountPoint, 'cpu', 'kubepods', name));
  for (const folder of folders) mkdirSync(folder, { recursive: true });
  // Stands for a process in it.
  writeFileSync(join(folders[0]!, 'busy'), '');
  const logger = recordingLogger();
  const cgroups = podCgroups(mountPoint, { logger });
  for (let i = 0; i < 2; i++) await cgroups.removeOrphans(() => true);
  expect(folders.map((folder) => existsSync(folder))).toEqual([true, false]);
  const failure = {
    message: 'Failed to remove the cgroup of a removed pod; it will be retried',
    fields: { podUID: 'busy', reason: expect.stringMatching(/^ENOTEMPTY.*podbusy/) as string },
  };
  expect(logger.warnings).toMatchObject([failure]);
  rmSync(join(folders[0]!, 'busy'));
  await cgroups.removeOrphans(() => true);
  expect(existsSync(folders[0]!)).toBe(false);
  // A later one is another failure.
  mkdirSync(folders[0]!);
  writeFileSync(join(folders[0]!, 'busy'), '');
  await cgroups.removeOrphans(() => true);
  expect(logger.warnings).toMatchObject([failure, failure]);
});

describe('the cgroup of a pod is below that of its QoS class', () => {
  const besteffort = podWith();
  const resources = { cpu: '1', memory: '1Gi' };
  const guaranteed = podWith({}, { resources: { limits: resources, requests: resources } });

  it('and that of a Guaranteed pod below the root', () => {
    const cgroups = podCgroups('/missing');
    expect(cgroups.parentOf(besteffort)).toBe('/kubepods/besteffort/poduid-1');
    expect(cgroups.parentOf(guaranteed)).toBe('/kubepods/poduid-1');
  });

  it.each([
    [[], ['besteffort', 'besteffort/poduid-1']],
    [['kubepods'], ['kubepods', 'kubepods/besteffort', 'kubepods/besteffort/poduid-1']],
    [
      ['a', 'b'],
      ['a/b', 'a/b/besteffort', 'a/b/besteffort/poduid-1'],
    ],
  ])('which is created before it, once: root %j', async (root, expected) => {
    const mountPoint = directories.create();
    for (const controller of ['cpu', 'memory']) mkdirSync(join(mountPoint, controller));
    const files = new CgroupFiles(mountPoint);
    const created: string[] = [];
    class Manager extends CgroupfsManager {
      override create(name: CgroupName): Promise<void> {
        created.push(name.join('/'));
        return super.create(name);
      }
    }
    const cgroups = podCgroups(mountPoint, { files, manager: new Manager(files), root });
    for (let i = 0; i < 2; i++) await cgroups.ensureExists(besteffort);
    expect(created).toEqual(expected);
  });
});

describe('the cgroup of a pod that has ended', () => {
  const pod = podWith({}, { resources: { requests: { cpu: '1' } } });

  it('is removed with those in it', async () => {
    const { cgroups, folders, mountPoint } = cgroup1();
    for (const name of ['cpu', 'freezer']) mkdirSync(join(mountPoint, name, cgroup, 'app'), { recursive: true });
    await cgroups.destroy(pod);
    expect(folders()).toEqual([]);
    await expect(cgroups.destroy(pod)).resolves.toBeUndefined();
  });

  it('has its processes killed, and stays until they have ended', async () => {
    const { cgroups, folders, mountPoint } = cgroup1();
    const child = spawn('sleep', ['1000']);
    const exited = once(child, 'exit');
    const app = join(mountPoint, 'cpu', cgroup, 'app');
    mkdirSync(app, { recursive: true });
    // 0: a process of another namespace.
    writeFileSync(join(app, 'cgroup.procs'), `0\n${child.pid}\n`);
    await expect(cgroups.destroy(pod)).rejects.toThrow(/^ENOTEMPTY.*app/);
    expect(await exited).toEqual([null, 'SIGKILL']);
    expect(folders()).toEqual(['cpu']);
    await expect(cgroups.destroy(pod)).rejects.toThrow(/^ENOTEMPTY.*app/);
  });

  it.skipIf(process.platform !== 'linux')(
    'its processes are killed in the same turn in which their IDs are read, so that no other process has got one',
    async () => {
      const mountPoint = directories.create();
      writeFileSync(join(mountPoint, 'cgroup.controllers'), '');
      const child = spawn('sleep', ['1000']);
      const exited = once(child, 'exit');
      writeFileSync(join(mountPoint, 'cgroup.procs'), `${child.pid}\n`);
      const killing = new CgroupFiles(mountPoint).kill('/');
      // Only what is done already happens before the next turn of the event loop.
      await Promise.resolve();
      const untilMs = Date.now() + 2000;
      const hasEnded = () => / \(sleep\) Z /.test(readFileSync(`/proc/${child.pid}/stat`, 'utf8'));
      while (!hasEnded() && Date.now() < untilMs);
      expect(hasEnded()).toBe(true);
      await Promise.all([killing, exited]);
    },
  );

  it('a static pod cannot name the cgroup of others by its UID', async () => {
    const { cgroups, mountPoint } = cgroup1();
    const others = join(mountPoint, 'cpu', 'system');
    mkdirSync(others);
    const metadata = { ...pod.metadata, uid: 'x/../../../system' };
    for (const call of [cgroups.ensureExists, cgroups.destroy])
      await expect((async () => call.call(cgroups, { ...pod, metadata }))()).rejects.toThrow(
        'is not the name of a file',
      );
    expect(existsSync(others)).toBe(true);
  });
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
    mountPoint,
    cgroups: podCgroups(mountPoint),
    read,
    write: (file: string, text: string) => writeFileSync(join(mountPoint, file.split('.')[0]!, cgroup, file), text),
    limits: () => ['memory.limit_in_bytes', 'cpu.cfs_quota_us', 'cpu.shares'].map((file) => Number(read(file))),
    folders: () => ['cpu', 'memory', 'pids', 'freezer'].filter((name) => existsSync(join(mountPoint, name, cgroup))),
  };
}

it('creates the cgroup of a pod with its limits, once: cgroup 1', async () => {
  const { cgroups, limits, folders } = cgroup1();
  await cgroups.ensureExists(limited('200m', '64Mi'));
  expect(folders()).toEqual(['cpu', 'memory', 'pids']);
  expect(limits()).toEqual([64 * 2 ** 20, 20_000, 102]);
  await cgroups.ensureExists(limited('300m', '64Mi'));
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
    read: (file: string) => readFileSync(join(mountPoint, cgroup, file), 'utf8'),
    cgroups: podCgroups(mountPoint),
  };
}

it('creates the cgroup of a pod with its limits and gives it its controllers: cgroup 2', async () => {
  const { mountPoint, parents, cgroups } = cgroup2();
  await cgroups.ensureExists(limited('200m', '64Mi'));
  const read = (...path: string[]) => readFileSync(join(...path), 'utf8');
  expect(parents.map((parent) => read(parent, 'cgroup.subtree_control'))).toEqual(Array(3).fill('+cpu +memory +pids'));
  const files = ['memory.max', 'cpu.max', 'cpu.weight'];
  expect(files.map((file) => read(mountPoint, cgroup, file))).toEqual([String(64 * 2 ** 20), '20000 100000', '4']);
});

describe('the resources of a pod are those of its cgroup', () => {
  it('cgroup 1', async () => {
    const { cgroups, write } = cgroup1();
    await cgroups.ensureExists(limited('200m', '64Mi'));
    write('cpu.cfs_period_us', '50000\n');
    expect(cgroups.resources(limited('1', '1Gi'))).toEqual({
      requests: { cpu: '100m' },
      limits: { cpu: '400m', memory: '64Mi' },
    });
    write('cpu.cfs_quota_us', '-1\n');
    write('memory.limit_in_bytes', '9223372036854771712\n');
    expect(cgroups.resources(limited('1', '1Gi'))).toEqual({
      requests: { cpu: '100m' },
      // The kubelet shows this, too.
      limits: { memory: '9007199254740988Ki' },
    });
  });

  it('cgroup 2', async () => {
    const { cgroups, write } = cgroup2();
    await cgroups.ensureExists(limited('200m', '64Mi'));
    // 100m is the weight 4, which is 79m.
    const requests = { cpu: '79m' };
    const limits = { cpu: '200m', memory: '64Mi' };
    expect(cgroups.resources(limited('1', '1Gi'))).toEqual({ requests, limits });
    write('cpu.max', 'max 100000\n');
    write('memory.max', 'max\n');
    expect(cgroups.resources(limited('1', '1Gi'))).toEqual({ requests, limits: {} });
  });

  it.each([
    ['stays if it is what the weight of the cgroup stands for', '2\n', '50m'],
    ['does not stay if the cgroup has another weight', '4\n', '79m'],
  ])('a pod-level request %s', async (_, weight, cpu) => {
    const { cgroups, write } = cgroup2();
    const pod = podWith({ resources: { requests: { cpu: '50m' } } });
    await cgroups.ensureExists(pod);
    write('cpu.max', 'max 100000');
    write('memory.max', 'max');
    write('cpu.weight', weight);
    expect(cgroups.resources(pod)).toEqual({ requests: { cpu }, limits: {} });
  });

  it('what is gone has none, and a file that cannot be read is an error', async () => {
    const { mountPoint, cgroups, write } = cgroup1();
    const none = { requests: {}, limits: {} };
    expect(cgroups.resources(limited('200m', '64Mi'))).toEqual(none);
    await cgroups.ensureExists(limited('200m', '64Mi'));
    write('cpu.cfs_period_us', '100000');
    rmSync(join(mountPoint, 'cpu', cgroup), { recursive: true });
    expect(cgroups.resources(limited('200m', '64Mi'))).toEqual({ ...none, limits: { memory: '64Mi' } });
    const file = join(mountPoint, 'memory', cgroup, 'memory.limit_in_bytes');
    rmSync(file);
    mkdirSync(file);
    expect(() => cgroups.resources(limited('200m', '64Mi'))).toThrow('EISDIR');
  });
});

describe('the shares of cpu of QoS classes', () => {
  const burstable = (cpu: string) => podWith({}, { resources: { requests: { cpu } } });
  const resources = { cpu: '2', memory: '1Gi' };
  const guaranteed = podWith({}, { resources: { limits: resources, requests: resources } });
  const sharesIn = (mountPoint: string) =>
    ['', 'burstable', 'besteffort'].map((name) =>
      readFileSync(join(mountPoint, 'cpu/kubepods', name, 'cpu.shares'), 'utf8'),
    );

  it('are those of the machine, of the requests of Burstable pods, and the least one', async () => {
    const { mountPoint, cgroups } = cgroup1();
    await cgroups.updateQOS([burstable('250m'), guaranteed, podWith(), burstable('1')]);
    expect(sharesIn(mountPoint)).toEqual(['4096', '1280', '2']);
    await cgroups.updateQOS([guaranteed]);
    expect(sharesIn(mountPoint)).toEqual(['4096', '2', '2']);
  });

  it('are written only if they change', async () => {
    const { mountPoint } = cgroup1();
    const files = new CgroupFiles(mountPoint);
    const updated: string[] = [];
    const manager = Object.assign(new CgroupfsManager(files), {
      update: async (name: CgroupName, { cpuShares }: { readonly cpuShares?: number | undefined }) => {
        updated.push(`${name.join('/')} ${cpuShares}`);
        await files.write(`/${name.join('/')}`, { cpuShares: cpuShares! });
      },
    });
    const cgroups = podCgroups(mountPoint, { files, manager });
    await cgroups.updateQOS([burstable('1')]);
    expect(updated.splice(0)).toEqual(['kubepods 4096', 'kubepods/burstable 1024', 'kubepods/besteffort 2']);
    await cgroups.updateQOS([burstable('1')]);
    expect(updated).toEqual([]);
    await cgroups.updateQOS([burstable('2')]);
    expect(updated).toEqual(['kubepods/burstable 2048']);
  });

  it('are not written to the root cgroup, which has none', async () => {
    const { mountPoint } = cgroup1();
    await podCgroups(mountPoint, { root: parseCgroupName('/') }).updateQOS([]);
    expect(existsSync(join(mountPoint, 'cpu/cpu.shares'))).toBe(false);
    expect(readFileSync(join(mountPoint, 'cpu/besteffort/cpu.shares'), 'utf8')).toBe('2');
  });
});

it('a besteffort pod has the least share of cpu', async () => {
  const { mountPoint, cgroups } = cgroup1();
  await cgroups.ensureExists(podWith());
  expect(readFileSync(join(mountPoint, 'cpu/kubepods/besteffort/poduid-1/cpu.shares'), 'utf8')).toBe('2');
});

it('rejects with the path of a cgroup that cannot be created', async () => {
  const { mountPoint, cgroups } = cgroup1();
  writeFileSync(join(mountPoint, 'cpu/kubepods'), '');
  await expect(cgroups.ensureExists(podWith())).rejects.toThrow(/cpu\/kubepods/);
});

it('a limit that cannot be written is logged, and the pod starts', async () => {
  const { mountPoint } = cgroup1();
  mkdirSync(join(mountPoint, 'memory', cgroup, 'memory.limit_in_bytes'), { recursive: true });
  const logged: unknown[] = [];
  const logger = { ...silentLogger, error: (fields: unknown) => void logged.push(fields) };
  await podCgroups(mountPoint, { logger }).ensureExists(limited('200m', '64Mi'));
  const reason = expect.stringMatching(/^EISDIR.*memory\.limit_in_bytes/) as string;
  expect(logged).toEqual([{ pod: 'default/web', podUID: 'uid-1', reason }]);
});

describe('the huge pages of a pod', () => {
  const pod = podWith({}, { resources: { requests: { 'hugepages-2Mi': '4Mi', memory: '1Mi' } } });
  const machine = { cpus: 4, hugePageSizes: ['2MB'] };

  it('are limited, and their reservation where the kernel can: cgroup 1', async () => {
    const { mountPoint } = cgroup1();
    const folder = join(mountPoint, 'hugetlb', cgroup);
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'hugetlb.2MB.rsvd.limit_in_bytes'), '');
    await podCgroups(mountPoint, { machine }).ensureExists(pod);
    for (const name of ['hugetlb.2MB.limit_in_bytes', 'hugetlb.2MB.rsvd.limit_in_bytes'])
      expect(readFileSync(join(folder, name), 'utf8')).toBe(String(4 * 2 ** 20));
  });

  it('are limited: cgroup 2', async () => {
    const { mountPoint, parents } = cgroup2();
    for (const parent of parents) writeFileSync(join(parent, 'cgroup.controllers'), 'cpu memory pids hugetlb');
    await podCgroups(mountPoint, { machine }).ensureExists(pod);
    expect(readFileSync(join(mountPoint, cgroup, 'hugetlb.2MB.max'), 'utf8')).toBe(String(4 * 2 ** 20));
    expect(readdirSync(join(mountPoint, cgroup))).not.toContain('hugetlb.2MB.rsvd.max');
  });

  it('are not limited by a kernel without the controller', async () => {
    const { mountPoint } = cgroup2();
    await podCgroups(mountPoint, { machine }).ensureExists(pod);
    expect(readdirSync(join(mountPoint, cgroup)).filter((name) => name.startsWith('hugetlb'))).toEqual([]);
  });
});

it('limits the processes of a pod', async () => {
  const { mountPoint } = cgroup1();
  await podCgroups(mountPoint, { podPidsLimit: 100 }).ensureExists(limited('200m', '64Mi'));
  const pids = join(mountPoint, 'pids', cgroup, 'pids.max');
  expect(readFileSync(pids, 'utf8')).toBe('100');
  expect(existsSync(pids.replace(`${cgroup}/`, 'kubepods/burstable/'))).toBe(false);
});

describe('the runtime is told the limits of a resized pod', () => {
  it('before each of them is written, with those that the cgroup has', async () => {
    const { cgroups, write, limits } = cgroup1();
    await cgroups.ensureExists(limited('200m', '64Mi'));
    write('memory.usage_in_bytes', '1000');
    write('memory.limit_in_bytes', '9223372036854771712');
    const told: unknown[] = [];
    const updateSandbox = async (config: object) => void told.push([config, limits()]);
    for (const step of ['before', 'after'] as const) await cgroups.update(limited('400m', '32Mi'), step, updateSandbox);
    const memory = 32 * 2 ** 20;
    expect(told).toEqual([
      [{ cpuShares: 102, cpuQuota: 40_000, memory: undefined }, [2 ** 63 - 4096, 20_000, 102]],
      [{ cpuShares: 102, cpuQuota: 40_000, memory }, [2 ** 63 - 4096, 40_000, 102]],
    ]);
  });

  it('a limit that it refuses is not written', async () => {
    const { cgroups, limits } = cgroup1();
    await cgroups.ensureExists(limited('200m', '64Mi'));
    const before = limits();
    const updateSandbox = () => Promise.reject(new Error('refused'));
    const updated = cgroups.update(limited('400m', '128Mi'), 'before', updateSandbox);
    await expect(updated).rejects.toThrow(
      'failed to notify runtime for UpdatePodSandboxResources (resource=memory); resize rejected: refused',
    );
    expect(limits()).toEqual(before);
  });

  it('it is told the earlier limits when one cannot be written', async () => {
    const { mountPoint, cgroups } = cgroup1();
    await cgroups.ensureExists(limited('200m', '64Mi'));
    const quota = join(mountPoint, 'cpu', cgroup, 'cpu.cfs_quota_us');
    const told: unknown[] = [];
    const updateSandbox = async ({ cpuQuota }: { readonly cpuQuota?: number | undefined }) => {
      if (told.push(cpuQuota) > 1) return;
      rmSync(quota);
      mkdirSync(quota);
    };
    const updated = cgroups.update(limited('400m', '64Mi'), 'before', updateSandbox);
    await expect(updated).rejects.toThrow('EISDIR');
    expect(told).toEqual([40_000, 20_000]);
  });
});

it('limits are raised before the containers are resized, and lowered after', async () => {
  const { cgroups, write, limits } = cgroup1();
  await cgroups.ensureExists(limited('200m', '64Mi'));
  write('memory.usage_in_bytes', '1000');
  await cgroups.update(limited('400m', '32Mi'), 'before');
  expect(limits()).toEqual([64 * 2 ** 20, 40_000, 102]);
  await cgroups.update(limited('400m', '32Mi'), 'after');
  expect(limits()).toEqual([32 * 2 ** 20, 40_000, 102]);
});

it.each([
  ['cgroup 1', cgroup1, 'cpu.cfs_quota_us', '-1', '20000'],
  ['cgroup 2', cgroup2, 'cpu.max', 'max 100000', '20000 100000'],
  ['cgroup 2', cgroup2, 'memory.max', 'max', String(64 * 2 ** 20)],
])(
  'a first limit is written before the resize, and a removed limit stays: %s',
  async (_name, create, file, unlimited, limit) => {
    const { cgroups, write, read } = create();
    await cgroups.ensureExists(limited('200m', '64Mi'));
    write(file, unlimited);
    await cgroups.update(limited('200m', '64Mi'), 'before');
    expect(read(file)).toBe(limit);
    const pod = podWith({}, { resources: { requests: { cpu: '100m' } } });
    for (const step of ['before', 'after'] as const) await cgroups.update(pod, step);
    expect(read(file)).toBe(limit);
  },
);

it('a memory limit is not lowered below the usage', async () => {
  const { cgroups, write, limits } = cgroup1();
  await cgroups.ensureExists(limited('200m', '64Mi'));
  write('memory.usage_in_bytes', String(32 * 2 ** 20));
  await expect(cgroups.update(limited('400m', '32Mi'), 'before')).rejects.toThrow(
    'cannot decrease memory limits: attempting to set pod memory limit (33554432) below current usage (33554432)',
  );
  expect(limits()).toEqual([64 * 2 ** 20, 20_000, 102]);
});
