import { Command, InvalidArgumentError } from 'commander';
import { benchApi } from './api/api.ts';
import { benchMemory } from './memory/memory.ts';
import { alignColumns, type Report, summarize, tableOf } from './report.ts';
import { findOracle, provideControlPlane, surroundings } from './surroundings.ts';

interface SharedOptions {
  readonly oracle?: string;
  readonly json?: boolean;
}

const command = `npm run bench -- ${process.argv.slice(2).join(' ')}`;

function progress(text: string): void {
  process.stderr.write(`${text}\n`);
}

function print(report: Report, { json = !process.stdout.isTTY }: SharedOptions): void {
  const where = surroundings(command);
  if (json) {
    for (const figure of report.figures) {
      process.stdout.write(`${JSON.stringify({ bench: report.title, ...summarize(figure), ...where })}\n`);
    }
    return;
  }
  const facts = Object.entries(where).map(([name, text]) => `${name}: ${text}\n`);
  process.stdout.write(
    `\n${report.title}\n${facts.join('')}${report.notes.join('\n')}\n\n${alignColumns(tableOf(report))}`,
  );
}

function positiveInteger(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number) || number < 1) throw new InvalidArgumentError('Expected a positive integer.');
  return number;
}

function subcommand(name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('--oracle <file>', 'program with the benchmarks of the kubelet (default: KUBELET_ORACLE)')
    .option('--json', 'print lines of JSON on a terminal, too');
}

const program = new Command('npm run bench --').description('Measures this library beside the kubelet.');

subcommand('memory', 'setPodStatus, idle full batches and bytes per cached status, without an API server')
  .option('--pods <count>', 'pods in one manager', positiveInteger, 10_000)
  .option('--processes <count>', 'processes per measurement', positiveInteger, 5)
  .action(async (options: SharedOptions & { pods: number; processes: number }) => {
    print(await benchMemory({ ...options, oracle: findOracle(options.oracle), progress }), options);
  });

subcommand('api', 'updates per second, own CPU and requests per update on a real kube-apiserver')
  .option('--pods <count>', 'pods of each contestant', positiveInteger, 1_000)
  .option('--passes <count>', 'processes of each contestant, three rounds each', positiveInteger, 2)
  .action(async (options: SharedOptions & { pods: number; passes: number }) => {
    provideControlPlane();
    print(await benchApi({ ...options, oracle: findOracle(options.oracle), progress }), options);
  });

await program.parseAsync();
