import { expect, it } from 'vitest';
import { hugePageSizeBytes, isHugePageMedium } from '../../../src/agent/volumes/memory-size.ts';

const Mi = 2 ** 20;
const podWith = (...requests: readonly Record<string, string>[]) => ({
  spec: { containers: requests.map((one, i) => ({ name: `c${i}`, resources: { requests: one } })) },
});
const [small, large] = [{ 'hugepages-2Mi': '100Mi' }, { 'hugepages-1Gi': '4Gi' }];

it.each([
  ['the only size', 'HugePages', podWith(small, { cpu: '1' }, small), 2 * Mi],
  ['one of two sizes', 'HugePages-1Gi', podWith(small, large), 1024 * Mi],
  ['a size in another unit', 'HugePages-2048Ki', podWith(small), 2 * Mi],
  [
    'of an init container',
    'HugePages',
    { spec: { initContainers: [{ name: 'i', resources: { requests: small } }] } },
    2 * Mi,
  ],
  ['of the pod', 'HugePages', { spec: { resources: { requests: large } } }, 1024 * Mi],
])('TestGetPageSizeMountOption: %s', (_name, medium, pod, bytes) => {
  expect(hugePageSizeBytes(pod, medium)).toBe(bytes);
});

it.each([
  [
    'HugePages',
    podWith(small, large),
    "medium: HugePages can't be used if container requests multiple huge page sizes",
  ],
  [
    'HugePages',
    podWith({ cpu: '1' }),
    'medium HugePages: hugePages storage requested, but there is no resource request',
  ],
  ['HugePages-1Gi', podWith(small), 'medium HugePages-1Gi: hugePages storage requested, but there is no resource'],
  ['HugePages-x', podWith(small), 'medium HugePages-x: hugePages storage requested, but there is no resource request'],
])('TestGetPageSizeMountOption: refuses %s of %j', (medium, pod, message) => {
  expect(() => hugePageSizeBytes(pod, medium)).toThrow(message);
});

it.each([
  ['HugePages', true],
  ['HugePages-2Mi', true],
  ['HugePagesX', false],
  ['Memory', false],
  ['xHugePages-2Mi', false],
  ['', false],
])('TestIsHugePageMedium: %j: %s', (medium, expected) => {
  expect(isHugePageMedium(medium)).toBe(expected);
});

it('a pod without containers requests no huge pages', () => {
  expect(() => hugePageSizeBytes({}, 'HugePages')).toThrow('there is no resource request for huge pages');
});
