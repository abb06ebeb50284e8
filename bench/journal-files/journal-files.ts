import { fileURLToPath } from 'node:url';
import { jsonLinesOf } from '../children.ts';
import type { Figure, Report } from '../report.ts';

export interface JournalFigures {
  /** Microseconds per call. */
  readonly first: number;
  readonly changed: number;
  readonly settled: number;
  /** Longest time between two turns of the event loop. */
  readonly longestDelayMs: number;
  /** Until all statuses are on the disk, when each pod has a new one. */
  readonly syncedMs: number;
}

export interface JournalFilesOptions {
  readonly pods: number;
  readonly processes: number;
  readonly progress: (text: string) => void;
}

const worker = fileURLToPath(new URL('worker.js', import.meta.url));
const designs = ['one-file', 'one-file-a-pod'] as const;

/** Compares the journal with one that has a file for each status, in new processes that alternate. */
export async function benchJournalFiles({ pods, processes, progress }: JournalFilesOptions): Promise<Report> {
  const results: Record<(typeof designs)[number], JournalFigures[]> = { 'one-file': [], 'one-file-a-pod': [] };
  for (let round = 1; round <= processes; round++) {
    progress(`journal-files: process ${round} of ${processes}`);
    for (const design of designs) {
      results[design].push(...(await jsonLinesOf<JournalFigures>(process.execPath, [worker, design, String(pods)])));
    }
  }
  const figure = (name: string, unit: string, field: keyof JournalFigures): Figure => ({
    name,
    unit,
    values: results['one-file-a-pod'].map((figures) => figures[field]),
    reference: { name: 'one file', values: results['one-file'].map((figures) => figures[field]) },
  });
  return {
    title: `Journal: one file a pod beside one file, ${pods.toLocaleString('en-US')} pods`,
    notes: [
      'Both sync once a second, as `fileJournal` does by default. The folder is on the disk of this checkout.',
      'Compared with `fileJournal`, which has one file for all pods.',
    ],
    figures: [
      figure('first status of a pod', 'µs', 'first'),
      figure('changed status', 'µs', 'changed'),
      figure('settled', 'µs', 'settled'),
      figure('longest event loop delay', 'ms', 'longestDelayMs'),
      figure('until a new status of each pod is on the disk', 'ms', 'syncedMs'),
    ],
  };
}
