import type { KubeObject } from '../../../src/kube/objects/kube-object.ts';
import { systemClock } from '../../../src/shared/clock.ts';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { MirrorPods, tryReconcileMirrorPod } from '../../../src/agent/mirror/mirror-pods.ts';
import { MirrorPodClient } from '../../../src/agent/mirror/mirror-pod-client.ts';
import { createKubeTransport } from '../../../src/kube/http/transport.ts';
import type { KubeTransport } from 'kubelet-status-manager/http';
import { APIServer, type RecordingLogger, recordingLogger } from 'kubelet-status-manager/testing';

const nodeName = 'node-a';
const { signal } = new AbortController();

let server: APIServer;
let transport: KubeTransport;
let logger: RecordingLogger;
let node: () => Promise<KubeObject<'Node'>>;
let client: MirrorPodClient;
beforeEach(async () => {
  server = await APIServer.start({ nodeUsers: [nodeName] });
  transport = createKubeTransport(server.kubeconfig(nodeName));
  const body = { apiVersion: 'v1', kind: 'Node', metadata: { name: nodeName } };
  const created = (await transport.request('POST', '/api/v1/nodes', { body })).json() as KubeObject<'Node'>;
  node = async () => created;
  logger = recordingLogger();
  client = new MirrorPodClient({ requests: transport, nodeName, getNode: () => node(), logger });
});
afterEach(async () => {
  await transport.close();
  await server.close();
});

function staticPod(hash = '123456789', name = 'web-node-a'): ValidPod {
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: hash,
      annotations: { 'kubernetes.io/config.hash': hash, 'kubernetes.io/config.source': 'file' },
    },
    spec: { nodeName, containers: [{ name: 'app', image: 'app' }] },
  };
}

async function mirrors(): Promise<ValidPod[]> {
  const query = { fieldSelector: `spec.nodeName=${nodeName}` };
  return ((await transport.request('GET', '/api/v1/pods', { query })).json() as { items: ValidPod[] }).items;
}

const hashOf = (pod: ValidPod): unknown => pod.metadata?.annotations?.['kubernetes.io/config.mirror'];

function messages(): string[] {
  return logger.lines.map(({ level, message }) => `${level}: ${message}`);
}

async function reconcile(pod: ValidPod): Promise<void> {
  const [mirror] = (await mirrors()).filter(({ metadata }) => metadata?.name === pod.metadata?.name);
  await tryReconcileMirrorPod(pod, mirror, { client, logger, signal });
}

describe('TestCreateMirrorPod', () => {
  it('cannot get node', async () => {
    node = () => Promise.reject(new Error('expected: cannot get node'));
    await expect(client.createMirrorPod(staticPod(), signal)).rejects.toThrow('expected: cannot get node');
    expect(await mirrors()).toEqual([]);
  });

  it('node missing UID', async () => {
    node = async () => ({ metadata: {} });
    await expect(client.createMirrorPod(staticPod(), signal)).rejects.toThrow('UID unset for node node-a');
    expect(await mirrors()).toEqual([]);
  });

  it('successfully fetched node', async () => {
    await client.createMirrorPod(staticPod(), signal);
    const [created] = await mirrors();
    expect(hashOf(created!)).toBe('123456789');
    const { uid } = (await node()).metadata!;
    expect(created?.metadata?.ownerReferences).toEqual([
      { apiVersion: 'v1', kind: 'Node', name: nodeName, uid, controller: true },
    ]);
  });

  it('nothing is done if a mirror pod with the same hash exists, and one with another hash is not modified', async () => {
    await client.createMirrorPod(staticPod(), signal);
    await client.createMirrorPod(staticPod(), signal);
    await expect(client.createMirrorPod(staticPod('other'), signal)).rejects.toMatchObject({ statusCode: 409 });
    expect((await mirrors()).map(hashOf)).toEqual(['123456789']);
  });
});

