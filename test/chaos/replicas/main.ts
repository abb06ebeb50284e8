import { Command, InvalidArgumentError, Option } from 'commander';
import { controlPlaneAvailable } from '../../support/control-plane.ts';
import { exitAfterUsage } from '../../support/exit-after-usage.ts';
import { Progress } from '../../support/progress.ts';
import { serverKinds, type ServerKind } from '../servers.ts';
import { type ReplicasRunResult, runReplicas } from './replicas-run.ts';

interface Options {
  readonly seed: string;
  readonly nodes?: number;
  readonly server: ServerKind;
  readonly quick: boolean;
  readonly json: boolean;
  readonly evidence?: string;
}

const maxSeed = 0xffff_ffff;

/** `npm run chaos -- replicas`. Resolves with the exit code. */
export async function replicasChaos(args: readonly string[]): Promise<number> {
  const options = parseOptions(args);
  const { seed, server, quick, evidence } = options;
  const { nodes = quick ? 12 : 60 } = options;
  const { available, reason } = controlPlaneAvailable();
  if (server !== 'memory' && !available) {
    process.stderr.write(`Cannot run against a kube-apiserver: ${reason}\n`);
    return 2;
  }
  const progress = new Progress();
  process.stderr.write(`chaos of replicas, seed ${seed}, ${nodes} nodes, ${server}\n`);
  try {
    const result = await runReplicas({
      ...{ server, seed, nodes, evidence },
      leaseDurationSeconds: quick ? 5 : 15,
      pauseMs: quick ? 10_000 : 60_000,
      outageMs: quick ? 5_000 : 30_000,
      onPhase: (phase) => progress.begin(phase),
    });
    progress.end();
    print(options, nodes, result);
    return result.violations.length === 0 ? 0 : 1;
  } catch (error) {
    progress.end();
    process.stderr.write(`The run failed: ${(error as Error).stack}\n`);
    return 2;
  }
}

function parseOptions(args: readonly string[]): Options {
  return new Command('npm run chaos -- replicas')
    .description(
      'Three processes share virtual nodes with pods. One is killed, one is stopped with SIGSTOP and continued, one is drained, each while the API server is gone for a time. What each sends to the API server and the cloud is recorded.',
    )
    .option('--seed <seed>', 'decides what happens when; any text', String(Math.floor(Math.random() * maxSeed)))
    .option('--nodes <n>', 'number of virtual nodes; default: 60, with --quick 12', readNodes)
    .addOption(new Option('--server <kind>', 'the API server').choices(serverKinds).default('memory'))
    .option('--quick', 'short faults, Leases of 5 s, and few nodes: within two minutes', false)
    .option('--json', 'prints the result for programs', false)
    .option('--evidence <path>', 'after a violation, write all calls and warnings there')
    .addHelpText('after', '\nExit code: 0 no violations, 1 some violations, 2 wrong usage or a run that failed.')
    .exitOverride(exitAfterUsage)
    .parse(args, { from: 'user' })
    .opts<Options>();
}

function print({ seed, json }: Options, nodes: number, result: ReplicasRunResult): void {
  const { server, pods, calls, refused, writes, ownerChanges, longestGapsMs, violations } = result;
  for (const { invariant, details } of violations.slice(0, 20))
    process.stderr.write(`violation: ${invariant}: ${details}\n`);
  if (json) return void process.stdout.write(`${JSON.stringify({ seed, nodes, ...result })}\n`);
  const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;
  const gaps = Object.entries(longestGapsMs).map(([phase, ms]) => `${phase} ${seconds(ms)}`);
  const parts = [
    `replicas, seed ${seed}, ${server}, ${nodes} nodes`,
    `${pods} pods, ${writes} writes to the API server`,
    `${calls} calls of the cloud, ${refused} of them refused for an old epoch`,
    `${ownerChanges} times a node was taken`,
    `longest time without an owner: ${gaps.join(', ')}`,
    `longest time without a renewal of a Node Lease: ${seconds(result.longestLeaseAgeMs)}`,
    `settled after ${seconds(result.settledAfterMs)}`,
    `${violations.length} violations`,
  ];
  process.stdout.write(`${parts.join('; ')}\n`);
}

function readNodes(text: string): number {
  const nodes = Number(text);
  if (!Number.isInteger(nodes) || nodes < 1 || nodes > 1000)
    throw new InvalidArgumentError('Expected an integer between 1 and 1000.');
  return nodes;
}
