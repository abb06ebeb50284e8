import { beforeEach, expect, it } from 'vitest';
import type { Journal, JournalEntry } from '../../../src/status-manager/journal/journal.ts';
import { StatusJournal } from '../../../src/status-manager/journal/status-journal.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { entry } from './journals.ts';

/** A journal in memory. */
class MemoryJournal implements Journal {
  readonly recovered: readonly JournalEntry[];
  readonly entries: JournalEntry[] = [];
  readonly settledUIDs: string[] = [];
  isClosed = false;

  constructor(...recovered: readonly JournalEntry[]) {
    this.recovered = recovered;
  }

  accepted(accepted: JournalEntry): void {
    this.entries.push(accepted);
  }

  settled(podUID: string): void {
    this.settledUIDs.push(podUID);
  }

  failure() {
    return { failingSince: '2000-01-01T00:00:00Z', reason: 'no space' };
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }
}

let clock: FakeClock;
beforeEach(() => {
  clock = new FakeClock('2001-01-01T00:00:00Z');
});

const fields = (message: string) => ({
  podNamespace: 'default',
  podName: 'a',
  podIsFinished: true,
  status: { phase: 'Running', message },
});

it('records a status with its pod, its end and the time', () => {
  const journal = new MemoryJournal();
  const statuses = new StatusJournal(journal, clock);
  statuses.accepted('a', fields('1'), {});
  expect(journal.entries).toEqual([{ podUID: 'a', acceptedAt: '2001-01-01T00:00:00Z', ...fields('1') }]);
  expect(statuses.isRecording).toBe(true);
});

const ready = (lastTransitionTime: string) => ({
  conditions: [{ type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime }],
});

it('never records a time before one that it has seen of the pod: in its recovered entry, and in either status', () => {
  const journal = new MemoryJournal({ ...entry('a'), acceptedAt: '2002-01-01T00:00:00Z' });
  const statuses = new StatusJournal(journal, clock);
  statuses.accepted('a', fields('1'), {});
  statuses.accepted('a', fields('2'), ready('2003-01-01T00:00:00Z'));
  statuses.accepted('a', { ...fields('3'), status: ready('2004-01-01T00:00:00Z') }, {});
  expect(journal.entries.map(({ acceptedAt }) => acceptedAt.slice(0, 4))).toEqual(['2002', '2003', '2004']);
});

it('never records a time before that of an earlier status of the pod, until one of them is settled', () => {
  const journal = new MemoryJournal({ ...entry('b'), acceptedAt: '2002-01-01T00:00:00Z' });
  const statuses = new StatusJournal(journal, clock);
  statuses.accepted('a', fields('1'), ready('2003-01-01T00:00:00Z'));
  statuses.accepted('a', fields('2'), {});
  statuses.accepted('b', fields('1'), {});
  statuses.settled('a');
  statuses.accepted('a', fields('3'), {});
  expect(journal.entries.map(({ acceptedAt }) => acceptedAt.slice(0, 4))).toEqual(['2003', '2003', '2002', '2001']);
  expect(journal.settledUIDs).toEqual(['a']);
});

it('never records a time before one that the wall clock has had', () => {
  const journal = new MemoryJournal();
  const statuses = new StatusJournal(journal, clock);
  statuses.accepted('a', fields('1'), {});
  clock.setWallTime('1999-01-01T00:00:00Z');
  statuses.accepted('b', fields('2'), {});
  expect(journal.entries.map(({ acceptedAt }) => acceptedAt)).toEqual(['2001-01-01T00:00:00Z', '2001-01-01T00:00:00Z']);
});

it('a time that somebody writes into one pod does not change when the statuses of others were accepted', () => {
  const journal = new MemoryJournal({ ...entry('c'), acceptedAt: '9999-12-31T00:00:00Z' });
  const statuses = new StatusJournal(journal, clock);
  statuses.accepted('a', fields('1'), ready('9999-12-31T00:00:00Z'));
  statuses.accepted('b', fields('2'), {});
  expect(journal.entries[1]).toMatchObject({ podUID: 'b', acceptedAt: '2001-01-01T00:00:00Z' });
});

it('passes on why nothing can be recorded, and the end', async () => {
  const journal = new MemoryJournal();
  const statuses = new StatusJournal(journal, clock);
  expect(statuses.failure).toEqual({ failingSince: '2000-01-01T00:00:00Z', reason: 'no space' });
  await statuses.close();
  expect(journal.isClosed).toBe(true);
});

it('without a journal does nothing', async () => {
  const statuses = new StatusJournal(undefined, clock);
  statuses.accepted('a', fields('1'), {});
  statuses.settled('a');
  expect([statuses.isRecording, statuses.failure]).toEqual([false, undefined]);
  await statuses.close();
});

it('accepts a journal that cannot say why it fails', () => {
  const { recovered, accepted, settled, close } = new MemoryJournal();
  expect(new StatusJournal({ recovered, accepted, settled, close }, clock).failure).toBeUndefined();
});
