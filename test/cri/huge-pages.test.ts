import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { containerHugePageLimits, hugePageLimits, readHugePageSizes } from '../../src/cri/huge-pages.ts';
import { containerLinuxResources } from '../../src/cri/linux-resources.ts';
import { resourceConfigForPod } from '../../src/cri/resource-config.ts';
import { TestDirectories } from '../support/directories.ts';
import { appOf, machine, podWith } from './pods.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

const sizes = ['2MB', '1GB'];
const Mi = 2 ** 20;

it('knows the sizes of the machine, as cgroups name them', async () => {
  const folder = directories.create();
  for (const name of ['hugepages-64kB', 'hugepages-2048kB', 'hugepages-1048576kB', 'other'])
    mkdirSync(join(folder, name));
  expect([...(await readHugePageSizes(folder))].toSorted()).toEqual(['1GB', '2MB', '64KB']);
  expect(await readHugePageSizes(join(folder, 'missing'))).toEqual([]);
});

it.each([
  ['none', {}, { '2MB': 0, '1GB': 0 }],
  ['one size', { 'hugepages-2Mi': '4Mi', cpu: '1' }, { '2MB': 4 * Mi, '1GB': 0 }],
  ['both', { 'hugepages-2Mi': '2Mi', 'hugepages-1Gi': '2Gi' }, { '2MB': 2 * Mi, '1GB': 2048 * Mi }],
  [
    'a size that the machine lacks, or that is none',
    { 'hugepages-4Mi': '4Mi', 'hugepages-x': '1' },
    { '2MB': 0, '1GB': 0 },
  ],
])('each size of the machine has a limit: %s', (_name, resources, limits) => {
  expect(hugePageLimits(resources, sizes)).toEqual(limits);
});

describe('a container', () => {
  const limitsOf = (spec: object, resources: object) =>
    containerHugePageLimits(podWith(spec, { resources }), { resources }, sizes).map(({ limit }) => limit);

  it('has its own limits, otherwise those of the pod', () => {
    const spec = { resources: { limits: { 'hugepages-2Mi': '8Mi', 'hugepages-1Gi': '1Gi' } } };
    expect(limitsOf({}, {})).toEqual([0, 0]);
    expect(limitsOf(spec, {})).toEqual([8 * Mi, 1024 * Mi]);
    expect(limitsOf(spec, { limits: { 'hugepages-2Mi': '2Mi' } })).toEqual([2 * Mi, 1024 * Mi]);
  });

  it('keeps them when it is resized', () => {
    const pod = podWith({}, { resources: { limits: { cpu: '1', 'hugepages-2Mi': '2Mi' } } });
    const resized = containerLinuxResources(
      pod,
      appOf(pod),
      { ...machine, hugePageSizes: sizes },
      { limits: { cpu: '2' } },
    );
    expect(resized).toMatchObject({
      cpu_quota: 200_000,
      hugepage_limits: [
        { page_size: '2MB', limit: 2 * Mi },
        { page_size: '1GB', limit: 0 },
      ],
    });
  });
});

it.each([
  ['BestEffort', {}, [0, 0]],
  [
    'Burstable',
    { requests: { memory: '64Mi', 'hugepages-2Mi': '4Mi' }, limits: { 'hugepages-2Mi': '4Mi' } },
    [4 * Mi, 0],
  ],
])('the cgroup of a pod has the limits of all its containers: %s', (_name, resources, limits) => {
  const containers = ['app', 'other'].map((name) => ({ name, resources }));
  const config = resourceConfigForPod({ spec: { containers } }, sizes);
  expect(Object.values(config.hugePageLimits!)).toEqual(limits.map((limit) => 2 * limit));
});
