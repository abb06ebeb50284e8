import { describe, expect, it } from 'vitest';
import type { ContainerStatusInput, PodStatusInput } from '../../src/kube/objects/types.ts';
import { getTestPod, TestManager } from './fixture.ts';

const running: ContainerStatusInput = { name: 'c', state: { running: {} } };

function terminated(exitCode: number, reason = 'Error', name = 'c'): ContainerStatusInput {
  return { name, state: { terminated: { exitCode, reason } } };
}

function countedAfter(pod: PodStatusInput, ...statuses: PodStatusInput[]): unknown[] {
  const t = new TestManager();
  for (const status of statuses)
    t.manager.setPodStatus(getTestPod({ spec: { restartPolicy: 'Always' }, status: pod }), status);
  return t.metrics.terminations;
}

describe('TestContainerTerminationMetric', () => {
  it.each([
    ['containerStatuses', 'container'],
    ['initContainerStatuses', 'init_container'],
    ['ephemeralContainerStatuses', 'ephemeral_container'],
  ] as const)('%s: counts a termination once', (field, containerType) => {
    const status = { [field]: [terminated(137, 'OOMKilled')] };
    const counted = [{ containerType, exitCode: 137, reason: 'OOMKilled' }];
    expect(countedAfter({}, { [field]: [running] }, status, status)).toEqual(counted);
    expect(countedAfter({}, status)).toEqual(counted);
    // What the API server knew before us is not counted again.
    expect(countedAfter(status, status)).toEqual([]);
  });

  it('counts again after the container ran', () => {
    const counted = countedAfter(
      {},
      { containerStatuses: [terminated(1)] },
      { containerStatuses: [running] },
      { containerStatuses: [terminated(2, '')] },
    );
    expect(counted).toEqual([
      { containerType: 'container', exitCode: 1, reason: 'Error' },
      { containerType: 'container', exitCode: 2, reason: '' },
    ]);
  });

  it('matches containers by name, in any order', () => {
    const counted = countedAfter(
      {},
      { containerStatuses: [terminated(1, 'A', 'a'), { name: 'b', state: { running: {} } }] },
      { containerStatuses: [terminated(2, 'B', 'b'), terminated(1, 'A', 'a')] },
    );
    expect(counted).toEqual([
      { containerType: 'container', exitCode: 1, reason: 'A' },
      { containerType: 'container', exitCode: 2, reason: 'B' },
    ]);
  });

  it('counts containers that terminatePod terminates', () => {
    const t = new TestManager();
    t.manager.setPodStatus(getTestPod(), { containerStatuses: [running] });
    t.manager.terminatePod(getTestPod());
    expect(t.metrics.terminations).toEqual([
      { containerType: 'container', exitCode: 137, reason: 'ContainerStatusUnknown' },
    ]);
  });

  it('does not count containers of a rejected update', () => {
    const t = new TestManager();
    const pod = getTestPod({ spec: { restartPolicy: 'Never', containers: [{ name: 'a' }, { name: 'c' }] } });
    t.manager.setPodStatus(pod, { containerStatuses: [terminated(0, 'Completed', 'a'), running] });
    const { rejected } = t.manager.setPodStatus(pod, {
      containerStatuses: [{ name: 'a', state: { running: {} } }, terminated(1)],
    });
    expect(rejected?.container).toBe('a');
    expect(t.metrics.terminations).toHaveLength(1);
  });
});
