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

it('a pod of the API server with the name of a static pod is added once, and removed when it is deleted', () => {
  const pods = new KnownPods(recordingLogger());
  const calls: string[] = [];
  pods.subscribe({
    onPodAdded: ({ metadata }) => calls.push(`added ${metadata.uid}`),
    onPodUpdated: ({ metadata }) => calls.push(`updated ${metadata.uid}`),
    onPodRemoved: ({ metadata }) => calls.push(`removed ${metadata.uid}`),
  });
  const { resourceVersion: _, ...metadata } = pod('a', '1', 'static').metadata!;
  pods.upsertAPIPod(pod('a', '1', 'api'));
  pods.setStaticPods([{ metadata: { ...metadata, annotations: { 'kubernetes.io/config.source': 'file' } } }]);
  pods.upsertAPIPod(pod('a', '2', 'api'));
  pods.setStaticPods([]);
  pods.upsertAPIPod(pod('a', '3', 'api'));
  pods.removeAPIPod(pod('a', '4', 'api'));
  expect(calls).toEqual(['added api', 'added static', 'updated api', 'removed static', 'updated api', 'removed api']);
});
