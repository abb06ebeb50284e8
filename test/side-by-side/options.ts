import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { exitAfterUsage } from '../support/exit-after-usage.ts';
import type { Shape } from './shape.ts';
import { allShapes } from './shapes/all-shapes.ts';

export interface Options {
  readonly shapes?: readonly Shape[];
  readonly quick: boolean;
  readonly list: boolean;
  readonly json: boolean;
  readonly figures?: boolean;
  readonly concurrency: number;
  readonly kubeletRecordings?: string;
  readonly record: boolean;
  readonly handOver: boolean;
  readonly index: number;
  readonly folder: string;
}

/** Ends the process for --help and wrong usage. */
export function parseOptions(args: readonly string[]): Options {
  return new Command('npm run side-by-side --')
    .description(
      'Runs the same pods on the real kubelet and on examples/containerd-agent, one after the other on the same containerd, and compares what a watcher sees of them.',
    )
    .option(
      '--shapes <names>',
      'only these, separated by commas; without figures unless --figures is given',
      readShapes,
    )
    .option('--quick', 'only the 20 shapes of .ci/run, without figures', false)
    .option('--list', 'print the names of the shapes', false)
    .option('--json', 'print the results as JSON', false)
    .option('--figures', 'measure latencies and cost; default: only when all shapes run')
    .option('--no-figures')
    .option('--concurrency <n>', 'shapes that run at the same time', readInteger(1, 100), 4 * availableParallelism())
    .option('--kubelet-recordings <folder>', 'keep the recordings of the kubelet there, and use those that are there')
    .option('--record', 'run the kubelet only, and add to --kubelet-recordings', false)
    .option(
      '--hand-over',
      'instead: the kubelet hands pods in every state over to the agent, and takes them back',
      false,
    )
    .option('--index <n>', 'of the bridges and ports, so that several runs can share a machine', readInteger(0, 100), 0)
    .option('--folder <folder>', 'for logs and files', join(tmpdir(), `side-by-side-${process.pid}`))
    .addHelpText(
      'after',
      '\nExit status: 0 no undeclared differences, 1 some, 2 wrong usage, something is missing, or the run failed, 130 interrupted.',
    )
    .exitOverride(exitAfterUsage)
    .parse(args, { from: 'user' })
    .opts<Options>();
}

function readShapes(names: string): Shape[] {
  return names.split(',').map((name) => {
    const shape = allShapes.find((shape) => shape.name === name);
    if (shape === undefined) throw new InvalidArgumentError(`There is no shape ${name}; --list prints their names.`);
    return shape;
  });
}

function readInteger(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < min || value > max) {
      throw new InvalidArgumentError(`Expected an integer between ${min} and ${max}.`);
    }
    return value;
  };
}