describe('tryReconcileMirrorPod', () => {
  it('a mirror pod is created if there is none, and kept while it matches', async () => {
    await reconcile(staticPod());
    const [created] = await mirrors();
    await reconcile(staticPod());
    expect(await mirrors()).toEqual([created]);
    expect(messages()).toEqual(['info: Created mirror pod']);
  });

  it('it is created again after somebody deleted it', async () => {
    await reconcile(staticPod());
    const [created] = await mirrors();
    server.pods.delete('default', 'web-node-a', { gracePeriodSeconds: 0 });
    expect(await mirrors()).toEqual([]);
    await reconcile(staticPod());
    const [again] = await mirrors();
    expect(again?.metadata?.uid).not.toBe(created?.metadata?.uid);
  });

  it('a pod of the API server has no mirror pod', async () => {
    const pod = staticPod();
    await reconcile({ ...pod, metadata: { ...pod.metadata, annotations: { 'kubernetes.io/config.source': 'api' } } });
    expect(await mirrors()).toEqual([]);
  });

  it('a request that fails is logged', async () => {
    await transport.close();
    await tryReconcileMirrorPod(staticPod(), undefined, { client, logger, signal });
    await tryReconcileMirrorPod(staticPod('new'), staticPod(), { client, logger, signal });
    expect(messages()).toEqual(['error: Failed to create mirror pod', 'error: Failed to delete mirror pod']);
  });
});

describe('TestDeleteOutdatedMirrorPod', () => {
  it('the mirror pod is replaced when the manifest changed', async () => {
    await reconcile(staticPod());
    await reconcile(staticPod('changed'));
    expect((await mirrors()).map(hashOf)).toEqual(['changed']);
  });

  it('the mirror pod is replaced when it is being deleted', async () => {
    await reconcile(staticPod());
    const [mirror] = await mirrors();
    const deleted = { ...mirror, metadata: { ...mirror!.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    await tryReconcileMirrorPod(staticPod(), deleted, { client, logger, signal });
    const [again] = await mirrors();
    expect(again?.metadata?.uid).not.toBe(mirror?.metadata?.uid);
  });

  it('a mirror pod that has been replaced in the meantime is not deleted', async () => {
    await reconcile(staticPod());
    const [mirror] = await mirrors();
    const stale = { ...mirror, metadata: { ...mirror!.metadata, uid: 'gone' } };
    await tryReconcileMirrorPod(staticPod('changed'), stale, { client, logger, signal });
    expect(await mirrors()).toEqual([mirror]);
  });
});

describe('without a Node', () => {
  it.each<[string, () => Promise<KubeObject<'Node'>>, string]>([
    ['is not known', () => Promise.reject(new Error('no node')), 'warn: Not creating mirror pod: the Node is unknown'],
    [
      'is being deleted',
      async () => ({ metadata: { uid: 'u', deletionTimestamp: '2026-01-01T00:00:00Z' } }),
      'info: Not creating mirror pod: the Node is being deleted',
    ],
  ])('no mirror pod is created while the Node %s', async (_, getNode, message) => {
    node = getNode;
    await reconcile(staticPod());
    expect(await mirrors()).toEqual([]);
    expect(messages()).toEqual([message]);
  });
});

describe('TestDeleteOrphanedMirrorPods', () => {
  it('they are deleted, but not while their pods are being terminated', async () => {
    for (const name of ['kept', 'gone', 'terminating']) await client.createMirrorPod(staticPod(name, name), signal);
    const orphans = (await mirrors()).filter(({ metadata }) => metadata.name !== 'kept');
    const isTerminating = (fullName: string): boolean => fullName === 'terminating_default';
    const mirrorPods = new MirrorPods({ client, clock: systemClock, logger });
    mirrorPods.deleteOrphans(orphans, isTerminating);
    const names = async () => new Set((await mirrors()).map(({ metadata }) => metadata.name));
    await expect.poll(names).toEqual(new Set(['kept', 'terminating']));
  });
});
