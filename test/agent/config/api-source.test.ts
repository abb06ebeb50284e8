import { expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import { apiSource, type PodSourceContext } from 'kubelet-status-manager/agent';
import type { APIPods } from '../../../src/agent/config/pod-source.ts';
import { informerPodManagerFrom } from 'kubelet-status-manager/informer';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import { podSourceContext } from '../../../src/agent/config/decode-manifest.ts';

type Handler = (pod: Pod) => void;

function newInformer() {
  const handlers = new Map<string, Handler>();
  const informer = {
    on: (verb: string, handler: Handler) => void handlers.set(verb, handler),
    off: (verb: string) => void handlers.delete(verb),
  };
  return { informer, tell: (verb: string, pod: Pod) => handlers.get(verb)?.(pod) };
}

const contextOf = (apiPods: APIPods): PodSourceContext =>
  podSourceContext({ nodeName: 'node-a', clock: new FakeClock(), logger: silentLogger, apiPods });

const podOf = (name: string, annotations: Record<string, string> = {}): Pod => ({
  metadata: { uid: `${name}-uid`, name, namespace: 'default', annotations, resourceVersion: '1' },
});

it('TestNewSourceApiserver_UpdatesAndMultiplePods', async () => {
  const { informer, tell } = newInformer();
  const pods = informerPodManagerFrom(informer);
  const lists: unknown[] = [];
  const source = apiSource();
  source.start((list) => lists.push(list.map(({ metadata }) => metadata?.name)), contextOf(pods));
  expect(lists).toEqual([]);
  pods.start();
  await pods.whenSynced();
  await Promise.resolve();
  tell('add', podOf('foo'));
  tell('add', podOf('mirror', { 'kubernetes.io/config.mirror': 'h', 'kubernetes.io/config.source': 'file' }));
  const { resourceVersion: _, ...metadata } = podOf('static', { 'kubernetes.io/config.source': 'file' }).metadata ?? {};
  pods.setStaticPods([{ metadata }]);
  tell('delete', podOf('foo'));
  expect(lists).toEqual([[], ['foo'], ['foo', 'mirror'], ['mirror']]);
  await source.stop();
  tell('add', podOf('late'));
  expect(lists).toHaveLength(4);
  await pods.stop();
});

it('delivers a pod that claims in its annotations to come from elsewhere', async () => {
  const { informer, tell } = newInformer();
  const pods = informerPodManagerFrom(informer);
  const lists: unknown[] = [];
  const source = apiSource();
  source.start((list) => lists.push(list.map(({ metadata }) => metadata?.name)), contextOf(pods));
  pods.start();
  await pods.whenSynced();
  await Promise.resolve();
  tell('add', podOf('foo', { 'kubernetes.io/config.source': 'file' }));
  expect(lists.at(-1)).toEqual(['foo']);
  await source.stop();
  await pods.stop();
});

it('TestNewSourceApiserverInitialEmptySendsEmptyPodUpdate', async () => {
  let sync = (): void => {};
  const synced = new Promise<void>((resolve) => (sync = resolve));
  const lists: unknown[] = [];
  const source = apiSource();
  source.start((list) => lists.push(list), contextOf({ whenSynced: () => synced, subscribe: () => () => {} }));
  expect(lists).toEqual([]);
  sync();
  await synced;
  expect(lists).toEqual([[]]);
  await source.stop();
});
