/* What users of virtual-kubelet have reported, on this library and on virtual-kubelet. */
import '../support/ignore-closed-output.ts';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Command, InvalidArgumentError } from 'commander';
import { controlPlaneAvailable, startControlPlane } from '../support/control-plane.ts';
import { exitAfterUsage } from '../support/exit-after-usage.ts';
import { KubeHTTP } from '../support/kube-http.ts';
import { Progress } from '../support/progress.ts';
import { repository } from '../support/repository.ts';
import { type Outcome, renderResult, type ScenarioResult, writeDocument } from './report.ts';
import { type Scenario, scenarios } from './scenarios.ts';
import type { Side } from './side.ts';
import { Failure, Trial, type TrialSetting } from './trial.ts';

interface Options {
  readonly scenarios: readonly Scenario[];
  readonly write: boolean;
  readonly concurrency: number;
  readonly folder?: string;
}

type SideName = Side['of'];

const modes = ['polls', 'notifies'] as const;

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  const { available, reason } = controlPlaneAvailable();
  if (!available) {
    process.stderr.write(`npm run virtual-kubelet cannot run here: ${reason}\n`);
    return 2;
  }
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'virtual-kubelet-'));
  const progress = new Progress();
  try {
    progress.begin('building virtual-kubelet');
    const commands = {
      ours: [process.execPath, fileURLToPath(new URL('nodes-process.js', import.meta.url))],
      theirs: buildVirtualKubelet(folder),
    } as const;
    const results = await runAll(options, commands, folder, progress);
    process.stdout.write(results.map(renderResult).join(''));
    if (options.write) writeDocument(results);
    return results.every(({ ours }) => ours === undefined || modes.every((mode) => ours[mode] === undefined)) ? 0 : 1;
  } finally {
    progress.end();
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  }
}

/** @throws Error if there is no Go */
function buildVirtualKubelet(folder: string): readonly [string] {
  const program = join(folder, 'virtual-kubelet');
  execFileSync('go', ['build', '-o', program, './reports'], {
    cwd: join(repository, 'bench/nodes/go'),
    stdio: 'inherit',
  });
  return [program];
}

/** In the order of the scenarios, however long each takes. */
async function runAll(
  { scenarios, concurrency }: Options,
  commands: Readonly<Record<SideName, readonly [string, ...string[]]>>,
  folder: string,
  progress: Progress,
): Promise<ScenarioResult[]> {
  const controlPlane = await startControlPlane();
  const { url, caData, adminToken: token } = controlPlane;
  const http = new KubeHTTP({ url, caData, token });
  const outcomes = new Map<string, Outcome>();
  const sidesOf = (scenario: Scenario): SideName[] => {
    if (scenario.run === undefined) return [];
    return scenario.notAsked === undefined ? ['ours', 'theirs'] : ['ours'];
  };
  const waiting = scenarios.flatMap((scenario) =>
    sidesOf(scenario).flatMap((of) => modes.map((mode) => ({ scenario, side: { of, mode, command: commands[of] } }))),
  );
  progress.begin('trials', waiting.length);
  const errors: unknown[] = [];
  const work = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined && errors.length === 0; next = waiting.shift()) {
      const { scenario, side } = next;
      try {
        outcomes.set(keyOf(scenario, side), await runTrial(scenario, side, { controlPlane, http, folder }));
      } catch (error) {
        errors.push(error);
      }
      progress.advance();
    }
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, work));
    if (errors.length > 0) throw errors[0];
  } finally {
    await http.close();
    await controlPlane.stop();
  }
  return scenarios.map((scenario) => {
    const sides = sidesOf(scenario).map((of) => [
      of,
      Object.fromEntries(modes.map((mode) => [mode, outcomes.get(keyOf(scenario, { of, mode }))])),
    ]);
    return { scenario, ...Object.fromEntries(sides) };
  });
}

function keyOf({ name }: Scenario, { of, mode }: Pick<Side, 'mode' | 'of'>): string {
  return `${name} ${of} ${mode}`;
}

async function runTrial(scenario: Scenario, side: Side, setting: TrialSetting): Promise<Outcome> {
  try {
    await using trial = await Trial.create(side, scenario.name, setting);
    await scenario.run!(trial);
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.message;
    throw new Error(`${scenario.name}, ${side.of}, ${side.mode}: ${String(error)}`, { cause: error });
  }
}

function parseOptions(args: readonly string[]): Options {
  return new Command('npm run virtual-kubelet --')
    .description(
      'Does what users of virtual-kubelet have reported, on nodes of createVirtualNodes and of virtual-kubelet, with the same cloud and a real kube-apiserver. Needs Go.',
    )
    .option('--scenarios <names>', 'only these, separated by commas', readScenarios, scenarios)
    .option('--write', 'write the results to docs/internals/virtual-kubelet-reports.md', false)
    .option('--concurrency <n>', 'trials that run at the same time', readConcurrency, 8)
    .option('--folder <folder>', 'keep the logs of all processes there')
    .addHelpText(
      'after',
      '\nExit status: 0 everything holds here, 1 something does not, 2 wrong usage, or the run failed.',
    )
    .exitOverride(exitAfterUsage)
    .parse(args, { from: 'user' })
    .opts<Options>();
}

function readScenarios(names: string): Scenario[] {
  return names.split(',').map((name) => {
    const scenario = scenarios.find((scenario) => scenario.name === name);
    if (scenario !== undefined) return scenario;
    throw new InvalidArgumentError(`There is no ${name}; there are ${scenarios.map(({ name }) => name).join(', ')}.`);
  });
}

function readConcurrency(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 100) throw new InvalidArgumentError('Expected 1 to 100.');
  return value;
}

process.exitCode = await main().catch((error: unknown) => {
  process.stderr.write(`The run failed: ${(error as Error).stack}\n`);
  return 2;
});
