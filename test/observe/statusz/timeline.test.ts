import { describe, expect, it } from 'vitest';
import { APIError, type PodStatus, type StatusOutcome } from 'kubelet-status-manager';
import { Timelines } from '../../../src/observe/statusz/timeline.ts';
import { FakeClock } from '../../../src/testing/index.ts';

const known = new Set<string>();
const create = (length = 10): { clock: FakeClock; timelines: Timelines } => {
  const clock = new FakeClock('2026-11-22T12:00:00Z');
  return { clock, timelines: new Timelines({ clock, length, isKnown: (podUID) => known.has(podUID) }) };
};

const condition = (type: string, status: string, message = ''): NonNullable<PodStatus['conditions']>[number] => ({
  type,
  status,
  lastProbeTime: null,
  lastTransitionTime: null,
  ...(message && { message }),
});

const outcome = (fields: object = {}): StatusOutcome => ({
  podUID: 'a',
  podNamespace: 'default',
  podName: 'a',
  version: 1,
  outcome: 'written',
  ...fields,
});

describe('the timeline of a pod', () => {
  it('has phases, and conditions that were added, changed and removed', () => {
    const { clock, timelines } = create();
    timelines.startFrom('a', {
      phase: 'Pending',
      conditions: [condition('Ready', 'False'), condition('Gone', 'True')],
    });
    expect(timelines.entriesOf('a')).toEqual([]);
    clock.advance(1_000);
    timelines.statusChanged('a', {
      phase: 'Running',
      conditions: [condition('Ready', 'True'), condition('New', 'True')],
    });
    const at = '2026-11-22T12:00:01Z';
    expect(timelines.entriesOf('a')).toEqual([
      { at, kind: 'phase', from: 'Pending', to: 'Running' },
      { at, kind: 'condition', type: 'Ready', from: 'False', to: 'True' },
      { at, kind: 'condition', type: 'New', to: 'True' },
      { at, kind: 'condition', type: 'Gone', from: 'True' },
    ]);
  });

  it('has no entry for a condition if only its message changed', () => {
    const { timelines } = create();
    timelines.startFrom('a', { conditions: [condition('Ready', 'False', '1 container')] });
    timelines.statusChanged('a', { conditions: [condition('Ready', 'False', '2 containers')] });
    expect(timelines.entriesOf('a')).toEqual([]);
  });

  it('counts repeated failures in one entry, so that they do not displace other entries', () => {
    const { clock, timelines } = create(3);
    timelines.outcome(outcome());
    const error = new APIError('may not', { kind: 'http', statusCode: 403 });
    for (let i = 0; i < 20; i++) {
      clock.advance(30_000);
      timelines.outcome(outcome({ version: 2, outcome: 'forbidden', error, nextTryInMs: 30_000 }));
    }
    expect(timelines.entriesOf('a')).toMatchObject([
      { outcome: 'written', version: 1, times: 1, at: '2026-11-22T12:00:00Z' },
      {
        outcome: 'forbidden',
        version: 2,
        times: 20,
        at: '2026-11-22T12:10:00Z',
        nextTryAt: '2026-11-22T12:10:30Z',
        error: 'may not',
        statusCode: 403,
      },
    ]);
  });

  it('keeps the newest entries only, and the beginning of a long message', () => {
    const { timelines } = create(3);
    for (let version = 1; version <= 10; version++) timelines.outcome(outcome({ version }));
    expect(timelines.entriesOf('a')?.map((entry) => 'version' in entry && entry.version)).toEqual([8, 9, 10]);
    timelines.statusChanged('a', { conditions: [condition('Ready', 'False', 'x'.repeat(32_768))] });
    expect(timelines.entriesOf('a')?.at(-1)).toMatchObject({ message: `${'x'.repeat(1_000)}…` });
  });
});

describe('the timelines of removed pods', () => {
  it('are dropped, however many pods come and go, and those of other pods stay', () => {
    const { timelines } = create();
    known.add('kept');
    timelines.outcome(outcome({ podUID: 'kept' }));
    for (let i = 0; i < 10_000; i++) timelines.outcome(outcome({ podUID: `gone-${i}` }));
    const left = Array.from({ length: 10_000 }, (_, i) => timelines.entriesOf(`gone-${i}`)).filter(Boolean);
    expect(left.length).toBeLessThanOrEqual(512);
    expect(timelines.entriesOf('kept')).toHaveLength(1);
  });
});
