import { describe, expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import type { ObjectEvent, PodEvent } from 'kubelet-status-manager/agent';
import { PodConfig, type PodConfigUpdate } from '../../../src/node/config/pod-config.ts';
import type { PodSink } from '../../../src/node/config/pod-source.ts';
import { FakeClock, recordingLogger, silentLogger } from 'kubelet-status-manager/testing';
import { isMirrorPod, isStaticPod } from '../../../src/kube/pods/static-pods.ts';
import { deepFreeze } from '../../../src/shared/freeze.ts';

function podOf(name: string, namespace = 'new', rest: Partial<Pod> = {}): Pod {
  const { metadata, ...others } = rest;
  return {
    metadata: { uid: name + namespace, name, namespace, ...metadata },
    spec: { restartPolicy: 'Always', containers: [{ name: 'ctr', image: 'image' }] },
    ...others,
  };
}

const changedSpec = { containers: [{ name: 'bar', image: 'test' }] };

function newConfig(options: Partial<ConstructorParameters<typeof PodConfig>[0]> = {}) {
  const updates: PodConfigUpdate[] = [];
  const clock = new FakeClock();
  const config = new PodConfig({
    ...{ clock, logger: silentLogger, eventRecorder: { event: () => {} } },
    onUpdate: (update) => updates.push(update),
    ...options,
  });
  const sink = config.channel('file');
  /** What a list of the source leads to: `ADD new/foo`. */
  const set = (pods: Pod[], to: PodSink = sink): string[] => {
    to(pods);
    return updates
      .splice(0)
      .map(({ op, pods }) => [op, ...pods.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`)].join(' '));
  };
  return { config, clock, updates, sink, set };
}

it.each([
  ['TestNewPodAdded', 'new'],
  ['TestNewPodAddedDefaultNamespace', 'default'],
])('%s', (_title, namespace) => {
  expect(newConfig().set([podOf('foo', namespace)])).toEqual([`ADD ${namespace}/foo`]);
});

it('TestNewPodAddedInvalidNamespace', () => {
  const refusal = expect.objectContaining({ code: 'INVALID_ARGUMENT', path: 'pods[0].metadata.namespace' });
  expect(() => newConfig().set([podOf('foo', '')])).toThrow(refusal);
});

it('TestNewPodAddedDifferentNamespaces', () => {
  const { set } = newConfig();
  expect(set([podOf('foo', 'default')])).toEqual(['ADD default/foo']);
  expect(set([podOf('foo', 'default'), podOf('foo')])).toEqual(['ADD new/foo']);
});

it('TestInvalidPodFiltered', () => {
  const events: (PodEvent | ObjectEvent)[] = [];
  const logger = recordingLogger();
  const { set } = newConfig({ logger, eventRecorder: { event: (event) => events.push(event) } });
  const twin = podOf('foo', 'new', { metadata: { uid: 'another', name: 'foo', namespace: 'new' } });
  expect(set([podOf('foo'), twin])).toEqual(['ADD new/foo']);
  expect(events.map(({ type, reason, message }) => [type, reason, message])).toEqual([
    [
      'Warning',
      'FailedValidation',
      'Error validating pod foo_new(another) from file due to duplicate pod name "foo", ignoring',
    ],
  ]);
  expect(logger.lines).toMatchObject([
    {
      level: 'warn',
      message: 'Ignoring pod: its source has another pod with the same name',
      fields: { pod: 'new/foo', podUID: 'another', source: 'file' },
    },
  ]);
});

it('each ignored pod is reported once, and stays ignored', () => {
  const events: (PodEvent | ObjectEvent)[] = [];
  const { set } = newConfig({ eventRecorder: { event: (event) => events.push(event) } });
  const twins = ['b', 'c'].map((uid) => podOf('foo', 'new', { metadata: { uid, name: 'foo', namespace: 'new' } }));
  expect(set([podOf('foo'), ...twins])).toEqual(['ADD new/foo']);
  expect(set([podOf('foo'), ...twins])).toEqual([]);
  expect(events).toHaveLength(2);
});

it('the pods of the API server keep what makes them those of the API server', () => {
  const { updates, config } = newConfig();
  const annotations = { 'kubernetes.io/config.mirror': 'x' };
  const metadata = { ...podOf('foo').metadata, resourceVersion: '7', annotations };
  config.channel('api')([podOf('foo', 'new', { metadata })]);
  expect(updates[0]!.pods[0]!.metadata).toMatchObject({ resourceVersion: '7', annotations });
  expect(isMirrorPod(updates[0]!.pods[0]!)).toBe(true);
});

describe('a pod that a source passes is copied once', () => {
  it('except one that the informer has frozen: the node keeps its spec and status, not a second one', () => {
    const { config, updates } = newConfig();
    const frozen = deepFreeze(podOf('foo', 'new', { status: { phase: 'Running' } }));
    config.channel('api')([frozen]);
    config.channel('file')([frozen]);
    config.channel('api')([frozen, podOf('bar')]);
    const specs = updates.flatMap(({ pods }) => pods.map(({ spec }) => spec));
    expect(specs[0]).toBe(frozen.spec);
    expect(specs[1]).not.toBe(frozen.spec);
    expect(specs[1]).toEqual(frozen.spec);
    expect(Object.isFrozen(specs[2])).toBe(false);
    expect(() => config.channel('api')([Object.freeze({ ...frozen, metadata: { name: 'foo' } })])).toThrow(
      'pods[0].metadata',
    );
  });

  it('what the source changes in it later changes nothing', () => {
    const { sink, updates } = newConfig();
    const pod = podOf('foo');
    sink([pod]);
    Object.assign(pod.spec!.containers![0]!, { image: 'other' });
    sink([pod]);
    expect(updates.map(({ op, pods }) => [op, pods[0]?.spec?.containers?.[0]?.image])).toEqual([['ADD', 'image']]);
  });

  it('a field that throws is refused with its path, and the earlier pods stay', () => {
    const { set } = newConfig();
    set([podOf('foo')]);
    const spec = {
      get hostNetwork(): boolean {
        throw new Error('secret');
      },
    };
    const refusal = expect.objectContaining({
      code: 'INVALID_ARGUMENT',
      path: 'pods[1]',
      message: '`pods[1].spec["hostNetwork"]` cannot be read: it throws',
    });
    expect(() => set([podOf('foo'), podOf('bar', 'new', { spec })])).toThrow(refusal);
    expect(set([podOf('foo')])).toEqual([]);
  });

  it('a list that is too long is refused, with one warning, and the earlier pods stay', () => {
    const logger = recordingLogger();
    const { set, sink } = newConfig({ logger });
    set([podOf('foo')]);
    const endless: Iterable<Pod> = {
      *[Symbol.iterator]() {
        for (let i = 0; ; i += 1) yield podOf(`p${i}`);
      },
    };
    for (let i = 0; i < 3; i += 1)
      expect(() => sink(endless as readonly Pod[])).toThrow(
        expect.objectContaining({ code: 'INVALID_ARGUMENT', path: 'pods' }),
      );
    expect(set([podOf('foo')])).toEqual([]);
    const reason = 'Expected `pods` to be at most 10000 pods, got object';
    expect(logger.lines.map(({ level, message, fields }) => [level, message, fields['reason']])).toEqual([
      ['warn', 'The pods of a source are refused; its earlier pods stay', reason],
      ['info', 'The pods of a source are accepted again', undefined],
    ]);
  });

  it('the API server may have more pods, so that whoever creates them cannot have its list refused', () => {
    const { config, set } = newConfig();
    const pods = Array.from({ length: 10_001 }, (_, i) => podOf(`p${i}`));
    expect(set(pods, config.channel('api'))).toHaveLength(1);
  });

  it('a getter that changes what it returns is read once', () => {
    const { sink, updates } = newConfig();
    let reads = 0;
    const spec = {
      get hostNetwork(): boolean {
        reads += 1;
        return reads > 1;
      },
    };
    sink([podOf('foo', 'new', { spec })]);
    expect([reads, updates[0]?.pods[0]?.spec?.hostNetwork]).toEqual([1, false]);
  });
});

it('the same objects again are no change', () => {
  const { set } = newConfig();
  const pods = [podOf('foo'), podOf('bar')];
  expect(set(pods)).toEqual(['ADD new/foo new/bar']);
  expect(set(pods)).toEqual([]);
  expect(set(pods.slice(1))).toEqual(['REMOVE new/foo']);
});

it('a pod that the source cannot judge now stays as it is', () => {
  const { set, sink, updates } = newConfig();
  set([podOf('a'), podOf('b'), podOf('c')]);
  sink([podOf('b')], new Set(['anew', 'unknown']));
  expect(updates.map(({ op, pods }) => [op, pods.map(({ metadata }) => metadata.name)])).toEqual([['REMOVE', ['c']]]);
});

it('TestNewPodAddedUpdatedRemoved', () => {
  const { set } = newConfig();
  expect(set([podOf('foo')])).toEqual(['ADD new/foo']);
  expect(set([podOf('foo')])).toEqual([]);
  expect(set([podOf('foo', 'new', { spec: changedSpec })])).toEqual(['UPDATE new/foo']);
  expect(set([])).toEqual(['REMOVE new/foo']);
});

it('TestNewPodAddedDelete', () => {
  const { set } = newConfig();
  set([podOf('foo')]);
  const metadata = { ...podOf('foo').metadata, deletionTimestamp: '2026-01-01T00:00:00Z' };
  expect(set([podOf('foo', 'new', { metadata })])).toEqual(['DELETE new/foo']);
  expect(set([podOf('foo', 'new', { metadata })])).toEqual([]);
  expect(set([podOf('foo', 'new', { metadata: { ...metadata, deletionGracePeriodSeconds: 1 } })])).toEqual([
    'DELETE new/foo',
  ]);
});

it('TestNewPodAddedUpdatedSet', () => {
  const { set } = newConfig();
  set([podOf('foo'), podOf('foo2'), podOf('foo3')]);
  expect(set([podOf('foo2', 'new', { spec: changedSpec }), podOf('foo3'), podOf('foo4')])).toEqual([
    'REMOVE new/foo',
    'ADD new/foo4',
    'UPDATE new/foo2',
  ]);
});

it('TestNewPodAddedSetReconciled', () => {
  const { set, updates, sink } = newConfig();
  set([podOf('changeable'), podOf('constant')]);
  expect(set([podOf('changeable'), podOf('constant')])).toEqual([]);
  const status = { message: 'changed' };
  sink([podOf('changeable', 'new', { status }), podOf('constant')]);
  expect(updates[0]?.pods[0]?.status).toEqual(status);
  expect(set([podOf('changeable', 'new', { status }), podOf('constant')])).toEqual(['RECONCILE new/changeable']);
  const both = { status: { message: 'again' }, spec: changedSpec };
  expect(set([podOf('changeable', 'new', both), podOf('constant')])).toEqual(['UPDATE new/changeable']);
});

it('TestInitialEmptySet', () => {
  const { set } = newConfig();
  expect(set([])).toEqual(['ADD']);
  expect(set([])).toEqual([]);
  expect(set([podOf('foo')])).toEqual(['ADD new/foo']);
});

it('a manifest that was copied from an API server is a static pod', () => {
  const { updates, sink } = newConfig();
  const annotations = { 'kubernetes.io/config.mirror': 'x', other: 'y' };
  sink([podOf('foo', 'new', { metadata: { ...podOf('foo').metadata, resourceVersion: '7', annotations } })]);
  expect(updates[0]!.pods[0]!.metadata).not.toHaveProperty('resourceVersion');
  expect(updates[0]!.pods[0]!.metadata.annotations).toMatchObject({ other: 'y' });
  expect(isMirrorPod(updates[0]!.pods[0]!)).toBe(false);
  expect(isStaticPod(updates[0]!.pods[0]!)).toBe(true);
});

describe('TestPodUpdateAnnotations', () => {
  const annotated = (annotations: Record<string, string>): Pod =>
    podOf('foo', 'new', { metadata: { ...podOf('foo').metadata, annotations } });

  it('a changed, added or removed annotation is an update', () => {
    const { set } = newConfig();
    set([annotated({ 'kubernetes.io/blah': 'blah' })]);
    expect(set([annotated({ 'kubernetes.io/blah': 'superblah' })])).toEqual(['UPDATE new/foo']);
    expect(set([annotated({ 'kubernetes.io/blah': 'superblah', other: 'x' })])).toEqual(['UPDATE new/foo']);
    expect(set([annotated({})])).toEqual(['UPDATE new/foo']);
  });

  it('an annotation that is gone is no longer passed on', () => {
    const { updates, sink } = newConfig();
    sink([annotated({ a: 'b', c: 'd' })]);
    sink([annotated({ a: 'b' })]);
    const { annotations } = updates[1]!.pods[0]!.metadata;
    expect(Object.keys(annotations!).sort()).toEqual(['a', 'kubernetes.io/config.seen', 'kubernetes.io/config.source']);
  });

  it("the agent's own annotations are not an update, and are kept", () => {
    const { updates, sink, clock } = newConfig();
    sink([annotated({})]);
    clock.advance(60_000);
    sink([annotated({ 'kubernetes.io/config.seen': 'x', 'kubernetes.io/config.source': 'api' })]);
    sink([annotated({ other: 'y', 'kubernetes.io/config.mirror': 'x' })]);
    const own = { 'kubernetes.io/config.seen': '2000-01-01T00:00:00Z', 'kubernetes.io/config.source': 'file' };
    expect(updates.map(({ op, pods }) => [op, pods[0]?.metadata?.annotations])).toEqual([
      ['ADD', own],
      ['UPDATE', { ...own, other: 'y' }],
    ]);
  });

  it('a pod that was passed on is not changed by an update', () => {
    const { updates, sink } = newConfig();
    const first = Object.freeze(annotated({}));
    sink([first]);
    const before = structuredClone(updates[0]!.pods[0]);
    sink([annotated({ other: 'y' })]);
    expect(updates[0]!.pods[0]).toEqual(before);
    expect(first.metadata?.annotations).toEqual({});
  });
});

it('TestPodUpdateLabels', () => {
  const { set } = newConfig();
  const labelled = (labels: Record<string, string>): Pod =>
    podOf('foo', 'new', { metadata: { ...podOf('foo').metadata, labels } });
  set([labelled({ key: 'value' })]);
  expect(set([labelled({ key: 'newValue' })])).toEqual(['UPDATE new/foo']);
});

describe('several sources', () => {
  it.each<[string, unknown, string]>([
    ['no list', undefined, 'pods'],
    ['no pod', [podOf('foo'), undefined], 'pods[1]'],
    ['no namespace', [{ metadata: { name: 'foo', uid: 'u' } }], 'pods[0].metadata.namespace'],
    ['no UID', [{ metadata: { name: 'foo', namespace: 'new' } }], 'pods[0].metadata.uid'],
  ])('the sink refuses an invalid list and names the field: %s', (_, pods, path) => {
    const { sink, set } = newConfig();
    set([podOf('foo')]);
    expect(() => sink(pods as Pod[])).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT', path }));
    expect(set([podOf('foo')])).toEqual([]);
  });

  it('a source removes only its own pods', () => {
    const { config, set } = newConfig();
    const api = config.channel('api');
    set([podOf('foo')]);
    expect(set([podOf('foo')], api)).toEqual(['ADD new/foo']);
    expect(set([])).toEqual(['REMOVE new/foo']);
    expect(set([podOf('foo')], api)).toEqual([]);
  });

  it('a listener that throws stops neither the other changes nor the source', () => {
    const logger = recordingLogger();
    const seen: string[] = [];
    const { sink } = newConfig({
      logger,
      onUpdate: ({ op }) => {
        seen.push(op);
        throw new Error('broken listener');
      },
    });
    sink([podOf('foo')]);
    sink([podOf('bar')]);
    expect(seen).toEqual(['ADD', 'REMOVE', 'ADD']);
    expect(logger.lines).toContainEqual({
      level: 'error',
      message: 'onUpdate failed',
      fields: { op: 'REMOVE', source: 'file', reason: 'broken listener' },
    });
  });
});

it('ignores the second of two pods with the same UID, so that a copied manifest does not update the pod at every read', () => {
  const events: (PodEvent | ObjectEvent)[] = [];
  const logger = recordingLogger();
  const { set } = newConfig({ logger, eventRecorder: { event: (event) => events.push(event) } });
  const copy = podOf('copy', 'new', { metadata: { uid: 'foonew', name: 'copy', namespace: 'new' } });
  expect(set([podOf('foo'), copy])).toEqual(['ADD new/foo']);
  expect(set([podOf('foo'), { ...copy }])).toEqual([]);
  // Reported once, and again when it was gone.
  expect(events.map(({ message }) => message)).toEqual([
    'Error validating pod copy_new(foonew) from file due to duplicate pod UID "foonew", ignoring',
  ]);
  expect(logger.lines.map(({ message }) => message)).toEqual([
    'Ignoring pod: its source has another pod with the same UID',
  ]);
  expect(set([podOf('foo')])).toEqual([]);
  set([podOf('foo'), copy]);
  expect(events).toHaveLength(2);
});
