import { describe, expect, it } from 'vitest';
import type { Pod } from '../../src/kube/objects/types.ts';
import { getStaticPod, getTestPod, startTime, TestManager } from './fixture.ts';

const spec = { restartPolicy: 'Never', containers: [{ name: 'app' }] };

function staticPod(restartPolicy?: string): { staticPod: Pod; mirrorPod: Pod } {
  const pods = getStaticPod();
  return { ...pods, staticPod: { ...pods.staticPod, spec: { restartPolicy } } };
}

describe('canPodRun', () => {
  it.each<[string, Pod, boolean]>([
    ['a new pod', getTestPod(), true],
    ['a running pod', getTestPod({ status: { phase: 'Running' } }), true],
    ['a pod that has succeeded', getTestPod({ status: { phase: 'Succeeded' } }), false],
    ['a pod that has failed, whatever its restart policy', getTestPod({ status: { phase: 'Failed' } }), false],
    ['a pod that is being deleted', getTestPod({ metadata: { deletionTimestamp: startTime } }), false],
    ['a static pod', staticPod('Never').staticPod, true],
    ['a mirror pod, which only shows another one', staticPod().mirrorPod, false],
  ])('%s: %s', (_, pod, expected) => {
    expect(new TestManager().manager.canPodRun(pod)).toBe(expected);
  });

  it('false once a terminal phase is accepted, although the pod object still shows Running', () => {
    const t = new TestManager();
    const pod = getTestPod({ spec, status: { phase: 'Running' } });
    t.manager.setPodStatus(pod, { phase: 'Running' });
    expect(t.manager.canPodRun(pod)).toBe(true);
    t.manager.setPodStatus(pod, { phase: 'Failed' });
    expect(t.manager.canPodRun(pod)).toBe(false);
  });

  it('false after terminatePod, whatever the phase', () => {
    const t = new TestManager();
    const pod = getTestPod({ spec, status: { phase: 'Running' } });
    t.manager.terminatePod(pod);
    expect(t.manager.canPodRun(pod)).toBe(false);
    expect(t.manager.canPodRun(getTestPod({ metadata: { uid: 'recreated' }, spec }))).toBe(true);
  });

  it('a static pod with restart policy Always may run again after any terminal phase: a shutdown of the node sets one', () => {
    for (const [restartPolicy, expected] of [
      ['Always', true],
      [undefined, true],
      ['Never', false],
      ['OnFailure', false],
    ] as const) {
      const t = new TestManager();
      const { staticPod: pod, mirrorPod } = staticPod(restartPolicy);
      t.podManager.setPods([pod, { ...mirrorPod, status: { phase: 'Failed' } }]);
      // As the mirror has it, and as it was set in this run.
      expect(t.manager.canPodRun(pod)).toBe(expected);
      t.podManager.setPods([pod]);
      t.manager.setPodStatus(pod, { phase: 'Failed' });
      expect(t.manager.canPodRun(pod)).toBe(expected);
    }
  });

  it('a changed static pod never ran while the API server still had the ended mirror of the old one, of the same name', () => {
    const t = new TestManager();
    const { staticPod: pod, mirrorPod } = staticPod('Never');
    const { annotations } = pod.metadata!;
    const mirrorOf = (hash: string): Pod => ({
      ...mirrorPod,
      metadata: { ...mirrorPod.metadata, annotations: { 'kubernetes.io/config.mirror': hash } },
      status: { phase: 'Succeeded' },
    });
    const changed = {
      ...pod,
      metadata: { ...pod.metadata, annotations: { ...annotations, 'kubernetes.io/config.hash': 'new' } },
    };
    for (const [hash, expected] of [
      ['old', true],
      ['new', false],
    ] as const) {
      t.podManager.setPods([changed, mirrorOf(hash)]);
      expect(t.manager.canPodRun(changed)).toBe(expected);
    }
  });

  it('rejects an argument that is not a pod', () => {
    expect(() => new TestManager().manager.canPodRun({})).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', path: 'pod.metadata' }),
    );
  });
});
