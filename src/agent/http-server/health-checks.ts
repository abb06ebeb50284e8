import { epochMsOf } from '../../shared/time.ts';
import type { NodeAgentInspection } from '../node-agent/node-agent-inspection.ts';

/** kubelet: `syncLoopHealthCheck` */
const maxIterationAgeMs = 5 * 60_000;

/** One check of `/healthz` or `/readyz`. */
export interface HealthCheck {
  readonly name: string;
  /** Why it fails; absent if it passes. */
  readonly failure?: string | undefined;
}

/** Liveness: if a check fails, the process must be restarted. Source: kubelet `syncLoopHealthCheck` */
export function healthChecks({ state, syncLoop }: NodeAgentInspection, nowMs: number): readonly HealthCheck[] {
  const { lastIterationAt } = syncLoop;
  const ageMs = lastIterationAt === undefined ? 0 : nowMs - epochMsOf(lastIterationAt);
  return [{ name: 'ping' }, { name: 'syncloop', failure: syncLoopFailure(state, ageMs) }];
}

/** Readiness: the agent knows its pods, and its Node is registered. */
export function readinessChecks({ state, syncLoop, node }: NodeAgentInspection): readonly HealthCheck[] {
  const { waitingForSources } = syncLoop;
  return [
    { name: 'running', failure: state === 'running' ? undefined : `the agent is ${state}` },
    {
      name: 'sources',
      failure: waitingForSources.length > 0 ? `no pods yet from: ${waitingForSources.join(', ')}` : undefined,
    },
    { name: 'node', failure: node?.registered === false ? 'the Node is not registered' : undefined },
  ];
}

function syncLoopFailure(state: NodeAgentInspection['state'], ageMs: number): string | undefined {
  if (state === 'stopped') return 'the agent is stopped';
  if (ageMs <= maxIterationAgeMs) return undefined;
  return `sync loop took longer than expected: its last iteration began ${Math.floor(ageMs / 1_000)} s ago`;
}

/** As kube-apiserver formats it: `ok`, or a line for each check. */
export function formatChecks(
  endpoint: string,
  checks: readonly HealthCheck[],
  isVerbose: boolean,
): { readonly status: number; readonly text: string } {
  const hasPassed = checks.every(({ failure }) => failure === undefined);
  if (hasPassed && !isVerbose) return { status: 200, text: 'ok' };
  const lines = checks.map(({ name, failure }) =>
    failure === undefined ? `[+]${name} ok` : `[-]${name} failed: ${failure}`,
  );
  lines.push(`${endpoint} check ${hasPassed ? 'passed' : 'failed'}`);
  return { status: hasPassed ? 200 : 500, text: `${lines.join('\n')}\n` };
}
