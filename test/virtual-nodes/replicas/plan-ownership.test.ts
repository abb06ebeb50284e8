import { expect, it } from 'vitest';
import type { Lease } from '../../../src/node/index.ts';
import { assignNodes } from '../../../src/virtual-nodes/replicas/assign-nodes.ts';
import { leaseTiming } from '../../../src/virtual-nodes/replicas/node-ownership-options.ts';
import { leavingAnnotation, ObservedLeases } from '../../../src/virtual-nodes/replicas/observed-leases.ts';
import { type OwnershipSituation, planOwnership } from '../../../src/virtual-nodes/replicas/plan-ownership.ts';

const timing = leaseTiming(15);
const second = 1000;
type Owned = Parameters<typeof planOwnership>[0]['owned'] extends ReadonlyMap<string, infer T> ? T : never;

let version = 0;
function lease(name: string, holderIdentity: string, annotations: Record<string, string> = {}): Lease {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace: 'kube-system', resourceVersion: `${++version}`, annotations },
    spec: { holderIdentity, leaseDurationSeconds: 15 },
  };
}
const subjectOf = ({ metadata: { name } }: Lease) => {
  const [kind, of = ''] = name.split('.');
  return { kind: kind as 'member' | 'node', of };
};
const observedLeases = () => new ObservedLeases({ subjectOf }, timing);

/** Member `me` since 0 s, which sees the Leases `members` and `node` since 0 s, and `renewed` since now. */
function plan({
  members = [],
  renewed = [],
  node,
  nowMs,
  ...situation
}: Partial<OwnershipSituation> & {
  readonly members?: readonly Lease[];
  readonly renewed?: readonly Lease[];
  readonly node?: Lease | undefined;
  readonly nowMs: number;
}) {
  const observed = observedLeases();
  const me = lease('member.me', 'me');
  observed.replace([me, ...members, ...(node ? [node] : [])], 0);
  for (const one of renewed) observed.update(one, nowMs);
  return planOwnership({
    ...{ identity: 'me', isLeaving: false, memberSinceMs: 0, nodeNames: new Set(['x']), owned: new Map() },
    ...{ observed, timing, assign: () => new Map([['x', ['me', 'other']]]), nowMs },
    ...situation,
  });
}

/** Compares a table with the actions in each combination of its rows and columns; `-`: none. */
function expectTable(text: string, cell: (row: string, column: string) => readonly string[]): void {
  const [columns = [], ...rows] = text
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/));
  const made = rows.map(([row = '']) => [row, ...columns.map((column) => cell(row, column).join('+') || '-')]);
  expect([columns, ...made]).toEqual([columns, ...rows]);
}
const seconds = (column: string): number => Number(/\d+/.exec(column)) * second;
const namesOf = ({ actions }: ReturnType<typeof planOwnership>): string[] =>
  actions.map((action) =>
    action.kind === 'take' && action.insteadOf !== undefined ? `take(${action.insteadOf})` : action.kind,
  );

it('a node is taken when its Lease is free: by the first of its order now, by the next ones each 10 s later', () => {
  const preferences: Record<string, string[]> = {
    first: ['me', 'other'],
    second: ['other', 'me'],
    third: ['other', 'b', 'me'],
    none: [],
  };
  const text = `
               first@1  first@16  second@9     second@11    second@26    third@19  third@21     none@90
    missing    -        take      -            -            take(other)  -         -            -
    nobody     take     take      -            take(other)  take(other)  -         take(other)  -
    me         take     take      take         take         take         take      take         release
    other      -        -         -            -            -            -         -            -
    left       take     take      -            take(other)  take(other)  -         take(other)  -
    unknown    -        take      -            -            take(other)  -         -            -`;
  const holders: Record<string, string> = { nobody: '', me: 'me', other: 'other', left: 'gone', unknown: 'ghost' };
  expectTable(text, (row, column) => {
    const [rank = ''] = column.split('@');
    const nowMs = seconds(column);
    const members = [lease('member.other', 'other'), lease('member.gone', '')];
    const node = row === 'missing' ? undefined : lease('node.x', holders[row]!);
    const assign = () => new Map([['x', preferences[rank]!]]);
    return namesOf(plan({ members, renewed: [lease('member.other', 'other')], node, nowMs, assign }));
  });
});

it('a member that is alone takes free nodes only after 5 s, because others may be about to renew their Leases', () => {
  const node = lease('node.x', '');
  expect([4.9, 5].map((at) => namesOf(plan({ node, nowMs: at * second })))).toEqual([[], ['take']]);
  expect(plan({ node, nowMs: 4 * second }).nextMs).toBe(5 * second);
  const members = [lease('member.other', 'other')];
  expect(namesOf(plan({ members, node, nowMs: second }))).toEqual(['take']);
});

it('a member whose Lease has expired loses its holder, and its Lease is deleted 150 s later', () => {
  const text = `
               4  14  16            149  151
    live       -  -   -             -    -
    expired    -  -   removeHolder  removeHolder  removeHolder
    left       -  -   -             -    deleteMember`;
  const leases: Record<string, Lease[]> = {
    live: [lease('member.other', 'other')],
    expired: [lease('member.other', 'other')],
    left: [lease('member.other', '')],
  };
  expectTable(text, (row, column) => {
    const renewed = row === 'live' ? [lease('member.other', 'other')] : [];
    return namesOf(plan({ members: leases[row]!, renewed, nodeNames: new Set(), nowMs: seconds(column) }));
  });
  const late = plan({
    members: leases['expired']!,
    nodeNames: new Set(),
    nowMs: 16 * second,
    memberSinceMs: 12 * second,
  });
  expect(namesOf(late)).toEqual([]);
});

