import { EventEmitter } from 'node:events';
import type * as clientNode1 from '@kubernetes/client-node';
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { InformerLike } from '../../../src/kube/informer/index.ts';
import { informerPodManagerFrom } from '../../../src/kube/informer/index.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { json, startKubeServer } from '../http/kube-server.ts';
import { kubeConfig } from '../http/kube-configs.ts';
import { loadClientNode } from '../../support/client-node.ts';
import { pod, recorder, recordingLogger } from './pods.ts';

describe('over an emitter', () => {
  it('follows add, update and delete, and leaves no listener behind', async () => {
    const emitter = new EventEmitter();
    const clock = new FakeClock('2026-01-02T03:04:05Z');
    const listener = recorder();
    const pods = informerPodManagerFrom(emitter, { clock, logger: recordingLogger() });
    pods.subscribe(listener);
    pods.start();
    await pods.whenSynced();
    expect(pods.informerState().lastEventAt).toBeUndefined();
    emitter.emit('add', pod('a', '1'));
    emitter.emit('add', pod('b', '2'));
    emitter.emit('update', pod('a', '3'));
    emitter.emit('delete', pod('b', '4'));
    emitter.emit('update', pod('a', '5', 'uid-new'));
    expect(listener.heard).toEqual(['+uid-a@1', '+uid-b@2', '~uid-a@1>3', '-uid-b@4', '-uid-a@3', '+uid-new@5']);
    expect(pods.getPodByUID('uid-new')).toBeDefined();
    clock.advance(10_000);
    expect(pods.informerState().lastEventAt).toBe('2026-01-02T03:04:05Z');
    await pods.stop();
    expect(emitter.eventNames()).toEqual([]);
  });

  it('adds the pods that the informer has already', () => {
    const informer: InformerLike = { on: () => {}, list: () => [pod('a', '1')] };
    const pods = informerPodManagerFrom(informer, { logger: recordingLogger() });
    pods.start();
    expect(pods.getPods()).toEqual([pod('a', '1')]);
  });
});

describe("over client-node's informer", () => {
  it('has the pods when its start() has resolved', async () => {
    const { CoreV1Api, KubeConfig, ListWatch, Watch } = await loadClientNode();
    await using server = await startKubeServer({ tls: true });
    server.respond = ({ url }, response) => {
      if (url.includes('watch=')) response.write(`${JSON.stringify({ type: 'ADDED', object: pod('b', '11') })}\n`);
      else json(response, { kind: 'PodList', metadata: { resourceVersion: '10' }, items: [pod('a', '7')] });
    };
    const config = new KubeConfig();
    config.loadFromString(JSON.stringify(kubeConfig(server.url)));
    const fieldSelector = 'spec.nodeName=node-a';
    const api = config.makeApiClient(CoreV1Api);
    const list = (): ReturnType<typeof api.listPodForAllNamespaces> => api.listPodForAllNamespaces({ fieldSelector });
    const informer = new ListWatch('/api/v1/pods', new Watch(config), list, false, undefined, fieldSelector);
    const pods = informerPodManagerFrom(informer, { logger: recordingLogger() });
    pods.start();
    const added = new Promise<void>((resolve) => {
      pods.subscribe({ onPodAdded: ({ metadata }) => (metadata?.name === 'b' ? resolve() : undefined) });
    });
    await informer.start();
    expect(pods.getPodByUID('uid-a')?.metadata?.name).toBe('a');
    await added;
    await pods.stop();
    await informer.stop();
  });

  it('of either major version is accepted by its type', () => {
    expectTypeOf<clientNode1.Informer<clientNode1.V1Pod>>().toExtend<InformerLike>();
    expectTypeOf<clientNode1.ListWatch<clientNode1.V1Pod>>().toExtend<InformerLike>();
  });
});
