import { performance } from 'node:perf_hooks';
import { setImmediate as timersSetImmediate } from 'node:timers';
import type { ManagerInspection } from '../status-manager/inspection.ts';
import type { FakeClock } from './fake-clock.ts';
import type { InFlight } from '../api-server/http/requests-in-flight.ts';

// Saved when this module is loaded, because fake timers may replace both later.
const realSetImmediate = timersSetImmediate;
const realNow = performance.now.bind(performance);

const quietTurns = 20;
/** Bytes that have been sent may take this long to arrive under load, although they stay on this machine. */
const quietMs = { ofHTTP: 5, ofMissingResponse: 1_000 };

/** An `APIServer` or a `FakePodClient`. */
export interface SettledServer {
  readonly inFlight: InFlight;
  /** Bytes received and sent so far; absent without HTTP. */
  readonly bytesTransferred?: number;
}

/** A `StatusManager`, a node agent, or virtual nodes. */
export interface SettledManager {
  inspect(): ManagerInspection | ManagedInspection | { readonly nodes: readonly ManagedInspection[] };
}

interface ManagedInspection {
  readonly statusManager: ManagerInspection;
}

/** What `settle` can wait for. */
export type SettlePart = Pick<FakeClock, 'dueTimers' | 'advance'> | SettledServer | SettledManager;

/**
 * Resolves when everything that is due now is done: due timers of a `FakeClock` have fired, requests
 * have their responses, watches have sent their events, and managers have nothing left to send. Does
 * not advance the clock. Does not wait for requests that a fault holds back, for timers that are not
 * due, or for timers of the real clock.
 *
 * Pass the clock, the managers, agents or virtual nodes, and their `APIServer` or `FakePodClient`. For a manager with another
 * server, `settle` waits until it has no request in flight.
 * @throws Error after 10 s of real time; the message says what is not done
 *
 * @example
 * ```ts
 * import { StatusManager } from 'kubelet-status-manager';
 * import { FakeClock, FakePodClient, settle } from 'kubelet-status-manager/testing';
 *
 * const clock = new FakeClock();
 * const client = new FakePodClient([pod], { clock });
 * const manager = new StatusManager({ client, podCouldHaveRunningContainers: () => false, clock });
 * manager.start();
 * manager.setPodStatus(pod, { phase: 'Running' });
 * await settle(clock, manager, client); // the status is written
 * ```
 */
export function settle(...parts: readonly SettlePart[]): Promise<void> {
  return settleWithin(10_000, parts);
}

/** @param deadlineMs in real time */
export async function settleWithin(deadlineMs: number, parts: readonly SettlePart[]): Promise<void> {
  const startedMs = realNow();
  let last = '';
  let turns = 0;
  let quietSinceMs = startedMs;
  for (;;) {
    for (const part of parts) if ('dueTimers' in part && part.dueTimers > 0) part.advance(0);
    await new Promise((resolve) => realSetImmediate(resolve));
    const now = observe(parts);
    const isQuiet = now.reasons.length === 0 && now.signature === last;
    last = now.signature;
    turns = isQuiet ? turns + 1 : 0;
    if (!isQuiet) quietSinceMs = realNow();
    if (turns >= quietTurns && realNow() - quietSinceMs >= now.quietMs) return;
    if (realNow() - startedMs > deadlineMs) {
      const reasons = now.reasons.length > 0 ? now.reasons.join('; ') : 'something happens all the time';
      throw new Error(`Not settled after ${deadlineMs / 1000} s: ${reasons}`);
    }
  }
}

function managersOf(inspection: ReturnType<SettledManager['inspect']>): readonly ManagerInspection[] {
  if ('nodes' in inspection) return inspection.nodes.map(({ statusManager }) => statusManager);
  return ['statusManager' in inspection ? inspection.statusManager : inspection];
}

interface Observation {
  /** What is not done yet. */
  readonly reasons: readonly string[];
  /** Changes when something happens. */
  readonly signature: string;
  readonly quietMs: number;
}

function observe(parts: readonly SettlePart[]): Observation {
  const servers = parts.filter((part) => 'inFlight' in part);
  const managers = parts.filter((part) => 'inspect' in part).flatMap((part) => managersOf(part.inspect()));
  const reasons: string[] = [];
  const signature: unknown[] = [];
  let held = 0;
  for (const part of parts) {
    if ('dueTimers' in part) signature.push(part.dueTimers);
  }
  for (const { inFlight, bytesTransferred } of servers) {
    const open = inFlight.requests - inFlight.held;
    if (open > 0) reasons.push(`${open} ${open === 1 ? 'request has' : 'requests have'} no response`);
    held += inFlight.held;
    signature.push(inFlight.requests, inFlight.held, bytesTransferred);
  }
  let inFlight = 0;
  for (const { state, isWakeUpWaiting, pods } of managers) {
    const sending = pods
      .filter((pod) => pod.isInFlight)
      .map(({ podNamespace, podName }) => `${podNamespace}/${podName}`);
    inFlight += sending.length;
    if (state === 'running' && isWakeUpWaiting) reasons.push('a manager has not processed a new status yet');
    if (servers.length === 0 && sending.length > 0) reasons.push(`a manager has requests for ${sending.join(', ')}`);
    signature.push(state, isWakeUpWaiting, sending.join());
  }
  const isHTTP = servers.some(({ bytesTransferred }) => bytesTransferred !== undefined);
  const isResponseMissing = isHTTP && inFlight > held;
  return {
    reasons,
    signature: JSON.stringify(signature),
    quietMs: isResponseMissing ? quietMs.ofMissingResponse : isHTTP ? quietMs.ofHTTP : 0,
  };
}
