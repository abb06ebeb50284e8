import * as fc from 'fast-check';
import type { PodStatus } from '../../../src/kube/objects/types.ts';
import { createPodStatusArbitrary } from '../../support/arbitraries.ts';
import { reformatStatus } from '../../support/reformat.ts';

/** Canonical pod statuses, with unknown fields at every level. */
export const statusArbitrary: fc.Arbitrary<PodStatus> = createPodStatusArbitrary({ unknownFields: true });

/** The same status in other valid formats. */
export function reformatted(status: PodStatus): fc.Arbitrary<unknown> {
  return fc
    .infiniteStream(fc.nat(997))
    .map((stream) => reformatStatus(status, (choices) => choices[stream.next().value! % choices.length]));
}
