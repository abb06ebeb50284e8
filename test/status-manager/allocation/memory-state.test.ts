import { describe, expect, it } from 'vitest';
import { MemoryState } from '../../../src/status-manager/allocation/memory-state.ts';
import { noopState } from '../../../src/status-manager/allocation/allocation-state.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { cpu, podOf } from './pods.ts';

describe('MemoryState', () => {
  it('grants regular and init containers, in canonical form, before the promise settles', async () => {
    const state = new MemoryState();
    const written = state.setPodAllocation({
      metadata: { uid: 'u' },
      spec: {
        containers: [
          { name: 'app', resources: { limits: { memory: '1024Mi' }, requests: { cpu: '1000m' } } },
          { name: 'bare' },
        ],
        initContainers: [
          { name: 'setup', resources: cpu('1') },
          { name: 'sidecar', restartPolicy: 'Always', resources: cpu('0.5') },
        ],
      },
    });
    expect(state.getContainerResourceAllocation('u', 'app')).toEqual({
      limits: { memory: '1Gi' },
      requests: { cpu: '1' },
    });
    expect(state.getContainerResourceAllocation('u', 'bare')).toEqual({});
    expect(state.getContainerResourceAllocation('u', 'sidecar')).toEqual({ requests: { cpu: '500m' } });
    // Until Kubernetes 1.36 an init container that ends before the others start could not be resized.
    expect(state.getContainerResourceAllocation('u', 'setup')).toEqual(cpu('1'));
    expect(state.getContainerResourceAllocation('other', 'app')).toBeUndefined();
    await written;
  });

  it('replaces the complete allocation of a pod', async () => {
    const state = new MemoryState();
    await state.setPodAllocation(podOf('u', { a: cpu('1'), b: cpu('1') }));
    await state.setPodAllocation(podOf('u', { b: cpu('2') }));
    expect(state.getContainerResourceAllocation('u', 'a')).toBeUndefined();
    expect(state.getContainerResourceAllocation('u', 'b')).toEqual(cpu('2'));
  });

  it('is unaffected by mutations of its inputs and results', async () => {
    const state = new MemoryState();
    const requests = { cpu: '1' };
    await state.setPodAllocation(podOf('u', { a: { requests } }));
    requests.cpu = '7';
    const handedOut = state.getContainerResourceAllocation('u', 'a')!;
    expect(() => Object.assign(handedOut.requests!, { cpu: '8' })).toThrow(TypeError);
    expect(() => Object.assign(handedOut, { limits: {} })).toThrow(TypeError);
    expect(state.getContainerResourceAllocation('u', 'a')).toEqual(cpu('1'));
  });

  it('hands out the pod-level resources, and forgets the pods that do not remain', async () => {
    const state = new MemoryState();
    await state.setPodAllocation({ metadata: { uid: 'a' }, spec: { resources: cpu('2000m'), containers: [] } });
    await state.setPodAllocation(podOf('b', {}));
    await state.setPodResizeStatus('c', 'Deferred');
    expect(state.getPodLevelResourceAllocation('a')).toEqual(cpu('2'));
    expect(state.getPodLevelResourceAllocation('b')).toBeUndefined();
    state.removeOrphanedPods(new Set(['b']));
    expect([...state.allocations.keys(), ...state.resizeStatuses.keys()]).toEqual(['b']);
  });

  it("stores resize statuses; '' removes one", async () => {
    const state = new MemoryState();
    expect(state.getPodResizeStatus('u')).toBe('');
    const written = state.setPodResizeStatus('u', 'Deferred');
    expect(state.getPodResizeStatus('u')).toBe('Deferred');
    await written;
    await state.setPodResizeStatus('u', '');
    expect(state.getPodResizeStatus('u')).toBe('');
    expect(state.resizeStatuses.size).toBe(0);
  });

  it('forgets deleted pods', async () => {
    const state = new MemoryState();
    for (const uid of ['a', 'b', 'c']) {
      await state.setPodAllocation(podOf(uid, { app: cpu('1') }));
      await state.setPodResizeStatus(uid, 'InProgress');
    }
    state.delete('a');
    state.delete('b');
    expect([...state.allocations.keys()]).toEqual(['c']);
    expect([...state.resizeStatuses.keys()]).toEqual(['c']);
  });

  it.each([
    ['null', null, 'pod'],
    ['a list', [], 'pod'],
    ['no metadata', {}, 'pod.metadata.uid'],
    ['an empty uid', { metadata: { uid: '' } }, 'pod.metadata.uid'],
    ['containers no list', { metadata: { uid: 'u' }, spec: { containers: {} } }, 'pod.spec.containers'],
    ['a container without name', { metadata: { uid: 'u' }, spec: { containers: [{}] } }, 'pod.spec.containers[0].name'],
    ['a bad quantity', podOf('u', { ok: cpu('1'), bad: cpu('one') }), 'pod.spec.containers[1].resources.requests.cpu'],
  ])('refuses a pod that is %s and changes nothing', async (_, pod, path) => {
    const state = new MemoryState();
    await state.setPodAllocation(podOf('u', { app: cpu('3') }));
    await expect(state.setPodAllocation(pod as Pod)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', path });
    expect(state.getContainerResourceAllocation('u', 'app')).toEqual(cpu('3'));
    expect(state.allocations.size).toBe(1);
  });

  it.each([
    ['', 'Deferred', 'podUID'],
    [7, 'Deferred', 'podUID'],
    ['u', 'deferred', 'resizeStatus'],
    ['u', undefined, 'resizeStatus'],
    ['u', '__proto__', 'resizeStatus'],
  ])('refuses the resize status (%j, %j)', async (podUID, resizeStatus, path) => {
    const state = new MemoryState();
    await expect(state.setPodResizeStatus(podUID as never, resizeStatus as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      path,
    });
    expect(state.resizeStatuses.size).toBe(0);
  });
});

describe('noopState', () => {
  it('accepts everything and stores nothing', async () => {
    await noopState.setPodAllocation(podOf('u', { app: cpu('1') }));
    await noopState.setPodResizeStatus('u', 'Deferred');
    noopState.delete('u');
    expect(noopState.getContainerResourceAllocation('u', 'app')).toBeUndefined();
    expect(noopState.getPodResizeStatus('u')).toBe('');
  });
});
