import type { PodStatus } from '../../src/status-manager/index.ts';
import type { Json } from '../support/kube-http.ts';
import type { Call } from './faulty-proxy.ts';
import type { HistoryEvent } from './history.ts';
import { type AgentOptions, readMessage } from './protocol.ts';
import { foreignConditionType } from './users.ts';

/** A guarantee of the manager that was violated. */
export interface Violation {
  readonly invariant: string;
  readonly details: string;
}

/** By the number of the agent process. */
export type Limits = ReadonlyMap<number, Pick<AgentOptions, 'concurrency' | 'qps' | 'burst'>>;

// The limits are generous, because a busy machine must not look like a violation.
/** The proxy notices that an agent has aborted a request some time after the agent sends the next one. */
const abortSlackMs = 1_000;
/** How much closer together requests may arrive at the proxy than they were sent. */
const bunchingSlackMs = 1_000;
/** A request may have been sent before the response arrived. */
const crossingSlackMs = 800;
/** A creation timestamp has whole seconds, and an agent sees a new pod some time after its creation. */
const creationSlackMs = 2_000;
/** Enough for a few dozen pods, an informer and a restart. A connection storm has thousands. */
const maxConnectionsPerSecond = 250;
const terminalPhases: ReadonlySet<unknown> = new Set(['Succeeded', 'Failed']);

/** The versions in a pod's status never decrease, and belong to that pod. */
export function checkVersions(history: readonly HistoryEvent[]): Violation[] {
  const violations: Violation[] = [];
  const versions = new Map<string, number>();
  for (const { pod, resourceVersion } of history) {
    const { uid, name } = pod.metadata as { uid: string; name: string };
    const message = readMessage(pod.status?.message);
    const last = versions.get(uid) ?? 0;
    const version = message?.version ?? 0;
    if (message !== undefined && message.uid !== uid) {
      violations.push({
        invariant: 'no write to another UID',
        details: `${name} ${uid} @${resourceVersion}: ${pod.status.message}`,
      });
    } else if (version < last) {
      violations.push({
        invariant: 'versions never decrease',
        details: `${name} ${uid} @${resourceVersion}: ${last} → ${version}`,
      });
    }
    versions.set(uid, version);
  }
  return violations;
}

export function checkTerminalIsFinal(history: readonly HistoryEvent[]): Violation[] {
  const violations: Violation[] = [];
  const phases = new Map<string, unknown>();
  for (const { pod, resourceVersion } of history) {
    const { uid, name } = pod.metadata as { uid: string; name: string };
    const last = phases.get(uid);
    const phase: unknown = pod.status?.phase;
    if (terminalPhases.has(last) && phase !== last) {
      violations.push({
        invariant: 'terminal is final',
        details: `${name} ${uid} @${resourceVersion}: ${String(last)} → ${String(phase)}`,
      });
    }
    phases.set(uid, phase);
  }
  return violations;
}

/** Foreign conditions stay as their writers last wrote them. */
export function checkForeignConditions(history: readonly HistoryEvent[]): Violation[] {
  const violations: Violation[] = [];
  const versions = new Map<string, number>();
  for (const { pod, resourceVersion } of history) {
    const { uid, name } = pod.metadata as { uid: string; name: string };
    const conditions: Json[] = pod.status?.conditions ?? [];
    const message: unknown = conditions.find(({ type }) => type === foreignConditionType)?.message;
    const version = typeof message === 'string' ? Number(message.slice(1)) : 0;
    const last = versions.get(uid) ?? 0;
    if (version < last) {
      violations.push({
        invariant: 'foreign conditions stay',
        details: `${name} ${uid} @${resourceVersion}: f${last} → ${String(message)}`,
      });
    }
    versions.set(uid, version);
  }
  return violations;
}

/**
 * A DELETE of an agent has a grace period of 0 and a UID as precondition. It is sent after the
 * containers have terminated and the terminal phase is on the API server, and is not repeated by an
 * agent that got a success response and has written nothing since.
 * @param ended when the pod's containers had terminated, by UID
 */
export function checkDeletes(calls: readonly Call[], ended: ReadonlyMap<string, number>): Violation[] {
  const violations: Violation[] = [];
  const successful = new Set<string>();
  for (const { kind, pod, uid, deletion, arrivedAtMs, incarnation, endedBy, status, fault } of calls) {
    const key = `${incarnation} ${uid}`;
    if (kind === 'patch') successful.delete(key);
    if (kind !== 'delete' || deletion === undefined) continue;
    const { gracePeriodSeconds, deleted } = deletion;
    const addViolation = (details: string): void => {
      violations.push({ invariant: 'one DELETE, not too early', details: `${pod} ${uid ?? ''}: ${details}` });
    };
    if (uid === undefined || gracePeriodSeconds !== 0) addViolation('without UID or with a grace period');
    if (deleted === undefined || uid === undefined) continue;
    const endedAtMs = ended.get(uid);
    if (endedAtMs === undefined || endedAtMs > arrivedAtMs) addViolation('before its containers had terminated');
    if (!terminalPhases.has(deleted.phase)) addViolation(`in phase ${String(deleted.phase)}`);
    if (deleted.deletionTimestamp == null) addViolation('the deletion was not requested');
    if (successful.has(key)) addViolation('twice');
    if (endedBy === 'response' && status === 200 && fault !== 'html-response') successful.add(key);
  }
  return violations;
}

