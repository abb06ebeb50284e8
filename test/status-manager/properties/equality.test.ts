import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import { isPodStatusByKubeletEqual } from '../../../src/status-manager/status/equality.ts';
import { normalizeStatus } from '../../../src/status-manager/status/normalize.ts';
import type { Pod, PodStatus } from '../../../src/kube/objects/types.ts';
import { deepFreeze, relatedPodStatusesArbitrary } from '../../support/arbitraries.ts';
import { reformatted, statusArbitrary } from './reformatted.ts';

/** A spec that knows some of the container names, in an order of its own. */
const podArbitrary: fc.Arbitrary<Pod> = fc
  .record({
    init: fc.shuffledSubarray(['a', 'B', 'b', 'é', 'constructor']),
    regular: fc.shuffledSubarray(['a', 'B', 'b', 'é', 'constructor']),
  })
  .map(({ init, regular }) => ({
    spec: { initContainers: init.map((name) => ({ name })), containers: regular.map((name) => ({ name })) },
  }));

function shuffledLists(status: PodStatus): fc.Arbitrary<PodStatus> {
  const shuffled = <T>(list: readonly T[] | undefined): fc.Arbitrary<T[]> =>
    fc.shuffledSubarray([...(list ?? [])], { minLength: list?.length ?? 0 });
  return fc
    .tuple(shuffled(status.conditions), shuffled(status.containerStatuses), shuffled(status.ephemeralContainerStatuses))
    .map(([conditions, containerStatuses, ephemeralContainerStatuses]) => ({
      ...status,
      ...(status.conditions && { conditions }),
      ...(status.containerStatuses && { containerStatuses }),
      ...(status.ephemeralContainerStatuses && { ephemeralContainerStatuses }),
    }));
}

describe('normalizeStatus', () => {
  it('is idempotent, changes nothing in place, and changes nothing but order', () => {
    fc.assert(
      fc.property(podArbitrary, statusArbitrary, (pod, status) => {
        const once = normalizeStatus(deepFreeze(pod), deepFreeze(status));
        expect(normalizeStatus(pod, deepFreeze(once))).toBe(once);
        expect(canonicalPodStatus(once, { strict: true })).toEqual(once);
        const {
          initContainerStatuses: init,
          containerStatuses: regular,
          ephemeralContainerStatuses: _,
          ...rest
        } = once;
        expect(status).toMatchObject(rest);
        expect(new Set(init)).toEqual(new Set(status.initContainerStatuses));
        expect(new Set(regular)).toEqual(new Set(status.containerStatuses));
      }),
    );
  });
});

describe('isPodStatusByKubeletEqual', () => {
  it('is an equivalence on normalised statuses', () => {
    fc.assert(
      fc.property(
        podArbitrary,
        relatedPodStatusesArbitrary({ unknownFields: true }),
        statusArbitrary,
        (pod, [a, b], c) => {
          const [x, y, z] = [a, b, c].map((status) => deepFreeze(normalizeStatus(pod, status))) as [
            PodStatus,
            PodStatus,
            PodStatus,
          ];
          expect(isPodStatusByKubeletEqual(x, structuredClone(x))).toBe(true);
          expect(isPodStatusByKubeletEqual(y, x)).toBe(isPodStatusByKubeletEqual(x, y));
          if (isPodStatusByKubeletEqual(x, y))
            expect(isPodStatusByKubeletEqual(x, z)).toBe(isPodStatusByKubeletEqual(y, z));
        },
      ),
    );
  });

  it('ignores the order of conditions and containers, and other formats', () => {
    const pairs = statusArbitrary.chain((status) =>
      fc.tuple(
        fc.constant(status),
        shuffledLists(status).chain((shuffled) => reformatted(shuffled)),
      ),
    );
    fc.assert(
      fc.property(podArbitrary, pairs, (pod, [status, other]) => {
        const normalized = normalizeStatus(pod, canonicalPodStatus(other, { strict: true }));
        expect(isPodStatusByKubeletEqual(normalizeStatus(pod, status), normalized)).toBe(true);
      }),
    );
  });

  it('ignores the conditions of others, condition times and generations, and the claim fields', () => {
    fc.assert(
      fc.property(statusArbitrary, statusArbitrary, (status, other) => {
        const { resourceClaimStatuses, extendedResourceClaimStatus, nodeAllocatableResourceClaimStatuses } = other;
        const owned = (status.conditions ?? []).filter(({ type }) =>
          ['Ready', 'Initialized', 'DisruptionTarget'].includes(type),
        );
        const changed: PodStatus = {
          ...status,
          conditions: [
            { type: 'example.com/another', status: 'True', lastProbeTime: null, lastTransitionTime: null },
            ...owned.map((condition) => ({
              ...condition,
              lastProbeTime: null,
              lastTransitionTime: null,
              observedGeneration: 9,
            })),
          ],
        };
        Object.assign(changed, {
          resourceClaimStatuses,
          extendedResourceClaimStatus,
          nodeAllocatableResourceClaimStatuses,
        });
        expect(isPodStatusByKubeletEqual(status, changed)).toBe(true);
      }),
    );
  });

  it('sees a change of any other field', () => {
    const ignored = new Set([
      'conditions',
      'resourceClaimStatuses',
      'extendedResourceClaimStatus',
      'nodeAllocatableResourceClaimStatuses',
    ]);
    fc.assert(
      fc.property(statusArbitrary, (status) => {
        for (const field of Object.keys(status)) {
          if (ignored.has(field)) continue;
          const { [field as keyof PodStatus]: _, ...without } = status;
          expect(isPodStatusByKubeletEqual(status, without)).toBe(false);
        }
      }),
    );
  });
});
