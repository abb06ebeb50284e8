import { createHash } from 'node:crypto';

/**
 * For each node, the order in which members should own it; the first one should own it now. Rendezvous hashing spreads the
 * nodes, so that few of them move when a member joins or leaves. No member is first for more than its share, rounded up. The
 * result depends only on the contents of the two lists, not on their order.
 */
export function assignNodes(
  nodeNames: Iterable<string>,
  members: Iterable<string>,
): ReadonlyMap<string, readonly string[]> {
  const nodes = [...nodeNames].sort();
  const candidates = [...members].sort();
  const share = Math.ceil(nodes.length / candidates.length);
  const counts = new Map<string, number>();
  return new Map(
    nodes.map((nodeName) => {
      const preferred = byScore(nodeName, candidates);
      const owner = preferred.find((member) => (counts.get(member) ?? 0) < share);
      if (owner === undefined) return [nodeName, []];
      counts.set(owner, (counts.get(owner) ?? 0) + 1);
      return [nodeName, [owner, ...preferred.filter((member) => member !== owner)]];
    }),
  );
}

/** The members, the highest hash of both names first. */
function byScore(nodeName: string, members: readonly string[]): string[] {
  const scores = members.map((member) => ({ member, score: hash(`${member}/${nodeName}`) }));
  return scores.sort((a, b) => b.score - a.score).map(({ member }) => member);
}

function hash(text: string): number {
  return createHash('sha256').update(text).digest().readUIntBE(0, 6);
}