/** Never more requests at the same time than `concurrency`, and never two writes for one pod. */
export function checkConcurrency(calls: readonly Call[], limits: Limits): Violation[] {
  const violations: Violation[] = [];
  for (const [incarnation, { concurrency }] of limits) {
    const own = podCalls(calls, incarnation);
    const addViolation = (invariant: string, calls: readonly Call[]): void => {
      const details = `agent ${incarnation}, of ${concurrency}: ${calls.map(describe).join('; ')}`;
      violations.push({ invariant, details });
    };
    const together = mostConcurrent(own);
    if (together.length > concurrency) addViolation('concurrency', together);
    for (const writes of groupByUID(own).values()) {
      const writesTogether = mostConcurrent(writes);
      if (writesTogether.length > 1) addViolation('one write per pod', writesTogether);
    }
  }
  return violations;
}

/** No window of time has more requests than the token bucket allows. */
export function checkRate(calls: readonly Call[], limits: Limits): Violation[] {
  for (const [incarnation, { qps, burst }] of limits) {
    if (qps === undefined) continue;
    const arrivals = podCalls(calls, incarnation).map(({ arrivedAtMs }) => arrivedAtMs);
    for (let first = 0; first < arrivals.length; first++) {
      for (let last = first; last < arrivals.length; last++) {
        const windowMs = arrivals[last]! - arrivals[first]!;
        const allowed = (burst ?? Math.ceil(qps)) + 1 + (qps * (windowMs + bunchingSlackMs)) / 1000;
        const count = last - first + 1;
        if (count > allowed) {
          return [
            {
              invariant: 'rate',
              details: `agent ${incarnation}: ${count} requests in ${windowMs} ms, but only ${Math.floor(allowed)} are allowed`,
            },
          ];
        }
      }
    }
  }
  return [];
}

/**
 * While a `Retry-After` of the API server applies to a pod, no request for that pod arrives. A GET does not say which pod
 * it is for: those around the creation of another pod with the same name are not compared.
 */
export function checkPauses(calls: readonly Call[], history: readonly HistoryEvent[]): Violation[] {
  const violations: Violation[] = [];
  for (const { kind, incarnation, retryAfterMs, endedAtMs, endedBy, pod, status } of calls) {
    if (retryAfterMs === undefined || endedAtMs === undefined || endedBy !== 'response' || !isPodKind(kind)) continue;
    const early = calls.find(
      (call) =>
        call.incarnation === incarnation &&
        call.pod === pod &&
        isPodKind(call.kind) &&
        call.arrivedAtMs > endedAtMs + crossingSlackMs &&
        call.arrivedAtMs < endedAtMs + retryAfterMs - crossingSlackMs,
    );
    if (early === undefined || isWrittenAsAnother(calls, pod, endedAtMs)) continue;
    if (isRecreated(history, pod, endedAtMs - creationSlackMs, early.arrivedAtMs)) continue;
    const details = `agent ${incarnation}: ${early.kind} of ${early.pod} ${early.arrivedAtMs - endedAtMs} ms after the ${status} of a ${kind}`;
    violations.push({ invariant: 'Retry-After is respected', details });
  }
  return violations;
}

/** The writes around this time are for pods with different UIDs. */
function isWrittenAsAnother(calls: readonly Call[], pod: string, atMs: number): boolean {
  const writes = calls.filter((call) => call.pod === pod && call.uid !== undefined);
  const before = writes.findLast(({ arrivedAtMs }) => arrivedAtMs <= atMs);
  const after = writes.find(({ arrivedAtMs }) => arrivedAtMs > atMs);
  return before !== undefined && after !== undefined && before.uid !== after.uid;
}

/** In this time, another pod was created under the name of one that had existed. */
function isRecreated(history: readonly HistoryEvent[], pod: string, fromMs: number, toMs: number): boolean {
  const created = history.filter(
    ({ type, pod: { metadata } }) => type === 'ADDED' && `${metadata.namespace}/${metadata.name}` === pod,
  );
  return created.slice(1).some(({ pod: { metadata } }) => {
    const atMs = Date.parse(metadata.creationTimestamp);
    return atMs >= fromMs && atMs <= toMs;
  });
}

