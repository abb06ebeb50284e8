import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { assignNodes } from '../../../src/virtual-nodes/replicas/assign-nodes.ts';

const names = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, i) => `${prefix}-${i}`);

function owners(nodes: readonly string[], members: readonly string[]): Map<string, string | undefined> {
  return new Map([...assignNodes(nodes, members)].map(([node, [owner]]) => [node, owner]));
}

it('no member has more than its share, rounded up, whatever the names', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.string(), { maxLength: 80 }),
      fc.uniqueArray(fc.string(), { minLength: 1, maxLength: 9 }),
      (nodes, members) => {
        const counts = new Map<string | undefined, number>();
        for (const owner of owners(nodes, members).values()) counts.set(owner, (counts.get(owner) ?? 0) + 1);
        expect(Math.max(0, ...counts.values())).toBeLessThanOrEqual(Math.ceil(nodes.length / members.length));
        expect(counts.has(undefined)).toBe(false);
      },
    ),
  );
});

it('the order of the lists does not matter, and each node has every member in its order', () => {
  const nodes = names('node', 20);
  const members = names('replica', 3);
  const assigned = assignNodes(nodes, members);
  expect(assignNodes(nodes.toReversed(), members.toReversed())).toEqual(assigned);
  for (const preference of assigned.values()) expect([...preference].sort()).toEqual(members);
});

it('without members, nobody is to own a node', () => {
  expect(assignNodes(['node-a'], [])).toEqual(new Map([['node-a', []]]));
});

it('when one of four members leaves, at most a third of the nodes changes its owner', () => {
  const nodes = names('node', 120);
  const members = names('replica', 4);
  const before = owners(nodes, members);
  for (const gone of members) {
    const after = owners(
      nodes,
      members.filter((member) => member !== gone),
    );
    const moved = nodes.filter((node) => before.get(node) !== after.get(node));
    expect(moved.length).toBeGreaterThanOrEqual(30);
    expect(moved.length).toBeLessThanOrEqual(40);
  }
});
