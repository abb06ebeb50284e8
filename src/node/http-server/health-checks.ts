import { epochMsOf } from '../../shared/time.ts';
import type { NodeAgentState } from '../node-options.ts';

/** kubelet: `syncLoopHealthCheck` */
const maxIterationAgeMs = 5 * 60_000;

/** One check of `/healthz` or `/readyz`. */
export interface HealthCheck {
  readonly name: string;
  /** Why it fails; absent if it passes. */
  readonly failure?: string | undefined;
}

/** What `healthChecks` reads. */
export interface CheckedInspection {
  readonly state: NodeAgentState;
  readonly syncLoop: { readonly lastIterationAt?: string | undefined; readonly nodeName?: string | undefined };
}

/** The source of `/metrics`: a `Registry` of prom-client. */
export interface MetricsSource {
  readonly contentType: string;
  /** The text of all metrics. */
  metrics(): Promise<string>;
}

/** Liveness: if a check fails, the process must be restarted. Source: kubelet `syncLoopHealthCheck` */
export function healthChecks({ state, syncLoop }: CheckedInspection, nowMs: number): readonly HealthCheck[] {
  const { lastIterationAt, nodeName } = syncLoop;
  const ageMs = lastIterationAt === undefined ? 0 : nowMs - epochMsOf(lastIterationAt);
  // Nothing waits for a log.
  return [{ name: 'ping' }, { name: 'log' }, { name: 'syncloop', failure: syncLoopFailure(state, ageMs, nodeName) }];
}

function syncLoopFailure(state: NodeAgentState, ageMs: number, nodeName: string | undefined): string | undefined {
  if (state === 'stopped') return 'the sync loop is stopped';
  if (ageMs <= maxIterationAgeMs) return undefined;
  const ofNode = nodeName === undefined ? '' : ` of ${nodeName}`;
  return `sync loop${ofNode} took longer than expected: its last iteration began ${Math.floor(ageMs / 1_000)} s ago`;
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
