import { timeFromEpochMs } from '../../index.ts';

/** A container that started this shortly before the agent counts as started by it. */
const graceMs = 10_000;

/**
 * True for a container that ran already when this agent was started: its readiness stays as the API
 * server shows it until the first probe result. `startedAt` is a canonical time.
 * Source: kubelet `kubeletRestartGracePeriod`.
 */
export function isOlderThanAgent(startedAt: unknown, agentStartedAtMs: number | undefined): boolean {
  if (typeof startedAt !== 'string' || agentStartedAtMs === undefined) return false;
  return startedAt < timeFromEpochMs(agentStartedAtMs - graceMs);
}
