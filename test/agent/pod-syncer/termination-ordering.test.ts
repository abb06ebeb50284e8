import { expect, it } from 'vitest';
import { TerminationOrdering } from '../../../src/agent/pod-syncer/kill-pod.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { settle } from '../../../src/testing/settle.ts';

const pod: Pod = {
  spec: {
    initContainers: [
      { name: 'init' },
      { name: 's1', restartPolicy: 'Always' },
      { name: 's2', restartPolicy: 'Always' },
    ],
    containers: [{ name: 'a' }, { name: 'b' }],
  },
};

/** The containers whose turn has come after each of `ends` has ended. */
async function turns(of: Pod, running: readonly string[], ...ends: readonly string[]): Promise<string[][]> {
  const ordering = new TerminationOrdering(of, running);
  const come: string[] = [];
  for (const name of ['init', 's1', 's2', 'a', 'b']) void ordering.turnOf(name).then(() => come.push(name));
  await settle();
  const seen = [come.splice(0).sort()];
  for (const name of ends) {
    ordering.containerTerminated(name);
    await settle();
    seen.push(come.splice(0).sort());
  }
  return seen;
}

it.each<[string, Pod, readonly string[], readonly string[], string[][]]>([
  [
    'regular containers first, then the sidecars from the last one on',
    pod,
    ['a', 'b', 's1', 's2'],
    ['a', 'b', 's2'],
    [['a', 'b', 'init'], [], ['s2'], ['s1']],
  ],
  [
    'a container that does not run keeps none waiting',
    pod,
    ['b', 's1'],
    ['b'],
    [
      ['a', 'b', 'init'],
      ['s1', 's2'],
    ],
  ],
  ['an unknown container changes nothing', pod, ['a'], ['x'], [['a', 'b', 'init'], []]],
  ['a pod without a spec has no order', {}, ['a', 's1'], [], [['a', 'b', 'init', 's1', 's2']]],
])('TerminationOrdering: %s', async (_case, of, running, ends, expected) => {
  expect(await turns(of, running, ...ends)).toEqual(expected);
});
