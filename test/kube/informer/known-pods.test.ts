import { expect, it } from 'vitest';
import { KnownPods } from '../../../src/kube/informer/known-pods.ts';
import { fromFile, mirror, pod, recordingLogger } from './pods.ts';

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

it('the API server has its pods and mirror pods until they are deleted or created again, and no static pod', () => {
  const pods = new KnownPods(recordingLogger());
  const uids = ['api', 'again', 'static', 'mirror'];
  const known = (): string[] => {
    const found = uids.filter((uid) => pods.hasAPIPod(uid));
    expect(found.toSorted()).toEqual(
      pods
        .apiPods()
        .map(({ metadata }) => metadata.uid)
        .toSorted(),
    );
    return found;
  };
  pods.setStaticPods([pod('s', '1', 'static', fromFile)]);
  pods.upsertAPIPod(pod('s', '1', 'mirror', mirror));
  pods.upsertAPIPod(pod('a', '1', 'api'));
  expect(known()).toEqual(['api', 'mirror']);
  pods.upsertAPIPod(pod('a', '2', 'again'));
  expect(known()).toEqual(['again', 'mirror']);
  pods.setStaticPods([pod('s', '1', 'static', fromFile), pod('a', '3', 'again', fromFile)]);
  expect(known()).toEqual(['mirror']);
  pods.replaceAPIPods([pod('a', '4', 'again')]);
  expect(known()).toEqual(['again']);
  pods.removeAPIPod(pod('a', '5', 'again'));
  expect(known()).toEqual([]);
});
