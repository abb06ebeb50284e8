import { describe, expect, it } from 'vitest';
import type { RecordedWrite } from './recording-proxy.ts';
import { checkCreations, checkEpochs, checkUse, checkWriters } from './replicas-invariants.ts';

const call = (replica: string, epoch: number, startMs: number, endMs: number | undefined = startMs + 10) => ({
  ...{ node: 'node-a', replica, epoch, startMs, endMs },
});

describe('checkEpochs', () => {
  it('accepts owners one after the other with higher epochs', () => {
    expect(checkEpochs([call('a', 1, 0), call('a', 1, 50), call('b', 2, 100), call('a', 3, 200)], [])).toEqual([]);
  });

  it.each<[string, Parameters<typeof checkEpochs>[0]]>([
    ['one owner for each epoch', [call('a', 1, 0), call('b', 1, 100)]],
    ['no call with an old epoch', [call('b', 2, 0), call('a', 1, 100)]],
    ['calls of an owner have ended before the next one begins', [call('a', 1, 0, 150), call('b', 2, 100)]],
    [
      'calls of an owner have ended before the next one begins',
      [{ ...call('a', 1, 0), endMs: undefined }, call('b', 2, 100)],
    ],
  ])('finds: %s', (invariant, calls) => {
    expect(checkEpochs(calls, []).map((violation) => violation.invariant)).toEqual([invariant]);
  });

  it('a process that was stopped may send one call that was due until it reports again, but no later one', () => {
    const pauses = [{ replica: 'a', fromMs: 10, toMs: 1_000, reportsMs: 2_000 }];
    expect(checkEpochs([call('b', 2, 900), call('a', 1, 2_050)], pauses)).toEqual([]);
    expect(checkEpochs([call('b', 2, 900), call('a', 1, 2_500)], pauses)).toHaveLength(1);
  });
});

const write = (replica: string, startMs: number, method: string, path: string, more: Partial<RecordedWrite> = {}) => ({
  ...{ replica, startMs, method, path, headers: {}, body: '', endMs: startMs + 10, status: 200, ...more },
});

describe('checkCreations', () => {
  it('finds a pod that is created again after its deletion, also by another replica', () => {
    const writes = [
      write('a', 0, 'PUT', '/u'),
      write('a', 20, 'PUT', '/u'),
      write('a', 40, 'DELETE', '/u', { status: 202 }),
    ];
    expect(checkCreations(writes)).toEqual([]);
    expect(checkCreations([...writes, write('b', 60, 'PUT', '/u', { status: 412 })])).toEqual([]);
    expect(checkCreations([...writes, write('b', 60, 'PUT', '/u')])).toHaveLength(1);
  });
});

describe('checkWriters', () => {
  const lease = (replica: string, startMs: number, holderIdentity: string, status: number | undefined = 200) => ({
    ...write(
      replica,
      startMs,
      'PUT',
      '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/virtual-nodes.node.node-a',
    ),
    ...{ status, body: JSON.stringify({ spec: { holderIdentity } }) },
  });
  const patch = (replica: string, startMs: number) =>
    write(replica, startMs, 'PATCH', '/api/v1/namespaces/default/pods/node-a.0/status');
  const pauses = [{ replica: 'a', fromMs: 0, toMs: 110, reportsMs: 110 }];

  it('accepts writes of the owner, and of one that was stopped at the moment when it continues', () => {
    const writes = [lease('a', 0, 'a-1'), patch('a', 20), lease('b', 100, 'b-1'), patch('b', 120)];
    expect(checkWriters(writes, [])).toEqual([]);
    expect(checkWriters([...writes, patch('a', 130)], pauses)).toEqual([]);
    expect(checkWriters([lease('a', 0, 'a-1'), lease('b', 100, 'b-1', 409), patch('a', 120)], [])).toEqual([]);
  });

  it.each([
    ['of the last owner', [lease('a', 0, 'a-1'), lease('b', 100, 'b-1'), patch('a', 120)]],
    ['after a release', [lease('a', 0, 'a-1'), lease('a', 100, ''), patch('a', 120)]],
  ])('finds a write %s', (_, writes) => {
    expect(checkWriters(writes, [])).toHaveLength(1);
  });
});

describe('checkUse', () => {
  const windows = [{ name: 'kill', fromMs: 0, toMs: 1_000, maxGapMs: 500 }];
  it('accepts calls without long gaps', () => {
    expect(checkUse([call('a', 1, 400), call('b', 2, 800)], ['node-a'], windows)).toEqual([]);
  });

  it.each([[[]], [[call('a', 1, 100)]], [[call('a', 1, 900)]]])('finds a gap', (calls) => {
    expect(checkUse(calls, ['node-a'], windows)).toHaveLength(1);
  });
});
