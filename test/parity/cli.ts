import { parseArgs, styleText } from 'node:util';
import type { Divergence } from './compare.ts';
import type { PodStatusRow } from './pod-status-row.ts';
import { replayPodStatusRow } from './replay-pod-status.ts';
import { type ReplayOptions, replayTrace } from './replay.ts';
import { readRecords, type Trace } from './trace.ts';

const usage = `Usage: npm run parity -- [--concurrency N] [--when-stale] [--json-patch] [--reformat SEED] FILE…

Replays traces of the kubelet's status manager and pod status rows (.jsonl or .jsonl.gz; a file may hold
both) and prints where we differ.
With --when-stale or --json-patch the effects on the API server are compared, not the requests.
With --reformat the statuses are given in other valid formats: times, quantities, null fields, order.
Exit code: 0 no divergence, 1 some, 2 wrong usage or a file that cannot be read.
`;

const shownDivergences = 20;

/** Receives the output: stdout and stderr of a process, or a test. */
export interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Runs the command line `args` and resolves with the exit code. */
export async function runParity(args: readonly string[], stdout: Output, stderr: Output): Promise<number> {
  try {
    const { files, options, help } = readArguments(args);
    if (help || files.length === 0) {
      (help ? stdout : stderr).write(usage);
      return help ? 0 : 2;
    }
    return await replayFiles(files, options, stdout, stderr);
  } catch (error) {
    stderr.write(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
}

function readArguments(args: readonly string[]): { files: string[]; options: ReplayOptions; help: boolean } {
  const { positionals: files, values } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      concurrency: { type: 'string' },
      'when-stale': { type: 'boolean', default: false },
      'json-patch': { type: 'boolean', default: false },
      reformat: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { concurrency, reformat, help } = values;
  if (concurrency !== undefined && !/^[1-9]\d{0,2}$/.test(concurrency))
    throw new Error(`Expected --concurrency to be a number between 1 and 999, got ${concurrency}`);
  if (reformat !== undefined && !/^\d{1,9}$/.test(reformat))
    throw new Error(`Expected --reformat to be a number of at most 9 digits, got ${reformat}`);
  const options: ReplayOptions = {
    ...(concurrency !== undefined && { concurrency: Number(concurrency) }),
    ...(values['when-stale'] && { readBeforePatch: 'when-stale' }),
    ...(values['json-patch'] && { patchStrategy: 'json-patch' }),
    ...(reformat !== undefined && { reformatSeed: Number(reformat) }),
  };
  return { files, options, help };
}

async function replayFiles(
  files: readonly string[],
  options: ReplayOptions,
  stdout: Output,
  stderr: Output,
): Promise<number> {
  let traces = 0;
  let steps = 0;
  let rows = 0;
  let divergences = 0;
  const show = (found: readonly Divergence[]): void => {
    for (const divergence of found) {
      if (divergences++ < shownDivergences) print(divergence, stdout);
    }
  };
  for (const file of files) {
    for await (const record of readRecords<Trace | PodStatusRow>(file)) {
      if ('steps' in record) {
        traces++;
        steps += record.steps.length;
        show(await replayTrace(record, options));
        if (stderr.isTTY && traces % 50 === 0) stderr.write(`\r${traces} traces`);
      } else {
        rows++;
        show(replayPodStatusRow(record));
      }
    }
  }
  if (stderr.isTTY) stderr.write('\r');
  const counts = [
    ...(traces > 0 || rows === 0 ? [`${traces} traces, ${steps} steps`] : []),
    ...(rows > 0 ? [`${rows} pod status rows`] : []),
  ];
  stdout.write(`${counts.join(', ')}, ${divergences} divergences\n`);
  return divergences === 0 ? 0 : 1;
}

function print({ trace, step, op, path, expected, got }: Divergence, stdout: Output): void {
  const show = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
  const title = `${trace} step ${step} (${op}) ${path}`;
  stdout.write(
    `${stdout.isTTY ? styleText('red', title) : title}\n  expected ${show(expected)}\n  got      ${show(got)}\n`,
  );
}
