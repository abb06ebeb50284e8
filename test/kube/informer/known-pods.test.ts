import { expect, it } from 'vitest';
import { KnownPods } from '../../../src/kube/informer/known-pods.ts';
import { pod, recordingLogger } from './pods.ts';

it('a late DELETED event of a pod does not remove a newer pod with its name', () => {
  const pods = new KnownPods(recordingLogger());
  const [old, recreated] = [pod('a', '1', 'old'), pod('a', '2', 'recreated')];
  pods.upsertAPIPod(old);
  pods.upsertAPIPod(recreated);
  pods.removeAPIPod(old);
  expect(pods.manager.getPods()).toEqual([recreated]);
});
