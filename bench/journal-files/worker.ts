/*
 * One process of the benchmark of journals: each call in a turn of the event loop of its own, with
 * fsync `interval`. Prints one line of JSON.
 * Usage: node worker.js one-file|one-file-a-pod PODS
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { fileJournal, type JournalEntry } from 'kubelet-status-manager';
import { benchPods, runningStatus } from '../fixtures.ts';
import { projectPath } from '../environment.ts';
import type { JournalFigures } from './journal-files.ts';
import { OneFileAPod } from './one-file-a-pod.ts';

const changedRounds = 3;

const [design = 'one-file', podsArgument = '2000'] = process.argv.slice(2);
const pods = benchPods(Number(podsArgument));
// Not in the folder for temporary files, which may be in memory.
mkdirSync(projectPath('dist'), { recursive: true });
const dir = mkdtempSync(projectPath('dist/bench-journal-'));
const journal = design === 'one-file' ? await fileJournal(dir) : new OneFileAPod(dir);

let longestDelayMs = 0;
const first = await timeEach((pod) => journal.accepted(entryOf(pod, 0)));
let changed = 0;
for (let round = 1; round <= changedRounds; round++) {
  changed += (await timeEach((pod) => journal.accepted(entryOf(pod, round)))) / changedRounds;
}
const settled = await timeEach((pod) => journal.settled(pod.metadata!.uid!));
await timeEach((pod) => journal.accepted(entryOf(pod, 0)));
const startMs = performance.now();
await journal.close();
const syncedMs = performance.now() - startMs;
rmSync(dir, { recursive: true });
process.stdout.write(
  `${JSON.stringify({ first, changed, settled, longestDelayMs, syncedMs } satisfies JournalFigures)}\n`,
);

/** Microseconds per call. */
async function timeEach(call: (pod: (typeof pods)[number]) => void): Promise<number> {
  let totalMs = 0;
  let turnMs = performance.now();
  for (const pod of pods) {
    const startMs = performance.now();
    call(pod);
    totalMs += performance.now() - startMs;
    await setImmediate();
    const nextTurnMs = performance.now();
    longestDelayMs = Math.max(longestDelayMs, nextTurnMs - turnMs);
    turnMs = nextTurnMs;
  }
  return (totalMs * 1000) / pods.length;
}

function entryOf({ metadata }: (typeof pods)[number], restartCount: number): JournalEntry {
  const time = '2026-01-02T03:04:05Z';
  return {
    podUID: metadata!.uid!,
    podNamespace: metadata!.namespace!,
    podName: metadata!.name!,
    podIsFinished: false,
    acceptedAt: time,
    status: runningStatus(restartCount, () => time) as JournalEntry['status'],
  };
}
