import { describe, expect, it } from 'vitest';
import { isOlderThanAgent } from '../../../src/node/status/older-than-agent.ts';
import { noProbeResults, ProbeResultsManager, type ProbeUpdate } from '../../../src/node/probes/probe-results.ts';

describe('ProbeResultsManager', () => {
  it('reports each result that is new or has changed, in order', () => {
    const updates: ProbeUpdate[] = [];
    const results = new ProbeResultsManager((update) => updates.push(update));
    expect(results.get('c1')).toBeUndefined();
    results.set('c1', 'failure', 'u1');
    results.set('c1', 'failure', 'u1');
    results.set('c2', 'failure', 'u2');
    results.set('c1', 'success', 'u1');
    expect([results.get('c1'), results.get('c2')]).toEqual(['success', 'failure']);
    expect(updates).toEqual([
      { podUID: 'u1', containerID: 'c1', result: 'failure' },
      { podUID: 'u2', containerID: 'c2', result: 'failure' },
      { podUID: 'u1', containerID: 'c1', result: 'success' },
    ]);
  });

  it('forgets a container without a report, and reports its next result as new', () => {
    const updates: ProbeUpdate[] = [];
    const results = new ProbeResultsManager((update) => updates.push(update));
    results.set('c1', 'success', 'u1');
    results.remove('c1');
    results.remove('unknown');
    expect([results.get('c1'), updates.length]).toEqual([undefined, 1]);
    results.set('c1', 'success', 'u1');
    expect(updates).toHaveLength(2);
  });

  it('needs no listener', () => {
    const results = new ProbeResultsManager();
    results.set('c1', 'success', 'u1');
    expect(results.get('c1')).toBe('success');
  });
});

it('before the first probe there are no results', () => {
  for (const type of ['startup', 'readiness', 'liveness'] as const)
    expect(noProbeResults[type].get('c1')).toBeUndefined();
});

it.each([
  [-10_001, true],
  [-10_000, false],
  [0, false],
])('a container that was started %d ms after the agent is older than it: %s', (ms, expected) => {
  expect(isOlderThanAgent(50_000 + ms, 50_000)).toBe(expected);
});
