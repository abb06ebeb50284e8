import { describe, expect, it } from 'vitest';
import type { ContainerStatusInput, PodStatusInput } from 'kubelet-status-manager';
import type { RuntimeContainerStatus } from 'kubelet-status-manager/agent';
import { keepReportedEnds } from '../../src/node/status/reported-ends.ts';

const run = (attempt: number, more: Partial<RuntimeContainerStatus> = {}): RuntimeContainerStatus => ({
  id: `test://app-${attempt}`,
  name: 'app',
  state: 'exited',
  attempt,
  createdAtMs: attempt,
  ...more,
});
const ended: ContainerStatusInput = {
  name: 'app',
  containerID: 'test://app-1',
  restartCount: 1,
  state: { terminated: { exitCode: 0 } },
};
const shownOf = (containers: readonly RuntimeContainerStatus[], reported: PodStatusInput) =>
  keepReportedEnds({ sandboxes: [], containers }, reported).containers;

describe('of a pod that was reported as ended', () => {
  it.each(['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'])(
    'the runs before a lost one are not shown: %s',
    (field) => {
      const containers = [run(0), run(0, { name: 'other' })];
      expect(shownOf(containers, { phase: 'Failed', [field]: [ended] })).toEqual([containers[1]]);
    },
  );

  it.each<[string, RuntimeContainerStatus[]]>([
    ['all runs, while the reported one is there', [run(1), run(0)]],
    ['a later run', [run(2)]],
    ['a run that still runs', [run(0, { state: 'running' })]],
  ])('%s are shown', (_, containers) => {
    expect(shownOf(containers, { phase: 'Succeeded', containerStatuses: [ended] })).toEqual(containers);
  });

  it('all runs of a container that was not reported as ended are shown', () => {
    const containers = [run(0)];
    const containerStatuses = [{ ...ended, state: { running: {} } }];
    expect(shownOf(containers, { phase: 'Failed', containerStatuses })).toEqual(containers);
  });
});

it('of a pod that has not ended, all runs are shown', () => {
  const containers = [run(0)];
  expect(shownOf(containers, { phase: 'Running', containerStatuses: [ended] })).toEqual(containers);
});
