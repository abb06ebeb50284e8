import { expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { FakeClock, recordingLogger } from 'kubelet-status-manager/testing';
import { FailingPods } from '../../../src/agent/pod-workers/failing-pods.ts';

it('the end of the only pod that fails is no recovery, and the failure of the next pod is a new one', () => {
  const logger = recordingLogger();
  const failingPods = new FailingPods({ logger, clock: new FakeClock(), what: 'Reading' });
  const pod = (uid: string): ValidPod => ({ metadata: { uid, name: uid, namespace: 'ns' } });
  failingPods.failed(pod('a'), new Error('no file'));
  failingPods.forget('a');
  failingPods.failed(pod('b'), new Error('no file'));
  failingPods.succeeded('c');
  expect(logger.lines).toMatchObject([
    { message: 'Reading failed', fields: { podUID: 'a', failures: 1 } },
    { message: 'Reading failed', fields: { podUID: 'b', failures: 1 } },
  ]);
});
