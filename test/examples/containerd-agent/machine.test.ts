import { expect, it } from 'vitest';
import { allocatable, isInUserNamespace, swapCapacity } from '../../../examples/containerd-agent/machine.ts';

it.each([
  ['MemTotal:       8000 kB\nSwapCached:        4 kB\nSwapTotal:       2048 kB\nSwapFree:  1 kB\n', 2_097_152],
  ['MemTotal:       8000 kB\nSwapTotal:             0 kB\n', 0],
  ['', 0],
])('with /proc/meminfo %j, a Node has %d bytes of swap', (meminfo, bytes) => {
  expect(swapCapacity(meminfo)).toBe(bytes);
});

it.each([
  ['         0          0 4294967295\n', false],
  // Not Linux, or a kernel without user namespaces.
  ['', false],
  ['         0     100000      65536\n', true],
  ['         0          0       1000\n', true],
  ['         0       1000          1\n         1     100000      65536\n', true],
])('with /proc/self/uid_map %j, an agent is in a user namespace: %s', (uidMap, isIn) => {
  expect(isInUserNamespace(uidMap)).toBe(isIn);
});

it('pods may request what the thresholds of eviction and huge pages leave', () => {
  const capacity = { cpu: '2', memory: '4194304Ki', 'hugepages-2Mi': '1Gi', 'ephemeral-storage': '1000', pods: '110' };
  const thresholds = { 'memory.available': '100Mi', 'nodefs.available': '10%' };
  expect(allocatable(capacity, thresholds)).toEqual({
    ...capacity,
    memory: `${3 * 1024 * 1024 - 100 * 1024}Ki`,
    'ephemeral-storage': '900',
  });
});
