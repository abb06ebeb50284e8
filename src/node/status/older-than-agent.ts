/** A container that started less than this before the agent counts as started by the agent. */
const graceMs = 10_000;

/**
 * True for a container that was already running when this agent was started: its readiness on the API
 * server is kept until the first probe result. Both times are on the same clock.
 * Source: kubelet `kubeletRestartGracePeriod`.
 */
export function isOlderThanAgent(containerStartedMs: number, agentStartedMs: number): boolean {
  return containerStartedMs < agentStartedMs - graceMs;
}
