import { beforeEach, describe, expect, it } from 'vitest';
import type { Pod, ValidPod } from 'kubelet-status-manager';
import { apiSource, type PodSourceContext } from 'kubelet-status-manager/agent';
import type { APIPods } from '../../../src/node/config/pod-source.ts';
import { informerPodManagerFrom } from 'kubelet-status-manager/informer';
import { FakeClock, type RecordingLogger, recordingLogger, settle, silentLogger } from 'kubelet-status-manager/testing';
import { podSourceContext } from '../../../src/node/config/decode-manifest.ts';

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
  source.start(
    (list) => lists.push(list),
    contextOf({ whenSynced: () => synced, getAPIPods: () => [], subscribe: () => () => {} }),
  );
  expect(lists).toEqual([]);
  sync();
  await synced;
  expect(lists).toEqual([[]]);
  await source.stop();
});

describe('the pods of an informer', () => {
  let listener: Parameters<APIPods['subscribe']>[0];
  let known: Map<string, ValidPod>;
  let isSubscribed: boolean;
  let synced: { resolve: () => void; reject: (error: Error) => void };
  let logger: RecordingLogger;
  let lists: string[];
  let context: PodSourceContext;
  beforeEach(() => {
    logger = recordingLogger();
    lists = [];
    known = new Map();
    const whenSynced = new Promise<void>((resolve, reject) => (synced = { resolve, reject }));
    const apiPods: APIPods = {
      whenSynced: () => whenSynced,
      getAPIPods: () => [...known.values()],
      subscribe: (given, { includeMirrorPods }) => {
        isSubscribed = includeMirrorPods;
        listener = given;
        return () => void (isSubscribed = false);
      },
    };
    context = podSourceContext({ nodeName: 'node-a', clock: new FakeClock(), logger, apiPods });
  });
  const start = (options?: Parameters<typeof apiSource>[0]) => {
    const source = apiSource(options);
    const labelled = ({ metadata }: Pod): string => `${metadata?.name}${metadata?.labels?.['version'] ?? ''}`;
    source.start((pods, unchanged = new Set()) => {
      lists.push([...pods.map(labelled), ...[...unchanged].map((uid) => `${uid} unchanged`)].join(' '));
    }, context);
    return source;
  };
  const set = (pod: ValidPod): void => {
    const isKnown = known.has(pod.metadata.uid);
    known.set(pod.metadata.uid, pod);
    if (isKnown) listener.onPodUpdated(pod);
    else listener.onPodAdded(pod);
  };
  const remove = (pod: ValidPod): void => {
    known.delete(pod.metadata.uid);
    listener.onPodRemoved(pod);
  };
  const podWith = (name: string, version = ''): ValidPod => ({
    metadata: { uid: name, name, namespace: 'default', resourceVersion: '1', labels: { version } },
  });

  it('are delivered when the first list is complete, then after each change', async () => {
    const source = start();
    set(podWith('a'));
    set(podWith('b'));
    expect(lists).toEqual([]);
    synced.resolve();
    await settle();
    set(podWith('a', '2'));
    remove(podWith('b'));
    expect(lists).toEqual(['a b', 'a2 b', 'a2']);
    await source.stop();
    expect(isSubscribed).toBe(false);
  });

  it('that do not pass the filter are ignored', async () => {
    start({ filter: ({ metadata }) => metadata.name !== 'other' });
    synced.resolve();
    await settle();
    set(podWith('other'));
    set(podWith('a'));
    remove(podWith('other'));
    remove(podWith('a'));
    expect(lists).toEqual(['', '', 'a', 'a', '']);
  });

  it('keep their last state when the filter throws, which is logged once', async () => {
    let isBroken = false;
    start({
      filter: () => {
        if (isBroken) throw new Error('broken filter');
        return true;
      },
    });
    set(podWith('a', '1'));
    set(podWith('b', '1'));
    synced.resolve();
    await settle();
    isBroken = true;
    set(podWith('a', '2'));
    remove(podWith('b'));
    expect(lists).toEqual(['a1 b1', 'b1 a unchanged', 'a unchanged']);
    expect(logger.lines).toMatchObject([
      {
        level: 'error',
        message: 'User callback threw; ignoring the change of the pod',
        fields: { pod: 'default/a', method: 'apiSource.filter', reason: 'broken filter' },
      },
    ]);
  });

  it.each([
    ['is logged', false, ['Failed to list the pods of the API server']],
    ['is not logged after stop()', true, []],
  ])('that cannot be listed are not delivered, which %s', async (_, isStopped, messages) => {
    const source = start();
    if (isStopped) await source.stop();
    synced.reject(new Error('forbidden'));
    await settle();
    expect(lists).toEqual([]);
    expect(logger.lines.map(({ message }) => message)).toEqual(messages);
    if (!isStopped) expect(logger.errors).toMatchObject([{ fields: { reason: 'forbidden' } }]);
  });

  it('are not delivered after stop(), even if the first list comes then', async () => {
    const source = start();
    await source.stop();
    synced.resolve();
    await settle();
    expect(lists).toEqual([]);
  });
});

it('needs a client', () => {
  const context = podSourceContext({
    ...{ nodeName: 'node-a', clock: new FakeClock(), logger: silentLogger, apiPods: undefined },
  });
  expect(() => apiSource().start(() => {}, context)).toThrow('The API server as a source needs a client');
});

it.each([
  [{ filter: 'web' }, 'filter'],
  [{ filters: () => true }, 'filters'],
  [undefined, undefined],
])('apiSource(%j) refuses %s', (options, path) => {
  const create = () => apiSource(options as object);
  if (path === undefined) expect(create().name).toBe('api');
  else expect(create).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path }));
});
