import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HttpPodClient, KubeTransport } from '../../src/http.ts';
import { createKubeTransport, createPodClient } from '../../src/http.ts';
import type { InformerPodManager } from '../../src/informer.ts';
import { createInformerPodManager } from '../../src/informer.ts';
import type { Pod } from '../../src/types.ts';
import type { ControlPlane } from '../support/control-plane.ts';
import { controlPlaneAvailable, startControlPlane } from '../support/control-plane.ts';
import { recordingLogger } from './pods.ts';

const { available, reason } = controlPlaneAvailable();
const podsPath = '/api/v1/namespaces/default/pods';

function newPod(name: string, nodeName: string, annotations: Record<string, string> = {}, more: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations, ...more },
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      containers: [{ name: 'c', image: 'i' }],
    },
  };
}

describe.skipIf(!available)(`against a real kube-apiserver, as the node ${reason}`, () => {
  let controlPlane: ControlPlane;
  let admin: KubeTransport;
  let client: HttpPodClient;
  let pods: InformerPodManager;

  beforeAll(async () => {
    controlPlane = await startControlPlane();
    admin = createKubeTransport(controlPlane.kubeConfig('admin'), { env: {} });
    await admin.request('POST', '/api/v1/nodes', {
      body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-a' } },
    });
    client = createPodClient(controlPlane.kubeConfig('node-a'), { env: {} });
    pods = createInformerPodManager({ transport: client.transport, nodeName: 'node-a', logger: recordingLogger() });
    pods.start();
    await pods.whenSynced();
  }, 90_000);

  afterAll(async () => {
    await pods?.stop();
    await client?.transport.close();
    await admin?.close();
    await controlPlane?.stop();
  });

  /** Resolves with the pod when it is added or, with `removed`, removed. */
  function heard(name: string, what: 'onPodAdded' | 'onPodRemoved' = 'onPodAdded'): Promise<Pod> {
    return new Promise((resolve) => {
      const end = pods.subscribe({
        [what]: (pod: Pod) => {
          if (pod.metadata?.name !== name) return;
          // Within subscribe() there is nothing to end yet.
          queueMicrotask(() => end());
          resolve(pod);
        },
      });
    });
  }

  it('sees its own pods come and go, and nobody else’s', async () => {
    await admin.request('POST', '/api/v1/nodes', {
      body: { apiVersion: 'v1', kind: 'Node', metadata: { name: 'node-b' } },
    });
    await admin.request('POST', podsPath, { body: newPod('elsewhere', 'node-b') });
    await admin.request('POST', podsPath, { body: newPod('web', 'node-a') });
    const web = await heard('web');
    expect(pods.getPods().map(({ metadata }) => metadata?.name)).toEqual(['web']);
    const removed = heard('web', 'onPodRemoved');
    await client.deletePod(
      { namespace: 'default', name: 'web' },
      { uid: web.metadata?.uid ?? '', gracePeriodSeconds: 0 },
      {
        signal: new AbortController().signal,
      },
    );
    await removed;
    expect(pods.getPods()).toEqual([]);
  });

  it('sees the mirror of a static pod', async () => {
    const fromFile = { 'kubernetes.io/config.source': 'file' };
    pods.setStaticPods([
      { metadata: { name: 'etcd-node-a', namespace: 'default', uid: 'uid-static', annotations: fromFile } },
    ]);
    const mirror = { ...fromFile, 'kubernetes.io/config.mirror': 'hash', 'kubernetes.io/config.hash': 'hash' };
    const node = (await client.transport.request('GET', '/api/v1/nodes/node-a')).json() as {
      metadata: { uid: string };
    };
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'node-a', uid: node.metadata.uid, controller: true };
    await client.transport.request('POST', podsPath, {
      body: newPod('etcd-node-a', 'node-a', mirror, { ownerReferences: [owner] }),
    });
    const isMirrorKnown = (): boolean => pods.getUIDTranslations().podToMirror.get('uid-static') !== '';
    if (!isMirrorKnown())
      await new Promise<void>((resolve) =>
        pods.subscribe({ onPodAdded: () => (isMirrorKnown() ? resolve() : undefined) }),
      );
    expect(pods.getPods().map(({ metadata }) => metadata?.uid)).toEqual(['uid-static']);
    pods.setStaticPods([]);
  });

  it('goes on after the API server was killed and started anew', async () => {
    await controlPlane.killApiServer();
    await controlPlane.startApiServer();
    // Its serving certificate stays; its watch cache is new.
    await admin.request('POST', podsPath, { body: newPod('after', 'node-a') });
    expect((await heard('after')).metadata?.uid).toBeDefined();
  }, 90_000);
});
