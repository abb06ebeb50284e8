/*
 * One process of the memory benchmark's rows with a journal. No status is ever sent, as while the
 * API server is down, so all statuses stay in the file and it has to be compacted. The same steps
 * run once before they are measured. Prints one line of JSON.
 * Usage: node worker.js none|interval|always PODS
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { fileJournal, StatusManager } from 'kubelet-status-manager';
import type { FsyncPolicy } from '../../src/status-manager/journal/journal-recorder.ts';
import { benchPods, runningStatus } from '../fixtures.ts';
import { quietLogger } from '../quiet-logger.ts';
import type { JournalTimes } from './figures.ts';

/** Rounds of changes after the first one, in which the file grows to four times its live statuses. */
const changedRounds = 5;

const [policy = 'interval', podsArgument = '10000'] = process.argv.slice(2);
const pods = benchPods(Number(podsArgument));
const time = (): string => '2026-01-02T03:04:05Z';

await measure();
process.stdout.write(`${JSON.stringify(await measure())}\n`);

async function measure(): Promise<JournalTimes> {
  const dir = mkdtempSync(path.join(tmpdir(), 'bench-journal-'));
  const journal = policy === 'none' ? undefined : await fileJournal(dir, { fsync: policy as FsyncPolicy });
  const manager = new StatusManager({ journal, podCouldHaveRunningContainers: () => true, logger: quietLogger });
  let longestDelay = 0;
  const timeRound = async (round: number): Promise<number> => {
    let totalMs = 0;
    let turnMs = performance.now();
    for (const pod of pods) {
      const startMs = performance.now();
      manager.setPodStatus(pod, runningStatus(round, time));
      totalMs += performance.now() - startMs;
      await setImmediate();
      const nextTurnMs = performance.now();
      longestDelay = Math.max(longestDelay, nextTurnMs - turnMs);
      turnMs = nextTurnMs;
    }
    return (totalMs * 1000) / pods.length;
  };
  const first = await timeRound(0);
  let changed = 0;
  for (let round = 1; round <= changedRounds; round++) changed += (await timeRound(round)) / changedRounds;
  await manager.stop();
  rmSync(dir, { recursive: true });
  return { first, changed, longestDelay };
}
