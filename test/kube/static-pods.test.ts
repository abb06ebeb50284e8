import { describe, expect, it } from 'vitest';
import { getPodFullName, isMirrorPod, isStaticPod } from '../../src/kube/pods/static-pods.ts';
import type { Pod } from '../../src/kube/objects/types.ts';

describe('isStaticPod and isMirrorPod', () => {
  it.each<[string, Record<string, string> | undefined, boolean, boolean]>([
    ['no annotations', undefined, false, false],
    ['other annotations', { a: 'b' }, false, false],
    ['source file', { 'kubernetes.io/config.source': 'file' }, true, false],
    ['source http', { 'kubernetes.io/config.source': 'http' }, true, false],
    ['source api', { 'kubernetes.io/config.source': 'api' }, false, false],
    ['an empty source', { 'kubernetes.io/config.source': '' }, true, false],
    ['a mirror', { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': 'hash' }, false, true],
    ['an empty mirror annotation', { 'kubernetes.io/config.mirror': '' }, false, true],
    ['both', { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.mirror': 'hash' }, true, true],
  ])('%s', (_, annotations, isStatic, isMirror) => {
    const pod: Pod = { metadata: { annotations } };
    expect([isStaticPod(pod), isMirrorPod(pod)]).toEqual([isStatic, isMirror]);
  });

  it.each(['file', 'http', ''])('a pod of the API server is not static, whatever its annotation says: %j', (source) => {
    const annotations = { 'kubernetes.io/config.source': source };
    expect(isStaticPod({ metadata: { resourceVersion: '1', annotations } })).toBe(false);
  });

  it('a pod without metadata is neither, and inherited annotations do not count', () => {
    expect([isStaticPod({}), isMirrorPod({})]).toEqual([false, false]);
    const annotations = Object.create({ 'kubernetes.io/config.source': 'file' }) as Record<string, string>;
    expect(isStaticPod({ metadata: { annotations } })).toBe(false);
  });
});

describe('getPodFullName', () => {
  it('is name_namespace', () => {
    expect(getPodFullName({ metadata: { name: 'foo', namespace: 'new' } })).toBe('foo_new');
    expect(getPodFullName({})).toBe('_');
  });
});
