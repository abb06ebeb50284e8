import { describe, expect, it } from 'vitest';
import { evaluateEndState } from '../../../examples/node-agent/end-state.ts';

const running = {
  phase: 'Running',
  containerStatuses: [{ name: 'a', ready: true, restartCount: 0, state: { running: {} } }],
};
const unready = {
  phase: 'Running',
  containerStatuses: [{ name: 'a', ready: false, restartCount: 2, state: { waiting: { reason: 'CrashLoopBackOff' } } }],
};
const alternating = (lastTransitionTime: string) => ({
  phase: 'Running',
  startTime: '2000-01-01T00:00:00Z',
  conditions: [{ type: 'Ready', status: 'False', lastTransitionTime }],
});
const succeeded = { phase: 'Succeeded' };
const failed = { phase: 'Failed', reason: 'Evicted' };

describe('evaluateEndState', () => {
  it.each([
    { policy: undefined, status: running, isExpected: true, found: 'Running, 1/1 ready' },
    { policy: 'Always', status: unready, isExpected: false, found: 'Running, 0/1 ready, 2 restarts, CrashLoopBackOff' },
    { policy: 'OnFailure', status: succeeded, isExpected: true, found: 'Succeeded' },
    { policy: 'Never', status: failed, isExpected: false, found: 'Failed, Evicted' },
    { policy: 'Never', status: running, isExpected: false, found: 'Running, 1/1 ready' },
    { expect: 'Restarted', status: unready, isExpected: true },
    { expect: 'Restarted', status: running, isExpected: false },
    { expect: 'Resized', status: running, isExpected: false },
    { expect: 'Alternating', status: alternating('2000-01-01T00:00:30Z'), isExpected: true },
    { expect: 'Alternating', status: alternating('2000-01-01T00:00:01Z'), isExpected: false },
    { expect: 'Alternating', status: running, isExpected: false },
    { expect: 'Failed', status: failed, isExpected: true },
    { expect: 'Succeeded', status: failed, isExpected: false },
    { expect: 'Deleted', status: running, isExpected: false },
    { expect: 'Deleted', status: running, isGone: true, isExpected: true, found: 'Deleted' },
    { expect: 'Running', status: running, isGone: true, isExpected: true, found: 'Deleted' },
    {
      expect: 'Running',
      status: running,
      isDeleted: true,
      isExpected: false,
      found: 'Running, 1/1 ready, being deleted',
    },
    { expect: 'Nonsense', status: running, isExpected: false },
    { expect: 'constructor', status: running, isExpected: false },
  ])('%j', ({ policy, status, isExpected, found, isGone = false, isDeleted = false, expect: expected }) => {
    const annotations = expected === undefined ? {} : { 'node-agent.kubelet-status-manager.dev/expect': expected };
    const pod = {
      metadata: { annotations, ...(isDeleted && { deletionTimestamp: '2000-01-01T00:00:00Z' }) },
      spec: { containers: [{ name: 'a' }], restartPolicy: policy },
      status,
    };
    const endState = evaluateEndState({ pod, isGone });
    expect(endState.isExpected).toBe(isExpected);
    if (found !== undefined) expect(endState.found).toBe(found);
  });
});
