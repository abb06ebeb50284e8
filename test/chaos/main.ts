import '../support/ignore-closed-output.ts';
import { Command, InvalidArgumentError, Option } from 'commander';
import { exitAfterUsage } from '../support/exit-after-usage.ts';
import { parseDuration } from '../../examples/node-agent/duration.ts';
import { controlPlaneAvailable } from '../support/control-plane.ts';
import { runKit } from './kit/kit-run.ts';
import { nodeChaos } from './node/main.ts';
import { replicasChaos } from './replicas/main.ts';
import { printResults } from './report.ts';
import { run, type RunOptions } from './run.ts';
import { serverKinds, type ServerKind } from './servers.ts';

const agentKinds = ['status-manager', 'agent-kit'] as const;
type AgentKind = (typeof agentKinds)[number];
const maxSeed = 0xffff_ffff;

interface Options {
  readonly seed: string;
  readonly for: number;
  readonly agent: AgentKind | 'both';
  readonly server?: ServerKind | 'both';
  readonly concurrency?: number;
  readonly readBeforePatch?: 'always' | 'when-stale';
  readonly patchStrategy?: 'strategic-merge' | 'json-patch';
  readonly evidence?: string;
}

const program = new Command('npm run chaos --')
  .description(
    'Runs node agents against API servers behind a faulty proxy, and checks that they keep their guarantees: one with a status manager and random pod lifecycles, then one of the agent kit with real processes.',
  )
  .option('--seed <seed>', 'decides what happens; any text', String(Math.floor(Math.random() * maxSeed)))
  .option(
    '--for <duration>',
    'for example 20s or 2m; starting up and settling take additional time',
    readDuration,
    60_000,
  )
  .addOption(
    new Option('--agent <kind>', 'which agents run, one after the other')
      .choices([...agentKinds, 'both'])
      .default('both'),
  )
  .addOption(
    new Option('--server <kind>', 'default: both if there is a kube-apiserver, otherwise memory').choices([
      ...serverKinds,
      'both',
    ]),
  )
  .option('--concurrency <n>', 'of the status-manager agents; default: at random for each', readConcurrency)
  .addOption(new Option('--read-before-patch <when>', 'default: at random').choices(['always', 'when-stale']))
  .addOption(new Option('--patch-strategy <strategy>', 'default: at random').choices(['strategic-merge', 'json-patch']))
  .option(
    '--evidence <path>',
    'after a violation, write all requests and versions of the pods to path-AGENT-SERVER.json',
  )
  .addHelpText(
    'after',
    '\nWith `node` as its first argument, it runs pods on a node with containerd: see `node --help`; with `replicas`, processes that share virtual nodes: see `replicas --help`.',
  )
  .addHelpText('after', '\nExit code: 0 no violations, 1 some violations, 2 wrong usage or a run that failed.')
  .exitOverride(exitAfterUsage);

async function main(): Promise<number> {
  const options = program.parse().opts<Options>();
  const { available, reason } = controlPlaneAvailable();
  const server = options.server ?? (available ? 'both' : 'memory');
  if (server !== 'memory' && !available) {
    process.stderr.write(`Cannot run against a kube-apiserver: ${reason}\n`);
    return 2;
  }
  const { seed, for: forMs, concurrency, readBeforePatch, patchStrategy, evidence } = options;
  const fixed: RunOptions['fixed'] = {
    ...(concurrency !== undefined && { concurrency }),
    ...(readBeforePatch !== undefined && { readBeforePatch }),
    ...(patchStrategy !== undefined && { patchStrategy }),
  };
  const agents = options.agent === 'both' ? agentKinds : [options.agent];
  const servers = server === 'both' ? serverKinds : [server];
  let violations = 0;
  let stopShowing = (): void => {};
  try {
    for (const agent of agents) {
      process.stderr.write(`chaos of ${agent}, seed ${seed}, ${forMs / 1000} s, ${servers.join(' and ')}\n`);
      stopShowing = showProgress(forMs);
      const results = await Promise.all(
        servers.map((server) => {
          const options = { server, seed, forMs, evidence: evidence && `${evidence}-${agent}-${server}.json` };
          return agent === 'agent-kit' ? runKit(options) : run({ ...options, fixed });
        }),
      );
      stopShowing();
      violations += printResults(agent, seed, forMs, results);
    }
    return violations === 0 ? 0 : 1;
  } catch (error) {
    stopShowing();
    process.stderr.write(`The run failed: ${(error as Error).stack}\n`);
    return 2;
  }
}

function showProgress(forMs: number): () => void {
  if (!process.stderr.isTTY) return () => {};
  const startedAtMs = Date.now();
  const timer = setInterval(() => {
    const seconds = Math.floor((Date.now() - startedAtMs) / 1000);
    process.stderr.write(`\r${seconds} of ${Math.ceil(forMs / 1000)} s `);
  }, 500);
  return () => {
    clearInterval(timer);
    process.stderr.write('\r\u001B[K');
  };
}

function readDuration(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs === undefined || durationMs < 2_000 || durationMs > 86_400_000) {
    throw new InvalidArgumentError('Expected a duration from 2s to 24h, such as 20s or 1m30s.');
  }
  return durationMs;
}

function readConcurrency(text: string): number {
  const concurrency = Number(text);
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 1000) {
    throw new InvalidArgumentError('Expected an integer between 1 and 1000.');
  }
  return concurrency;
}

const [command, ...rest] = process.argv.slice(2);
process.exitCode =
  command === 'node' ? await nodeChaos(rest) : command === 'replicas' ? await replicasChaos(rest) : await main();
