import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { cgroupFeatures, isSELinuxEnabled, listThermalThrottlePaths } from '../../src/cri/machine-resources.ts';
import { TestDirectories } from '../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

const own = 'system.slice/agent.service';

/** A folder that looks like a mounted cgroup file system, and a file that looks like /proc/self/cgroup. */
function cgroups(files: readonly string[], selfCgroup: string) {
  const mountPoint = directories.create();
  mkdirSync(join(mountPoint, own), { recursive: true });
  for (const file of files) writeFileSync(join(mountPoint, file), '');
  const ownCgroupFile = join(directories.create(), 'cgroup');
  writeFileSync(ownCgroupFile, selfCgroup);
  return { mountPoint, ownCgroupFile };
}

it.each([
  ['cgroup v1', [], '12:memory:/system.slice/agent.service\n0::/\n', false, false],
  ['cgroup v2', ['cgroup.controllers', `${own}/memory.max`], `0::/${own}\n`, true, false],
  ['cgroup v2 with swap', ['cgroup.controllers', `${own}/memory.swap.max`], `0::/${own}\n`, true, true],
  ['cgroup v2, own cgroup unknown', ['cgroup.controllers'], '', true, false],
])('knows what a cgroup can limit: %s', async (_name, files, selfCgroup, hasCgroup2, hasSwapController) => {
  const { mountPoint, ownCgroupFile } = cgroups(files, selfCgroup);
  expect(await cgroupFeatures(mountPoint, ownCgroupFile)).toEqual({ hasCgroup2, hasSwapController });
});

it('a machine whose own cgroup cannot be read has no swap controller', async () => {
  const mountPoint = directories.create();
  expect(await cgroupFeatures(mountPoint, join(mountPoint, 'missing'))).toEqual({
    hasCgroup2: false,
    hasSwapController: false,
  });
});

it.each([
  ['a process with a label', 'system_u:system_r:container_runtime_t:s0\0', true],
  ['a process without a policy', 'kernel\0', false],
  ['a process without a policy, with a newline', 'kernel\n', false],
  ['a label that cannot be read', undefined, true],
])('SELinux of a kernel that has it: %s', async (_name, label, isEnabled) => {
  const folder = directories.create();
  const [enforce, own] = [join(folder, 'enforce'), join(folder, 'current')];
  if (label !== undefined) writeFileSync(own, label);
  expect(await isSELinuxEnabled(enforce, own)).toBe(false);
  writeFileSync(enforce, '1');
  expect(await isSELinuxEnabled(enforce, own)).toBe(isEnabled);
});

it('thermal_throttle is looked for at each possible CPU, on any kind of machine', async () => {
  const folder = directories.create();
  for (const cpu of [0, 2, 5]) mkdirSync(join(folder, `cpu${cpu}`, 'thermal_throttle'), { recursive: true });
  writeFileSync(join(folder, 'possible'), '0-2,4-5\n');
  expect(await listThermalThrottlePaths(folder)).toEqual(
    [0, 2, 5].map((cpu) => join(folder, `cpu${cpu}`, 'thermal_throttle')),
  );
  writeFileSync(join(folder, 'possible'), '0\n');
  expect(await listThermalThrottlePaths(folder)).toEqual([join(folder, 'cpu0', 'thermal_throttle')]);
  expect(await listThermalThrottlePaths(join(folder, 'missing'))).toEqual([]);
});