/** A proxy is not flooded with connections, however it behaves. @param arrivalsMs when connections arrived, in order */
export function checkTunnel(arrivalsMs: readonly number[]): Violation[] {
  let first = 0;
  let most = 0;
  for (let last = 0; last < arrivalsMs.length; last++) {
    while (arrivalsMs[last]! - arrivalsMs[first]! >= 1_000) first++;
    most = Math.max(most, last - first + 1);
  }
  if (most <= maxConnectionsPerSecond) return [];
  return [{ invariant: 'no connection storm', details: `${most} connections in a second` }];
}

/** A run of at least this length must include every kind of fault. */
const longEnoughMs = 20_000;

/** A run with too few faults proves nothing. @param expected prefixes of the names of the faults */
export function checkFaults(
  faults: Readonly<Record<string, number>>,
  expected: readonly string[],
  forMs: number,
): Violation[] {
  if (forMs < longEnoughMs) return [];
  const invariant = 'enough faults';
  const missing = expected.filter((kind) => !Object.keys(faults).some((fault) => fault.startsWith(kind)));
  const total = Object.values(faults).reduce((sum, count) => sum + count, 0);
  return [
    ...missing.map((kind) => ({ invariant, details: `none of kind ${kind}` })),
    ...(total < forMs / 1_000 ? [{ invariant, details: `${total} in ${forMs / 1_000} s` }] : []),
  ];
}

/** The first difference between the cached status and the one on the API server; undefined if there is none. */
export function differenceTo(cached: PodStatus, shown: Json): string | undefined {
  const ready = ({ conditions }: Json): unknown =>
    (conditions as Json[] | undefined)
      ?.filter(({ type }) => type === 'Ready' || type === 'ContainersReady')
      .map(({ type, status, reason }) => [type, status, reason])
      .sort() ?? [];
  const containers = ({ containerStatuses }: Json): unknown =>
    (containerStatuses as Json[] | undefined)?.map(({ name, ready, started, restartCount, state }) => [
      name,
      ready,
      started ?? false,
      restartCount,
      Object.keys(state)[0],
      state.terminated?.exitCode,
    ]);
  const views: Readonly<Record<string, (status: Json) => unknown>> = {
    phase: ({ phase }: Json) => phase,
    reason: ({ reason }: Json) => reason ?? '',
    message: ({ message }: Json) => message ?? '',
    conditions: ready,
    containers,
  };
  for (const [name, view] of Object.entries(views)) {
    const [ours, theirs] = [JSON.stringify(view(cached)), JSON.stringify(view(shown))];
    if (ours !== theirs) return `${name}: ${ours} is cached, ${theirs} is on the API server`;
  }
  return undefined;
}

function podCalls(calls: readonly Call[], incarnation: number): Call[] {
  return calls.filter((call) => call.incarnation === incarnation && isPodKind(call.kind));
}

function isPodKind(kind: Call['kind']): boolean {
  return kind === 'get' || kind === 'patch' || kind === 'delete';
}

/** Excludes reads, which have no UID and so may be for either of two pods with the same name. */
function groupByUID(calls: readonly Call[]): Map<string, Call[]> {
  const groups = new Map<string, Call[]>();
  for (const call of calls) if (call.uid !== undefined) groups.set(call.uid, [...(groups.get(call.uid) ?? []), call]);
  return groups;
}

/** The largest set of requests that were in flight at the same time. */
function mostConcurrent(calls: readonly Call[]): readonly Call[] {
  const edges = calls.flatMap((call) => {
    const { arrivedAtMs, endedAtMs, endedBy, proxyLagMs } = call;
    const slackMs = endedBy === 'agent' ? abortSlackMs + proxyLagMs : 0;
    const endMs = (endedAtMs ?? Number.POSITIVE_INFINITY) - slackMs;
    if (endMs <= arrivedAtMs) return [];
    return [
      { atMs: arrivedAtMs, call, isEnd: false },
      { atMs: endMs, call, isEnd: true },
    ];
  });
  // If one request ends and another starts in the same millisecond, the end counts as first.
  edges.sort((a, b) => a.atMs - b.atMs || Number(b.isEnd) - Number(a.isEnd));
  const now = new Set<Call>();
  let most: readonly Call[] = [];
  for (const { call, isEnd } of edges) {
    if (isEnd) now.delete(call);
    else now.add(call);
    if (now.size > most.length) most = [...now];
  }
  return most;
}

function describe({ kind, pod, fault, arrivedAtMs, endedAtMs, endedBy, proxyLagMs }: Call): string {
  const took = endedAtMs === undefined ? 'for ever' : `${endedAtMs - arrivedAtMs} ms`;
  return `${kind} ${pod} at ${arrivedAtMs % 1_000_000} (${took}, ${fault ?? 'no fault'}, ended by ${endedBy ?? 'nothing'}, proxy late by ${proxyLagMs} ms)`;
}
