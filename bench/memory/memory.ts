import { fileURLToPath } from 'node:url';
import { jsonLinesOf } from '../children.ts';
import type { Target, Figure, Report } from '../report.ts';
import type { JournalTimes } from '../journal/figures.ts';
import type { MemoryTimes, WorkerResult } from './figures.ts';

export interface MemoryOptions {
  readonly pods: number;
  readonly processes: number;
  readonly oracle: string | undefined;
  readonly progress: (text: string) => void;
}

/** A line of `kubelet-oracle bench-memory`. Microseconds, except for the bytes. */
interface KubeletFigures {
  readonly set_first_us: number;
  readonly set_same_us: number;
  readonly set_changed_us: number;
  readonly reconcile_idle_us: number;
  readonly cache_bytes_per_pod: number;
}

const worker = fileURLToPath(new URL('worker.js', import.meta.url));
const journalWorker = fileURLToPath(new URL('../journal/worker.js', import.meta.url));
const inputs = ['json', 'date'] as const;
type Input = (typeof inputs)[number];
const journalPolicies = ['none', 'interval', 'always'] as const;
type JournalPolicy = (typeof journalPolicies)[number];
/** With `always` each call waits for the disk. */
const journalAlwaysPods = 500;

/** Measures the code paths that only use memory, in new processes that alternate with the kubelet's. */
export async function benchMemory({ pods, processes, oracle, progress }: MemoryOptions): Promise<Report> {
  const results: Record<Input, WorkerResult[]> = { json: [], date: [] };
  const journal: Record<JournalPolicy, JournalTimes[]> = { none: [], interval: [], always: [] };
  const kubelet: KubeletFigures[] = [];
  for (let round = 1; round <= processes; round++) {
    progress(`memory: process ${round} of ${processes}`);
    for (const input of inputs) {
      results[input].push(
        ...(await jsonLinesOf<WorkerResult>(process.execPath, ['--expose-gc', worker, input, String(pods)])),
      );
    }
    for (const policy of journalPolicies) {
      const count = policy === 'always' ? Math.min(pods, journalAlwaysPods) : pods;
      journal[policy].push(
        ...(await jsonLinesOf<JournalTimes>(process.execPath, [journalWorker, policy, String(count)])),
      );
    }
    if (oracle !== undefined)
      kubelet.push(...(await jsonLinesOf<KubeletFigures>(oracle, ['bench-memory', String(pods)])));
  }
  const figures = [
    ...inputs.flatMap((input) => figuresOf(input, results[input], kubelet)),
    ...journalFigures('interval', journal),
    ...journalFigures('always', journal),
  ];
  return {
    title: `Memory paths, ${pods.toLocaleString('en-US')} pods of two containers`,
    notes: [
      'Each number is the median of several processes. Cold: measured on the first manager of the process. Warm: measured on the third one, after the same steps on the first two.',
      'The input of each setPodStatus is a new object, which is created inside the timed loop. In the rows “JSON” its times are strings, in the rows “Date” they are 8 `Date` objects.',
      'Compared with the kubelet (Go), `kubelet-oracle bench-memory`, which runs in between. It does not remember what it has compared, so each of its full batches is like the first.',
      `Journal: no status is sent, so all of them stay in the file, as while the API server is down. With fsync \`always\` there are only ${journalAlwaysPods} pods. There is one setPodStatus per turn of the event loop, and the longest time that the event loop is blocked includes a compaction of the file. Compared with the same manager without a journal.`,
    ],
    figures,
  };
}

function figuresOf(input: Input, results: readonly WorkerResult[], kubelet: readonly KubeletFigures[]): Figure[] {
  const label = input === 'json' ? 'JSON' : 'Date';
  const beside = (field: keyof KubeletFigures): Figure['reference'] => ({
    name: 'kubelet',
    values: kubelet.map((figures) => figures[field]),
  });
  const times = (['warm', 'cold'] as const).flatMap((state) =>
    rowsOf(input).map(({ name, unit, field, reference, target }): Figure => ({
      name: `${label} ${state}: ${name}`,
      unit,
      values: results.map((result) => result[state][field]),
      reference: reference && beside(reference),
      target: state === 'warm' ? target : undefined,
    })),
  );
  const bytes: Figure = {
    name: `${label}: cached status`,
    unit: 'bytes',
    values: results.map((result) => result.bytes),
    reference: beside('cache_bytes_per_pod'),
    target: { of: 'ratio', atMost: 1.5 },
  };
  return [...times, bytes];
}

function journalFigures(
  policy: Exclude<JournalPolicy, 'none'>,
  times: Record<JournalPolicy, JournalTimes[]>,
): Figure[] {
  const figure = (name: string, unit: string, field: keyof JournalTimes): Figure => ({
    name: `Journal, fsync ${policy}: ${name}`,
    unit,
    values: times[policy].map((measured) => measured[field]),
    reference: { name: 'no journal', values: times.none.map((measured) => measured[field]) },
  });
  return [
    figure('setPodStatus, first', 'µs', 'first'),
    figure('setPodStatus, changed', 'µs', 'changed'),
    figure('longest event loop delay', 'ms', 'longestDelay'),
  ];
}

interface Row {
  readonly name: string;
  readonly unit: string;
  readonly field: keyof MemoryTimes;
  readonly reference?: keyof KubeletFigures;
  readonly target: Target;
}

function rowsOf(input: Input): Row[] {
  const set = { unit: 'µs', target: { of: 'ratio', atMost: input === 'json' ? 0.5 : 1 } } as const;
  const batch = { unit: 'µs/pod', reference: 'reconcile_idle_us' } as const;
  return [
    { ...set, name: 'setPodStatus, first', field: 'first', reference: 'set_first_us' },
    { ...set, name: 'setPodStatus, same', field: 'same', reference: 'set_same_us' },
    { ...set, name: 'setPodStatus, changed', field: 'changed', reference: 'set_changed_us' },
    { ...batch, name: 'idle full batch, first', field: 'firstFullBatch', target: { of: 'ratio', atMost: 0.6 } },
    { ...batch, name: 'idle full batch, later', field: 'laterFullBatch', target: { of: 'ratio', atMost: 0.05 } },
    { name: 'longest event loop delay', unit: 'ms', field: 'longestSlice', target: { of: 'value', atMost: 10 } },
  ];
}
