import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { Command, InvalidArgumentError } from 'commander';
import { exitAfterUsage } from '../../support/exit-after-usage.ts';
import { missingRequirements } from '../../support/node/requirements.ts';
import { endEarly } from '../../support/node/session.ts';
import { Progress } from '../../support/progress.ts';
import { type NodeFaultName, nodeFaultNames } from './node-faults.ts';
import { type NodeRunResult, runNodeChaos } from './node-run.ts';

interface Options {
  readonly seed: string;
  readonly pods: number;
  readonly faults: readonly NodeFaultName[];
  readonly quick: boolean;
  readonly json: boolean;
  readonly index: number;
  readonly folder: string;
}

const maxSeed = 0xffff_ffff;
/** Those of --quick. */
const quickFaults: readonly NodeFaultName[] = ['containerd-kill', 'agent-kill', 'disk-full'];
const quickPods = 10;

/** `npm run chaos -- node`. Resolves with the exit code. */
export async function nodeChaos(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  const missing = missingRequirements();
  if (missing.length > 0) {
    process.stderr.write(`npm run chaos -- node cannot run here:\n${missing.map((line) => `- ${line}\n`).join('')}`);
    return 2;
  }
  const progress = new Progress();
  process.stderr.write(`chaos of a node, seed ${options.seed}, ${options.pods} pods\n`);
  progress.begin('control plane and containerd');
  try {
    const result = await runNodeChaos({ ...options, onPhase: (phase) => progress.begin(phase) });
    progress.end();
    print(options, result);
    return result.violations.length === 0 ? 0 : 1;
  } catch (error) {
    return endEarly(error, options.folder);
  }
}

function parseOptions(args: readonly string[]): Options {
  const options = new Command('npm run chaos -- node')
    .description(
      'Runs pods on a node with examples/containerd-agent, a containerd and a control plane, disturbs them, and checks that the API server shows what containerd runs, and that nothing is left of pods that are gone.',
    )
    .option('--seed <seed>', 'decides which pods are created; any text', String(Math.floor(Math.random() * maxSeed)))
    .option('--pods <n>', 'pods at the same time; default: 30', readInteger(1, 1_000))
    .option(
      '--faults <names>',
      `one after the other, separated by commas; default: ${nodeFaultNames.join()}`,
      readFaults,
    )
    .option(
      '--quick',
      `short faults; default: ${quickPods} pods and ${quickFaults.join()}, without what is removed once a minute`,
      false,
    )
    .option('--json', 'print the result as JSON', false)
    .option('--index <n>', 'of the bridges and ports, so that several runs can share a machine', readInteger(0, 100), 0)
    .option('--folder <folder>', 'for logs and files', join(tmpdir(), `chaos-node-${process.pid}`))
    .addHelpText(
      'after',
      '\nExit code: 0 no violations, 1 some violations, 2 wrong usage, something is missing, or a run that failed, 130 interrupted.',
    )
    .exitOverride(exitAfterUsage)
    .parse(args, { from: 'user' })
    .opts<Omit<Options, 'pods' | 'faults'> & Partial<Options>>();
  const { quick, pods = quick ? quickPods : 30, faults = quick ? quickFaults : nodeFaultNames } = options;
  return { ...options, pods, faults };
}

function print(options: Options, result: NodeRunResult): void {
  for (const { invariant, details } of result.violations) {
    const title = process.stderr.isTTY ? styleText('red', invariant) : invariant;
    process.stderr.write(`violation: ${title}: ${details}\n`);
  }
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ seed: options.seed, ...result }, undefined, 2)}\n`);
    return;
  }
  for (const { faults, settledAfterMs, unready } of result.faults) {
    const settled =
      settledAfterMs === undefined ? 'not settled' : `settled after ${(settledAfterMs / 1000).toFixed(1)} s`;
    process.stdout.write(`${faults}: ${settled}${unready.map((why) => `, ${why}`).join('')}\n`);
  }
  const { actions, pods, runs, violations } = result;
  const parts = [
    `node, seed ${options.seed}`,
    `${options.pods} pods at a time, ${pods} in all`,
    `${runs} runs of containers`,
    ...Object.entries(actions).map(([action, times]) => `${times} ${action}`),
    `${violations.length} violations`,
  ];
  process.stdout.write(`${parts.join(', ')}\n`);
  if (violations.length > 0) process.stderr.write(`Logs: ${options.folder}\n`);
}

function readFaults(names: string): NodeFaultName[] {
  return names.split(',').map((name) => {
    const found = nodeFaultNames.find((each) => each === name);
    if (found === undefined) throw new InvalidArgumentError(`Expected some of ${nodeFaultNames.join()}, got ${name}.`);
    return found;
  });
}

function readInteger(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isInteger(value) || value < min || value > max)
      throw new InvalidArgumentError(`Expected an integer between ${min} and ${max}.`);
    return value;
  };
}
