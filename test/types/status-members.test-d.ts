/**
 * Compiles, or a member of a status type can be added without its row in the table of members.
 * Nothing here runs.
 */
import {
  listOf,
  object,
  omitEmpty,
  optional,
  quantities,
  text,
} from '../../src/status-manager/status/status-member.ts';
import { type MembersOf } from '../../src/status-manager/status/object-reader.ts';
import { podStatusMembers } from '../../src/status-manager/status/status-members.ts';
import type { PodStatus, ResourceList } from '../../src/kube/types.ts';

interface NewerPodStatus extends PodStatus {
  readonly newMember?: string;
}

// @ts-expect-error -- the table has no row for the new member
export const forgotten: MembersOf<NewerPodStatus> = podStatusMembers;
export const added: MembersOf<NewerPodStatus> = { ...podStatusMembers, newMember: omitEmpty(text) };

interface Sample {
  readonly a: string;
  readonly b?: string;
  readonly c?: { readonly d?: readonly string[] };
  readonly e?: ResourceList;
}

const rows: MembersOf<Sample> = {
  a: text,
  b: optional(text),
  c: object<{ readonly d?: readonly string[] }>({ d: listOf(text) }),
  e: quantities,
};
// @ts-expect-error -- a row for a member that the type does not have
export const unknownRow: MembersOf<Sample> = { ...rows, f: text };
// @ts-expect-error -- reads another type
export const otherType: MembersOf<Sample> = { ...rows, e: omitEmpty(text) };
// @ts-expect-error -- a member that is always there, left out when empty
export const leftOut: MembersOf<Sample> = { ...rows, a: omitEmpty(text) };
// @ts-expect-error -- a member that may be absent, always there
export const alwaysThere: MembersOf<Sample> = { ...rows, b: text };
