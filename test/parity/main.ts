import { parseArgs, styleText } from 'node:util';
import type { Divergence } from './compare.ts';
import { replayTrace } from './replay.ts';
import { readTraces } from './trace.ts';

const usage = `Usage: npm run parity -- [--concurrency N] [--when-stale] [--json-patch] FILE…

Replays traces of the kubelet's status manager (.jsonl or .jsonl.gz) and prints where we differ.
With --when-stale or --json-patch the effects on the API server are compared, not the requests.
Exit code: 0 no divergence, 1 some, 2 wrong usage.
`;

const shownDivergences = 20;

async function main(): Promise<number> {
  let files: string[];
  let values: {
    concurrency?: string | undefined;
    'when-stale'?: boolean | undefined;
    'json-patch'?: boolean | undefined;
    help?: boolean | undefined;
  };
  try {
    ({ positionals: files, values } = parseArgs({
      allowPositionals: true,
      options: {
        concurrency: { type: 'string' },
        'when-stale': { type: 'boolean' },
        'json-patch': { type: 'boolean' },
        help: { type: 'boolean' },
      },
    }));
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n\n${usage}`);
    return 2;
  }
  if (values.help || files.length === 0) {
    (values.help ? process.stdout : process.stderr).write(usage);
    return values.help ? 0 : 2;
  }
  const options = {
    ...(values.concurrency !== undefined && { concurrency: Number(values.concurrency) }),
    ...(values['when-stale'] === true && { readBeforePatch: 'when-stale' as const }),
    ...(values['json-patch'] === true && { patchStrategy: 'json-patch' as const }),
  };

  let traces = 0;
  let steps = 0;
  let divergences = 0;
  for (const file of files) {
    for await (const trace of readTraces(file)) {
      traces++;
      steps += trace.steps.length;
      for (const divergence of await replayTrace(trace, options)) {
        if (divergences++ < shownDivergences) print(divergence);
      }
      if (process.stderr.isTTY && traces % 50 === 0) process.stderr.write(`\r${traces} traces`);
    }
  }
  if (process.stderr.isTTY) process.stderr.write('\r');
  process.stdout.write(`${traces} traces, ${steps} steps, ${divergences} divergences\n`);
  return divergences === 0 ? 0 : 1;
}

function print({ trace, step, op, path, expected, got }: Divergence): void {
  const show = (value: unknown): string => JSON.stringify(value) ?? 'nothing';
  const title = `${trace} step ${step} (${op}) ${path}`;
  process.stdout.write(
    `${process.stdout.isTTY ? styleText('red', title) : title}\n  expected ${show(expected)}\n  got      ${show(got)}\n`,
  );
}

process.exitCode = await main();