it('an owned node is handed over to the member that should own it, and released when its ownership is over', () => {
  const ending = Promise.resolve();
  const owned: Record<string, Partial<Owned>> = {
    owned: {},
    insteadOfOther: { insteadOf: 'other' },
    insteadOfAnother: { insteadOf: 'another' },
    ending: { ending },
    over: { ending, isOver: true },
  };
  const text = `
                      mine@20  others@4  others@6  others@149  others@151  nobodys@20
    owned             -        -         handOver  handOver    handOver    -
    insteadOfOther    -        -         -         -           handOver    -
    insteadOfAnother  -        -         handOver  handOver    handOver    -
    ending            -        -         -         -           -           -
    over              release  release   release   release     release     release`;
  const preferences: Record<string, string[]> = { mine: ['me', 'other'], others: ['other', 'me'], nobodys: [] };
  expectTable(text, (row, column) => {
    const [whose = ''] = column.split('@');
    const one = { acquiredMs: 0, ending: undefined, insteadOf: undefined, isOver: false, ...owned[row] };
    const assign = () => new Map([['x', preferences[whose]!]]);
    const members = [lease('member.other', 'other')];
    const renewed = [lease('member.other', 'other')];
    const node = lease('node.x', 'me');
    return namesOf(plan({ members, renewed, node, owned: new Map([['x', one]]), assign, nowMs: seconds(column) }));
  });
});

it('only members that live and do not stop are given nodes', () => {
  const given = (situation: Partial<OwnershipSituation>, ...others: readonly Lease[]): readonly string[] => {
    let members: readonly string[] = [];
    const assign = (eligible: readonly string[]) => ((members = eligible), new Map());
    plan({ members: others, nowMs: 10 * second, assign, ...situation });
    return members;
  };
  expect(given({}, lease('member.other', 'other'))).toEqual(['me', 'other']);
  expect(given({ isLeaving: true }, lease('member.other', 'other'))).toEqual(['other']);
  expect(given({}, lease('member.other', 'other', { [leavingAnnotation]: 'true' }))).toEqual(['me']);
  expect(given({}, lease('member.other', ''))).toEqual(['me']);
  expect(given({ nowMs: 16 * second }, lease('member.other', 'other'))).toEqual(['me']);
});

/** Processes that come and go; a write has an effect immediately. */
class Replicas {
  readonly nodeNames = Array.from({ length: 8 }, (_, i) => `n${i}`);
  hasHandOver = true;
  readonly #holders = new Map(this.nodeNames.map((nodeName) => [nodeName, '']));
  #members: readonly string[] = [];

  started(member: string): void {
    this.#members = [...this.#members, member];
    this.#settle();
  }

  /** Others have found that its Lease has expired, or it has released its nodes. */
  ended(member: string): void {
    this.#members = this.#members.filter((one) => one !== member);
    for (const nodeName of this.#nodesOf(member)) this.#holders.set(nodeName, '');
    this.#settle();
  }

  counts(): string {
    return this.#members.map((member) => this.#nodesOf(member).length).join('/');
  }

  #nodesOf(member: string): string[] {
    return this.nodeNames.filter((nodeName) => this.#holders.get(nodeName) === member);
  }

  #settle(): void {
    for (let round = 0; round < 3; round++) for (const member of this.#members) this.#step(member);
  }

  #step(identity: string): void {
    const observed = observedLeases();
    const members = this.#members.map((member) => lease(`member.${member}`, member));
    observed.replace([...members, ...[...this.#holders].map(([name, holder]) => lease(`node.${name}`, holder))], 0);
    const owned = { acquiredMs: 0, ending: undefined, insteadOf: undefined, isOver: false };
    const { actions } = planOwnership({
      ...{ identity, isLeaving: false, memberSinceMs: 0, nodeNames: new Set(this.nodeNames), observed, timing },
      owned: new Map(this.#nodesOf(identity).map((nodeName) => [nodeName, owned])),
      assign: (eligible) => assignNodes(this.nodeNames, eligible),
      nowMs: 9 * second,
    });
    for (const action of actions) {
      if (action.kind === 'take') this.#holders.set(action.nodeName, identity);
      if (action.kind === 'handOver' && this.hasHandOver) this.#holders.set(action.nodeName, '');
    }
  }
}

it('a process that starts has its share of the nodes only because others hand nodes over', () => {
  const cases: Record<string, (replicas: Replicas) => void> = {
    scaledUp: (replicas) => replicas.started('c'),
    restartedAfterACrash: (replicas) => {
      replicas.ended('b');
      replicas.started('b2');
    },
    updatedOneByOne: (replicas) => {
      for (const member of ['a', 'b']) {
        replicas.ended(member);
        replicas.started(`${member}2`);
      }
    },
    updatedWithSurge: (replicas) => {
      for (const member of ['a', 'b']) {
        replicas.started(`${member}2`);
        replicas.ended(member);
      }
    },
  };
  expectTable(
    `
                          withHandOver  without
    scaledUp              2/3/3         4/4/0
    restartedAfterACrash  4/4           8/0
    updatedOneByOne       4/4           8/0
    updatedWithSurge      4/4           5/3`,
    (row, column) => {
      const replicas = new Replicas();
      replicas.started('a');
      replicas.started('b');
      replicas.hasHandOver = column === 'withHandOver';
      cases[row]!(replicas);
      return [replicas.counts()];
    },
  );
});
