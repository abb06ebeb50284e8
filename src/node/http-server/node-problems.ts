import { formatText, formatTime } from '../../status-manager/explain/format.ts';
import { epochMsOf } from '../../shared/time.ts';
import type { NodeAgentState } from '../node-options.ts';
import type { NodeReporterInspection } from '../registration/node-reporter-options.ts';

/** The part of the inspection of an agent or a virtual node that is about its Node. */
export interface InspectedNode {
  readonly state: NodeAgentState;
  readonly node: NodeReporterInspection | undefined;
}

type Failure = string | undefined;

/** Why the control plane considers the Node not ready, or soon will. The Lease is due every quarter of its duration. */
export function leaseProblem({ state, node }: InspectedNode, nowMs: number): Failure {
  if (state !== 'running' || node?.leaseRenewedAt === undefined) return undefined;
  const { leaseRenewedAt, leaseDurationSeconds, leaseFailureReason } = node;
  if (nowMs - epochMsOf(leaseRenewedAt) < leaseDurationSeconds * 500) return undefined;
  const why = leaseFailureReason === undefined ? '' : ` (${formatText(leaseFailureReason)})`;
  return `the Lease is not renewed since ${formatTime(leaseRenewedAt, nowMs)}${why}; the node becomes NotReady if this lasts`;
}

/** Why the Node cannot be registered, or its status cannot be written. */
export function nodeStatusProblem({ node }: InspectedNode, nowMs: number): Failure {
  if (node?.statusFailingSince === undefined) return undefined;
  const what = node.registered ? 'the status of the Node cannot be written' : 'the Node cannot be registered';
  return `${what} since ${formatTime(node.statusFailingSince, nowMs)}: ${formatText(node.statusFailureReason ?? '')}`;
}

/** The problems that there are, one sentence each. */
export function sentences(problems: readonly Failure[]): string[] {
  return problems.flatMap((problem) =>
    problem === undefined ? [] : [`${problem[0]!.toUpperCase()}${problem.slice(1)}.`],
  );
}
