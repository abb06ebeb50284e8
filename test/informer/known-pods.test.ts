import { expect, it } from 'vitest';
import { KnownPods } from '../../src/pods/informer/known-pods.ts';
import { pod, recordingLogger } from './pods.ts';

it('the late news that a pod is gone does not take the one that has its name now', () => {
  const pods = new KnownPods(recordingLogger());
  const [old, recreated] = [pod('a', '1', 'old'), pod('a', '2', 'recreated')];
  pods.upsertApiPod(old);
  pods.upsertApiPod(recreated);
  pods.removeApiPod(old);
  expect(pods.manager.getPods()).toEqual([recreated]);
});
