import { describe, expect, it } from 'vitest';
import { judgeEndState } from '../../../examples/node-agent/end-state.ts';

const running = {
  phase: 'Running',
  containerStatuses: [{ name: 'a', ready: true, restartCount: 0, state: { running: {} } }],
};
const unready = {
  phase: 'Running',
  containerStatuses: [{ name: 'a', ready: false, restartCount: 2, state: { waiting: { reason: 'CrashLoopBackOff' } } }],
};
const succeeded = { phase: 'Succeeded' };
const failed = { phase: 'Failed', reason: 'Evicted' };

describe('judgeEndState', () => {
  it.each([
    { policy: undefined, status: running, isRight: true, found: 'Running, 1/1 ready' },
    { policy: 'Always', status: unready, isRight: false, found: 'Running, 0/1 ready, 2 restarts, CrashLoopBackOff' },
    { policy: 'OnFailure', status: succeeded, isRight: true, found: 'Succeeded' },
    { policy: 'Never', status: failed, isRight: false, found: 'Failed, Evicted' },
    { policy: 'Never', status: running, isRight: false, found: 'Running, 1/1 ready' },
    { expect: 'Restarted', status: unready, isRight: true },
    { expect: 'Restarted', status: running, isRight: false },
    { expect: 'Failed', status: failed, isRight: true },
    { expect: 'Succeeded', status: failed, isRight: false },
    { expect: 'Deleted', status: running, isRight: false },
    { expect: 'Deleted', status: running, isGone: true, isRight: true, found: 'Deleted' },
    { expect: 'Running', status: running, isGone: true, isRight: true, found: 'Deleted' },
    { expect: 'Running', status: running, isDeleted: true, isRight: false, found: 'Running, 1/1 ready, being deleted' },
    { expect: 'Nonsense', status: running, isRight: false },
    { expect: 'constructor', status: running, isRight: false },
  ])('%j', ({ policy, status, isRight, found, isGone = false, isDeleted = false, expect: expected }) => {
    const annotations = expected === undefined ? {} : { 'node-agent.kubelet-status-manager.dev/expect': expected };
    const pod = {
      metadata: { annotations, ...(isDeleted && { deletionTimestamp: '2000-01-01T00:00:00Z' }) },
      spec: { containers: [{ name: 'a' }], restartPolicy: policy },
      status,
    };
    const endState = judgeEndState({ pod, isGone });
    expect(endState.isRight).toBe(isRight);
    if (found !== undefined) expect(endState.found).toBe(found);
  });
});
