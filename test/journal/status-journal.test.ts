import { expect, it } from 'vitest';
import type { Journal } from '../../src/journal/journal.ts';
import { StatusJournal } from '../../src/journal/status-journal.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { entry } from './journals.ts';

const nothing = (): void => {};

it('what an earlier run left unsent is a list that stays, also when statuses are set or sent', () => {
  const finished = { ...entry('a'), podIsFinished: true, status: { phase: 'Succeeded' } };
  const port: Journal = {
    recovered: [finished, entry('b')],
    accepted: nothing,
    settled: nothing,
    close: () => Promise.resolve(),
  };
  const journal = new StatusJournal(port, new FakeClock());
  const adopted: string[] = [];
  journal.recover(({ podUID }) => adopted.push(podUID));
  journal.sent('a', true);
  expect(adopted).toEqual(['a', 'b']);
  expect([...journal.recovered.keys()]).toEqual(['b']);
  const { podNamespace, acceptedAt } = finished;
  expect(journal.recoveredAtStart).toEqual([
    { podUID: 'a', podNamespace, podName: 'a', podIsFinished: true, phase: 'Succeeded', acceptedAt },
    { podUID: 'b', podNamespace, podName: 'b', podIsFinished: false, phase: 'Running', acceptedAt },
  ]);
  expect(new StatusJournal(undefined, new FakeClock()).recoveredAtStart).toEqual([]);
});
