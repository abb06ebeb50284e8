import { beforeEach, describe, expect, it } from 'vitest';
import { podSourceContext } from '../../../src/node/config/decode-manifest.ts';
import { podSource, type PodSourceContext } from '../../../src/node/config/pod-source.ts';
import { SourcesReady } from '../../../src/node/config/sources-ready.ts';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';

const contextOf = (): PodSourceContext =>
  podSourceContext({ nodeName: 'node-a', clock: new FakeClock(), logger: silentLogger, apiPods: undefined });

describe('a source', () => {
  it('serves one agent at a time, and another one after it was stopped', async () => {
    const calls: string[] = [];
    const source = podSource('own', () => {
      calls.push('run');
      return { stop: async () => void calls.push('stop') };
    });
    await source.stop();
    source.start(() => {}, contextOf());
    expect(() => source.start(() => {}, contextOf())).toThrow(
      expect.objectContaining({ code: 'INVALID_STATE', message: 'Another agent uses this source' }),
    );
    await source.stop();
    source.start(() => {}, contextOf());
    await source.stop();
    await source.stop();
    expect(calls).toEqual(['run', 'stop', 'run', 'stop']);
  });

  it('has refused manifests while it runs', async () => {
    const refused = { source: '/etc/web.yaml', reason: 'spec: Required value', since: '2026-01-02T03:04:05Z' };
    const source = podSource('own', () => ({ stop: async () => {}, refusedManifests: () => [refused] }));
    expect(source.refusedManifests!()).toEqual([]);
    source.start(() => {}, contextOf());
    expect(source.refusedManifests!()).toEqual([refused]);
    await source.stop();
    expect(source.refusedManifests!()).toEqual([]);
    const silent = podSource('silent', () => ({ stop: async () => {} }));
    silent.start(() => {}, contextOf());
    expect(silent.refusedManifests!()).toEqual([]);
  });
});

it('SourcesReady waits for the first pods of each source, by name', () => {
  const ready = new SourcesReady(['file', 'api']);
  expect([ready.allReady(), ready.waitingFor(), ready.has('file')]).toEqual([false, ['file', 'api'], false]);
  ready.addSource('file');
  expect([ready.allReady(), ready.waitingFor(), ready.has('file')]).toEqual([false, ['api'], true]);
  ready.addSource('api');
  expect([ready.allReady(), ready.waitingFor()]).toEqual([true, []]);
  expect(new SourcesReady([]).allReady()).toBe(true);
});

describe('the static pods of a manifest of a source of your own', () => {
  const manifest = (fields: object = {}, metadata: object = {}): object => ({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', ...metadata } },
    spec: { containers: [{ name: 'app', image: 'app:1' }] },
    ...fields,
  });
  let staticPods: PodSourceContext['staticPods'];
  beforeEach(() => {
    ({ staticPods } = contextOf());
  });

  it('are pods on this node, without the toleration of files', () => {
    const [pod] = staticPods(manifest(), 'https://config.example/web');
    const { uid } = pod!.metadata;
    expect(pod).toMatchObject({
      metadata: { name: 'web-node-a', namespace: 'default', annotations: { 'kubernetes.io/config.hash': uid } },
      spec: { nodeName: 'node-a', containers: [{ name: 'app', image: 'app:1' }] },
      status: { phase: 'Pending' },
    });
    expect(uid).toMatch(/^[0-9a-f]{32}$/);
    expect(pod!.spec).not.toHaveProperty('tolerations');
  });

  it('keep the namespace, the UID and the annotations of the manifest', () => {
    const metadata = { namespace: 'kube-system', uid: 'own-uid', annotations: { a: 'b' } };
    expect(staticPods(manifest({}, metadata), 'x')[0]!.metadata).toMatchObject({
      ...{ name: 'web-node-a', namespace: 'kube-system', uid: 'own-uid' },
      annotations: { a: 'b', 'kubernetes.io/config.hash': 'own-uid' },
    });
  });

  it('have a UID that depends on the origin and on the order of lists, not on that of fields', () => {
    const uidOf = (value: object, origin = 'x') => staticPods(value, origin)[0]!.metadata.uid;
    const args = (...list: string[]) =>
      manifest({ spec: { containers: [{ name: 'app', image: 'app:1', args: list }] } });
    const reversed = { spec: { containers: [{ args: ['a', 'b'], image: 'app:1', name: 'app' }] } };
    expect(uidOf(manifest(reversed))).toBe(uidOf(args('a', 'b')));
    expect(new Set([uidOf(args('a', 'b')), uidOf(args('b', 'a')), uidOf(args('a', 'b'), 'y')]).size).toBe(3);
  });

  it('of a PodList need neither kind nor apiVersion', () => {
    const { kind: _, apiVersion: __, ...item } = manifest() as Record<string, unknown>;
    const list = { apiVersion: 'v1', kind: 'PodList', items: [item, manifest({}, { name: 'db' })] };
    expect(staticPods(list, 'x').map(({ metadata }) => metadata.name)).toEqual(['web-node-a', 'db-node-a']);
    expect(staticPods({ ...list, items: [] }, 'x')).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'Expected the manifest to be an object'],
    ['null', null, 'Expected the manifest to be an object'],
    ['a text', 'kind: Pod', 'Expected the manifest to be an object'],
    ['a list', [manifest()], 'Expected the manifest to be an object'],
    ['a PodList without list', { apiVersion: 'v1', kind: 'PodList' }, 'Expected `items` to be a list'],
    ['another kind', manifest({ kind: 'Secret' }), 'Expected `kind` to be Pod'],
    ['another version', manifest({ apiVersion: 'v2' }), 'Expected `apiVersion` to be v1'],
    ['no name', manifest({ metadata: {} }), 'Expected `metadata.name` to be a name'],
    [
      'an item of another kind',
      { kind: 'PodList', items: [manifest({ kind: 'Secret' })] },
      'Expected `kind` to be Pod',
    ],
    ['several faults', manifest({ spec: { containers: [{ name: 'A' }] } }), 'spec.containers[0].name: Invalid value'],
  ])('are refused: %s', (_, value, message) => {
    expect(() => staticPods(value, 'x')).toThrow(message);
  });

  it('names all faults', () => {
    expect(() => staticPods(manifest({ spec: { containers: [{ name: 'A' }] } }), 'x')).toThrow(
      /^spec\.containers\[0\]\.name: .*; spec\.containers\[0\]\.image: Required value$/,
    );
  });
});
