import { timeFromEpochMs } from '../../shared/time.ts';

/** A container that started less than this before the agent counts as started by the agent. */
const graceMs = 10_000;

/**
 * True for a container that was already running when this agent was started: its readiness on the API
 * server is kept until the first probe result. `startedAt` is a canonical time.
 * Source: kubelet `kubeletRestartGracePeriod`.
 */
export function isOlderThanAgent(startedAt: unknown, agentStartedAtMs: number | undefined): boolean {
  if (typeof startedAt !== 'string' || agentStartedAtMs === undefined) return false;
  return startedAt < timeFromEpochMs(agentStartedAtMs - graceMs);
}
