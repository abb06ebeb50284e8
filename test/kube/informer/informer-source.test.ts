import { EventEmitter } from 'node:events';
import type * as clientNode1 from '@kubernetes/client-node';
import { describe, expect, expectTypeOf, it } from 'vitest';
import type { InformerLike } from '../../../src/kube/informer/index.ts';
import { informerPodManagerFrom } from '../../../src/kube/informer/index.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { recordingLogger as allLines } from '../../../src/testing/recording-logger.ts';
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

  it('after stop() ignores an informer that has no way to remove a callback', async () => {
    const emitter = new EventEmitter();
    const informer: InformerLike = { on: (verb, callback) => emitter.on(verb, callback) };
    const pods = informerPodManagerFrom(informer, { logger: recordingLogger() });
    pods.start();
    emitter.emit('add', pod('a', '1'));
    await pods.stop();
    emitter.emit('add', pod('b', '2'));
    emitter.emit('delete', pod('a', '3'));
    expect(pods.getPods()).toEqual([pod('a', '1')]);
    expect(pods.isGone('uid-a')).toBeUndefined();
  });

  it('adds the pods that the informer has already', () => {
    const informer: InformerLike = { on: () => {}, list: () => [pod('a', '1')] };
    const pods = informerPodManagerFrom(informer, { logger: recordingLogger() });
    pods.start();
    expect(pods.getPods()).toEqual([pod('a', '1')]);
  });
});

describe('an informer that ends with an error', () => {
  const forbidden = Object.assign(new Error('forbidden'), { statusCode: 403 });
  const start = () => {
    const emitter = new EventEmitter();
    const clock = new FakeClock('2026-01-02T03:04:05Z');
    const logger = allLines();
    const pods = informerPodManagerFrom(emitter, { clock, logger, nodeName: 'node-a' });
    pods.start();
    const messages = (): string[] => logger.lines.map(({ message }) => message);
    return { emitter, clock, pods, messages };
  };

  it('is logged once, and shown with its reason, however often it is started again', async () => {
    const { emitter, clock, pods, messages } = start();
    for (let i = 0; i < 3; i++) {
      emitter.emit('connect');
      emitter.emit('error', forbidden);
      clock.advance(6_000);
    }
    expect(messages()).toEqual([
      'The informer has ended with an error: no change of a pod is seen until it is started again',
    ]);
    const failure = { failingSince: '2026-01-02T03:04:05Z', reason: '403 without a reason' };
    expect(pods.informerState()).toMatchObject({ failure, restarts: 2 });
    await pods.stop();
    expect(clock.pendingTimers).toBe(0);
    expect(emitter.eventNames()).toEqual([]);
  });

  it.each<[string, (emitter: EventEmitter, clock: FakeClock) => void]>([
    ['a pod comes', (emitter) => emitter.emit('add', pod('a', '1'))],
    ['a while has passed', (_, clock) => clock.advance(5_000)],
  ])('has recovered when it was started again and %s', async (_, recover) => {
    const { emitter, clock, pods, messages } = start();
    emitter.emit('error', forbidden);
    emitter.emit('connect');
    expect(pods.informerState().failure).toBeDefined();
    recover(emitter, clock);
    expect(pods.informerState().failure).toBeUndefined();
    expect(messages()[1]).toBe('The informer was started again and has not failed since');
    await pods.stop();
    expect(clock.pendingTimers).toBe(0);
  });
});

it('pods of other nodes are ignored with a nodeName', async () => {
  const of = (name: string, nodeName: string | undefined) => ({
    ...pod(name, '1'),
    spec: { nodeName, containers: [] },
  });
  const emitter = Object.assign(new EventEmitter(), { list: () => [of('listed', 'node-b'), of('own', 'node-a')] });
  const pods = informerPodManagerFrom(emitter, { nodeName: 'node-a', logger: recordingLogger() });
  pods.start();
  emitter.emit('add', of('added', 'node-b'));
  emitter.emit('update', of('unscheduled', undefined));
  emitter.emit('delete', of('own', 'node-b'));
  expect(pods.getPods().map(({ metadata }) => metadata?.name)).toEqual(['own']);
  expect(() => informerPodManagerFrom(emitter, { nodeName: '' })).toThrow(/nodeName/);
  await pods.stop();
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

  it.each(['listed', 'watched'])('is started again by its owner after a 403 when pods are %s', async (when) => {
    const { CoreV1Api, KubeConfig, makeInformer } = await loadClientNode();
    await using server = await startKubeServer({ tls: true });
    const failing = new Set([when]);
    server.respond = ({ url }, response) => {
      const isFailing = failing.delete(url.includes('watch=') ? 'watched' : 'listed');
      if (isFailing) json(response, { kind: 'Status', code: 403, reason: 'Forbidden', message: 'no' }, 403);
      else if (url.includes('watch=')) response.write(`${JSON.stringify({ type: 'ADDED', object: pod('b', '11') })}\n`);
      else json(response, { kind: 'PodList', metadata: { resourceVersion: '10' }, items: [pod('a', '7')] });
    };
    const config = new KubeConfig();
    config.loadFromString(JSON.stringify(kubeConfig(server.url)));
    const api = config.makeApiClient(CoreV1Api);
    const informer = makeInformer(config, '/api/v1/pods', () => api.listPodForAllNamespaces());
    const pods = informerPodManagerFrom(informer, { logger: recordingLogger() });
    pods.start();
    const failed = new Promise((resolve) => informer.on('error', resolve));
    await informer.start();
    await failed;
    expect(pods.informerState().failure?.reason).toMatch(/403/);
    const added = new Promise<void>((resolve) => {
      pods.subscribe({ onPodAdded: ({ metadata }) => (metadata?.name === 'b' ? resolve() : undefined) });
    });
    await informer.start();
    await added;
    expect(pods.informerState()).toMatchObject({ failure: undefined, restarts: 1 });
    await pods.stop();
    await informer.stop();
  });

  it('of either major version is accepted by its type', () => {
    expectTypeOf<clientNode1.Informer<clientNode1.V1Pod>>().toExtend<InformerLike>();
    expectTypeOf<clientNode1.ListWatch<clientNode1.V1Pod>>().toExtend<InformerLike>();
  });
});
