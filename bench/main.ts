import { Command, InvalidArgumentError } from 'commander';
import { benchAgent } from './agent/agent.ts';
import { benchAPI } from './api/api.ts';
import { benchInspect } from './inspect/inspect.ts';
import { benchJournalFiles } from './journal-files/journal-files.ts';
import { benchLatency } from './latency/latency.ts';
import { benchMemory } from './memory/memory.ts';
import { benchNodes } from './nodes/nodes.ts';
import { alignColumns, type Report, summarize, tableOf } from './report.ts';
import { type Section, writeResults } from './results-document.ts';
import { benchReplicas } from './replicas/replicas.ts';
import { benchScale } from './scale/scale.ts';
import { benchStart } from './start/start.ts';
import { benchWrites } from './writes/writes.ts';
import { findOracle, environment } from './environment.ts';

interface Options {
  readonly json?: boolean;
  readonly oracle?: string;
  readonly processes: number;
  readonly passes: number;
  readonly rounds: number;
  readonly nodes: readonly number[];
  readonly turns: number;
  readonly quick: boolean;
  readonly profiles?: string;
  readonly write?: boolean;
}

const command = ['npm run bench --', ...process.argv.slice(2)].join(' ');

const benchmarks = {
  memory: ({ oracle, processes }: Options) =>
    benchMemory({ pods: 10_000, processes, oracle: findOracle(oracle), progress }),
  api: ({ oracle, passes }: Options) => benchAPI({ pods: 1_000, passes, oracle: findOracle(oracle), progress }),
  latency: ({ rounds }: Options) => benchLatency({ rounds, progress }),
  scale: ({ processes }: Options) => benchScale({ processes, progress }),
  agent: () => benchAgent({ progress }),
  nodes: ({ nodes, turns, quick, profiles }: Options) => benchNodes({ nodes, turns, quick, profiles, progress }),
  start: ({ processes }: Options) => benchStart({ processes, progress }),
  replicas: ({ nodes }: Options) => benchReplicas({ nodes, progress }),
  writes: ({ rounds }: Options) => benchWrites({ pods: 200, rounds, progress }),
  inspect: ({ passes }: Options) => benchInspect({ nodes: 500, pods: 20, passes, progress }),
  'journal-files': ({ processes }: Options) => benchJournalFiles({ pods: 2_000, processes, progress }),
} as const satisfies Record<string, (options: Options) => Promise<Report>>;

/** The others measure what was not taken. */
const measuringThisLibrary = (Object.keys(benchmarks) as (keyof typeof benchmarks)[]).filter(
  (name) => !['journal-files', 'replicas', 'start', 'writes', 'inspect'].includes(name),
);

const descriptions: Readonly<Record<keyof typeof benchmarks | 'all', string>> = {
  memory: 'setPodStatus, idle full batches and bytes per cached status, without an API server',
  api: 'updates per second, own CPU and requests per update on a real kube-apiserver',
  latency: 'slow and absent API servers',
  scale: '1,000 to 20,000 pods in one manager',
  agent: 'CPU, memory and latency of a node agent whose containers are processes',
  nodes: '1 to 500 virtual nodes of 20 pods in one process, beside virtual-kubelet',
  start: 'the CPU time until the modules of virtual nodes are loaded, with and without a bundle',
  replicas: 'virtual nodes that five processes share out, and what grows with their number',
  writes: 'what a change of a status costs kube-apiserver, by the kind of the request',
  inspect: '`inspect()` of 500 virtual nodes of 20 pods in memory',
  'journal-files': 'the journal beside one that has a file for each pod',
  all: 'all other benchmarks, one after the other',
};

const program = new Command('npm run bench --').description('Measures this library and compares it with the kubelet.');
for (const name of Object.keys(descriptions) as (keyof typeof descriptions)[]) {
  program
    .command(name)
    .description(descriptions[name])
    .option('--json', 'print lines of JSON even on a terminal')
    .option('--oracle <file>', 'program with the benchmarks of the kubelet (default: KUBELET_ORACLE)')
    .option('--processes <count>', 'memory, scale, start, journal-files: processes per measurement', positiveInteger, 5)
    .option('--passes <count>', 'api: processes of each contestant', positiveInteger, 5)
    .option('--rounds <count>', 'latency, writes: rounds per measurement', positiveInteger, 5)
    .option(
      '--nodes <counts>',
      'nodes, replicas: numbers of nodes, separated by commas',
      positiveIntegers,
      [1, 20, 100, 500],
    )
    .option('--turns <count>', 'nodes: processes of each contestant', positiveInteger, 3)
    .option('--quick', 'nodes: one turn, and shorter', false)
    .option('--profiles <folder>', 'nodes: write CPU profiles into it, which slow down what is measured')
    .option('--write', 'write the results into bench/results.md, and the plots')
    .action((options: Options) => run(name === 'all' ? measuringThisLibrary : [name], options));
}
await program.parseAsync();

async function run(names: readonly (keyof typeof benchmarks)[], options: Options): Promise<void> {
  const sections: Section[] = [];
  for (const name of names) {
    const section = { report: await benchmarks[name](options), environment: environment(command) };
    print(section, options);
    sections.push(section);
  }
  if (options.write === true) writeResults(sections);
}

function print({ report, environment }: Section, { json = !process.stdout.isTTY }: Options): void {
  if (json) {
    for (const figure of report.figures) {
      process.stdout.write(`${JSON.stringify({ bench: report.title, ...summarize(figure), ...environment })}\n`);
    }
    return;
  }
  const facts = Object.entries(environment).map(([name, text]) => `${name}: ${text}\n`);
  process.stdout.write(
    `\n${report.title}\n${facts.join('')}${report.notes.join('\n')}\n\n${alignColumns(tableOf(report))}`,
  );
}

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

function positiveInteger(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('Expected a positive integer.');
  return number;
}

function positiveIntegers(text: string): number[] {
  return text.split(',').map(positiveInteger);
}
