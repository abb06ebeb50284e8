import { describe, expect, it } from 'vitest';
import { BasicPodManager } from '../../src/kube/pod-manager/basic-pod-manager.ts';
import type { Pod } from '../../src/kube/objects/types.ts';
import { deepFreeze } from '../support/arbitraries.ts';

function podOf(uid: string, annotations: Record<string, string> = {}, name = 'p'): Pod {
  return deepFreeze({ metadata: { uid, name, namespace: 'ns', annotations } });
}

const regular = podOf('regular');
const fromFile = podOf('static', { 'kubernetes.io/config.source': 'file' });
const mirror = podOf('mirror', { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': 'x' });

function managerOf(...pods: Pod[]): BasicPodManager {
  const manager = new BasicPodManager();
  for (const pod of pods) manager.addPod(pod);
  return manager;
}

function translations(manager: BasicPodManager): [object, object] {
  const { podToMirror, mirrorToPod } = manager.getUIDTranslations();
  return [Object.fromEntries(podToMirror), Object.fromEntries(mirrorToPod)];
}

describe('BasicPodManager', () => {
  it('is empty at first', () => {
    const manager = new BasicPodManager();
    expect(manager.getPods()).toEqual([]);
    expect(manager.getPodByUID('x')).toBeUndefined();
    expect(manager.getMirrorPodByPod(regular)).toBeUndefined();
    expect(translations(manager)).toEqual([{}, {}]);
  });

  it('stores the same objects, and replaces by UID', () => {
    const manager = managerOf(regular);
    expect(manager.getPodByUID('regular')).toBe(regular);
    const newer = podOf('regular', { a: 'b' });
    manager.updatePod(newer);
    expect(manager.getPodByUID('regular')).toBe(newer);
    expect(manager.getPods()).toEqual([newer]);
  });

  it('finds a mirror pod by full name only, and does not list it', () => {
    const manager = managerOf(mirror);
    expect(manager.getPodByUID('mirror')).toBeUndefined();
    expect(manager.getPods()).toEqual([]);
    expect(manager.getMirrorPodByPod(fromFile)).toBe(mirror);
    expect(manager.getMirrorPodByPod(regular)).toBe(mirror);
    expect(manager.getMirrorPodByPod(podOf('static', {}, 'other'))).toBeUndefined();
  });

  it.each([
    ['the static pod first', [fromFile, mirror]],
    ['the mirror first', [mirror, fromFile]],
  ])('translates, whichever came first: %s', (_, pods) => {
    const manager = managerOf(...pods);
    expect(manager.translatePodUID('mirror')).toBe('static');
    expect(translations(manager)).toEqual([{ static: 'mirror' }, { mirror: 'static' }]);
  });

  it('translates any UID other than that of a mirror pod, including the empty UID, to itself', () => {
    const manager = managerOf(fromFile, mirror);
    expect(manager.translatePodUID('static')).toBe('static');
    expect(manager.translatePodUID('unknown')).toBe('unknown');
    expect(manager.translatePodUID('')).toBe('');
  });

  it('lists a static pod without a mirror pod with an empty mirror UID, and lists no regular pod', () => {
    expect(translations(managerOf(fromFile, podOf('other', {}, 'q')))).toEqual([{ static: '' }, {}]);
  });

  it('gives any pod that shares its name with a mirror a translation', () => {
    expect(translations(managerOf(regular, mirror))).toEqual([{ regular: 'mirror' }, { mirror: 'regular' }]);
  });

  it('removing a mirror pod removes its translation', () => {
    const manager = managerOf(fromFile, mirror);
    manager.removePod(mirror);
    expect(manager.getMirrorPodByPod(fromFile)).toBeUndefined();
    expect(manager.translatePodUID('mirror')).toBe('mirror');
    expect(translations(manager)).toEqual([{ static: '' }, {}]);
  });

  it('removing a pod keeps its translation', () => {
    const manager = managerOf(fromFile, mirror);
    manager.removePod(fromFile);
    expect(manager.getPods()).toEqual([]);
    expect(manager.translatePodUID('mirror')).toBe('static');
    expect(translations(manager)).toEqual([{ static: 'mirror' }, { mirror: 'static' }]);
  });

  it('a mirror with a new UID gets the translation; the old one stays until it is removed', () => {
    const second = podOf('mirror2', mirror.metadata!.annotations);
    const manager = managerOf(fromFile, mirror, second);
    expect(manager.getMirrorPodByPod(fromFile)).toBe(second);
    expect(translations(manager)).toEqual([{ static: 'mirror2' }, { mirror: 'static', mirror2: 'static' }]);
    manager.removePod(mirror);
    // As in the kubelet, the entry under the full name goes although it is the newer mirror's.
    expect(manager.getMirrorPodByPod(fromFile)).toBeUndefined();
    expect(translations(manager)).toEqual([{ static: 'mirror2' }, { mirror2: 'static' }]);
  });

  it('removing a pod drops the entry under its name, even when a newer pod has taken it', () => {
    const newer = podOf('newer');
    const manager = managerOf(regular, newer);
    manager.removePod(regular);
    expect(manager.getPodByUID('newer')).toBe(newer);
    manager.addPod(mirror);
    expect(manager.translatePodUID('mirror')).toBe('mirror');
    // The next update of the pod brings the entry back.
    manager.updatePod(newer);
    expect(manager.translatePodUID('mirror')).toBe('newer');
  });

  it('a pod that is no longer static is not listed as one', () => {
    const manager = managerOf(fromFile);
    manager.updatePod(podOf('static'));
    expect(translations(manager)).toEqual([{}, {}]);
  });

  it('setPods replaces all pods and their translations', () => {
    const manager = managerOf(fromFile, mirror, podOf('gone', {}, 'gone'));
    manager.removePod(fromFile);
    manager.setPods(new Set([mirror, regular]));
    expect(manager.getPods()).toEqual([regular]);
    expect(translations(manager)).toEqual([{ regular: 'mirror' }, { mirror: 'regular' }]);
    manager.setPods([]);
    expect(translations(manager)).toEqual([{}, {}]);
    expect(manager.getMirrorPodByPod(regular)).toBeUndefined();
  });

  it('calls listeners with the static pod when its mirror becomes known, from either side, and once', () => {
    const manager = new BasicPodManager();
    const heard: string[] = [];
    const end = manager.onMirrorPodAdded((uid) => void heard.push(uid));
    const [staticPod, mirrorPod] = [fromFile, mirror];
    manager.addPod(mirrorPod);
    expect(heard).toEqual([]);
    manager.addPod(staticPod);
    manager.updatePod(mirrorPod);
    manager.updatePod(staticPod);
    expect(heard).toEqual(['static']);
    manager.removePod(mirrorPod);
    manager.addPod(mirrorPod);
    expect(heard).toEqual(['static', 'static']);
    end();
    manager.setPods([mirrorPod, staticPod]);
    expect(heard).toHaveLength(2);
  });

  it('returns copies of its lists and maps', () => {
    const manager = managerOf(fromFile, mirror);
    manager.getPods().pop();
    (manager.getUIDTranslations().mirrorToPod as Map<string, string>).clear();
    (manager.getUIDTranslations().podToMirror as Map<string, string>).clear();
    expect(manager.getPods()).toHaveLength(1);
    expect(translations(manager)).toEqual([{ static: 'mirror' }, { mirror: 'static' }]);
  });
});

describe('BasicPodManager refuses', () => {
  const metadata = { uid: 'u', name: 'n', namespace: 'ns' };

  function expectRefused(call: (manager: BasicPodManager) => void, path: string): void {
    const manager = managerOf(fromFile, mirror);
    expect(() => call(manager)).toThrow(
      expect.objectContaining({ name: 'StatusManagerError', code: 'INVALID_ARGUMENT', path }),
    );
    expect(manager.getPods()).toEqual([fromFile]);
    expect(translations(manager)).toEqual([{ static: 'mirror' }, { mirror: 'static' }]);
  }

  it.each<[string, unknown]>([
    ['', undefined],
    ['', null],
    ['', 'text'],
    ['', 7],
    ['', []],
    ['.metadata', {}],
    ['.metadata.uid', { metadata: {} }],
    ['.metadata.uid', { metadata: { ...metadata, uid: '' } }],
    ['.metadata.uid', { metadata: { ...metadata, uid: 7 } }],
    ['.metadata.name', { metadata: { uid: 'u', namespace: 'ns' } }],
    ['.metadata.namespace', { metadata: { uid: 'u', name: 'n' } }],
    ['.metadata.annotations', { metadata: { ...metadata, annotations: 'x' } }],
    ['.spec.containers', { metadata, spec: { containers: 'x' } }],
    ['.spec.readinessGates[0]', { metadata, spec: { readinessGates: ['x'] } }],
  ])('pod%s (%j), and changes nothing', (path, pod) => {
    expectRefused((manager) => manager.addPod(pod as Pod), `pod${path}`);
    expectRefused((manager) => manager.updatePod(pod as Pod), `pod${path}`);
    expectRefused((manager) => manager.setPods([regular, pod as Pod]), `pods[1]${path}`);
  });

  it.each([[undefined], [null], ['text'], [7], [{}]])('setPods(%s)', (pods) => {
    expectRefused((manager) => manager.setPods(pods as never), 'pods');
  });

  it.each([[undefined], [null], ['text'], [{}], [{ metadata: { uid: '' } }]])('removePod(%j)', (pod) => {
    expectRefused((manager) => manager.removePod(pod as never), 'pod.metadata.uid');
  });
});
