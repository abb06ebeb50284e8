import '../support/ignore-closed-output.ts';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { exitAfterUsage } from '../support/exit-after-usage.ts';
import escapeRegExp from 'lodash/escapeRegExp.js';
import { alignColumns } from '../../bench/report.ts';
import { programsFolder } from '../kubernetes/programs.ts';
import { missingRequirements } from '../support/node/requirements.ts';
import { endEarly, withSession } from '../support/node/session.ts';
import { compare, isConformant, type Outcome, tableOf } from './outcome.ts';
import { Progress } from './progress.ts';
import { recordedFocus, recordedSkip, updateSpecList } from './record.ts';
import { runGinkgo } from './run-ginkgo.ts';
import { describeSpecList, readSpecList, selectSpecs, type Spec, type SpecList, specListFile } from './spec-list.ts';

interface Options {
  readonly focus?: RegExp;
  readonly quick?: boolean;
  readonly json?: boolean;
  readonly list?: boolean;
  readonly processes: number;
  readonly timeout: number;
  readonly keep?: boolean;
  readonly record?: boolean;
  readonly index: number;
}

/** A run whose node is ready. */
interface Run {
  /** Of an administrator. */
  readonly kubeconfig: string;
  readonly folder: string;
  readonly options: Options;
  readonly signal: AbortSignal;
}

/** The API server has no client certificate for kubelets. */
const openKubeletAPI = { 'anonymous-auth': 'true', 'authorization-mode': 'AlwaysAllow' };

const program = new Command('npm run conformance --')
  .description(
    `Runs Kubernetes' own e2e tests against examples/containerd-agent: those that the real kubelet passes on such a machine, as listed in ${specListFile}.`,
  )
  .option('--focus <regexp>', 'only specs whose full names match', readRegExp)
  .option('--quick', 'only the specs for CI, which take about two minutes')
  .option('--json', 'print the results as JSON')
  .option('--list', 'only print which specs are not run or not passed, each with the reason')
  .option('--processes <n>', 'specs at the same time; most of a run is waiting', readPositive, 8)
  .option('--timeout <minutes>', 'of all specs together', readPositive, 60)
  .option('--keep', 'keep the folder with the logs; a run that fails always does')
  .option('--record', 'run the real kubelet instead, and write the list')
  .option('--index <n>', 'keeps several runs on one machine apart: addresses, bridges, ports, cgroups', readPositive, 1)
  .addHelpText(
    'after',
    '\nExit code: 0 passed, 1 a spec failed that the kubelet passes, 2 wrong usage, something is missing, or the run failed, 130 interrupted.',
  )
  .exitOverride(exitAfterUsage);

async function main(): Promise<number> {
  const options = program.parse().opts<Options>();
  if (options.list === true) {
    process.stdout.write(describeSpecList(await readSpecList(), { ...options, notRun: recordedSkip }));
    return 0;
  }
  const missing = missingRequirements('conformance');
  if (missing.length > 0) {
    say(`Cannot run here. Missing:\n${missing.map((one) => `- ${one}\n`).join('')}`);
    return 2;
  }
  const list = await readSpecList();
  const specs = selectSpecs(list, options);
  if (specs.length === 0 && options.record !== true) {
    say(`No spec in ${specListFile} matches\n`);
    return 2;
  }

  const folder = await mkdtemp(path.join(tmpdir(), 'conformance-'));
  let isDone = false;
  try {
    say('Starting a control plane and containerd\n');
    isDone = await withSession({ folder, index: options.index }, async (session, signal) => {
      const node = options.record === true ? session.node('kubelet') : session.node('agent', { flags: openKubeletAPI });
      say(options.record === true ? 'Starting the kubelet\n' : 'Starting the agent\n');
      await node.startAgent();
      const run: Run = { kubeconfig: node.machine.kubeConfig('admin'), folder, options, signal };
      return options.record === true ? record(run) : check(run, specs, list);
    });
  } catch (error) {
    return endEarly(error, folder);
  }
  if (isDone && options.keep !== true) await rm(folder, { recursive: true, force: true, maxRetries: 10 });
  else say(`Logs: ${folder}\n`);
  return isDone ? 0 : 1;
}

/** Runs the specs against the agent. Whether all have passed. */
async function check(run: Run, specs: readonly Spec[], { reasons }: SpecList): Promise<boolean> {
  // The name is at the end of what Ginkgo compares.
  const focus = specs.map(({ name }) => `${escapeRegExp(name)}$`);
  const results = await runSpecs(run, { focus, count: specs.length });
  const outcomes = compare(specs, results, reasons);
  if (run.options.json === true) print(outcomes);
  else {
    process.stdout.write(alignColumns(tableOf(outcomes)));
    for (const { outcome, name, message } of outcomes) {
      if (outcome !== 'passed') process.stdout.write(`${outcome}: ${name}\n    ${message}\n`);
    }
  }
  return isConformant(outcomes);
}

/** Runs the specs against the kubelet, and writes the list. */
async function record(run: Run): Promise<boolean> {
  const { focus } = run.options;
  const results = await runSpecs(run, {
    focus: focus === undefined ? recordedFocus : [focus.source],
    skip: Object.keys(recordedSkip),
    count: undefined,
  });
  await writeFile(specListFile, `${JSON.stringify(updateSpecList(await readSpecList(), results), undefined, 2)}\n`);
  say(`Written: ${specListFile}\n`);
  return true;
}

async function runSpecs(
  { kubeconfig, folder, signal, options: { processes, timeout } }: Run,
  selection: { focus: readonly string[]; skip?: readonly string[]; count: number | undefined },
): ReturnType<typeof runGinkgo> {
  const progress = new Progress();
  const startedAtMs = Date.now();
  const showAll = (end: string): void => {
    const minutes = ((Date.now() - startedAtMs) / 60_000).toFixed(1);
    const of = selection.count === undefined ? '' : ` of ${selection.count}`;
    say(`${minutes} min: ${progress.passed + progress.failed}${of} specs, ${progress.failed} failed${end}`);
  };
  const timer = setInterval(showAll, process.stderr.isTTY ? 1_000 : 30_000, process.stderr.isTTY ? ' \r' : '\n');
  try {
    return await runGinkgo({
      programs: programsFolder(),
      kubeconfig,
      focus: selection.focus,
      ...(selection.skip !== undefined && { skip: selection.skip }),
      processes,
      timeoutMinutes: timeout,
      folder,
      signal,
      onOutput: (text) => {
        for (const name of progress.read(text)) say(`failed: ${name}\n`);
      },
    });
  } finally {
    clearInterval(timer);
    showAll('\n');
  }
}

function print(outcomes: readonly Outcome[]): void {
  const count = (outcome: Outcome['outcome']): number => outcomes.filter((one) => one.outcome === outcome).length;
  const counts = {
    passed: count('passed'),
    failed: count('failed'),
    excused: count('excused'),
    missing: count('missing'),
  };
  process.stdout.write(
    `${JSON.stringify({ isConformant: isConformant(outcomes), ...counts, specs: outcomes }, undefined, 2)}\n`,
  );
}

function say(text: string): void {
  process.stderr.write(text);
}

function readRegExp(text: string): RegExp {
  try {
    return new RegExp(text);
  } catch (error) {
    throw new InvalidArgumentError((error as Error).message);
  }
}

function readPositive(text: string): number {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new InvalidArgumentError('Expected an integer of at least 1.');
  return number;
}

process.exitCode = await main();
