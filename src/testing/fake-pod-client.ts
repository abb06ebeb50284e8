import jsonPatch from 'fast-json-patch';
import { APIError } from '../kube/client/api-error.ts';
import {
  type DeletePodOptions,
  type JSONPatchOperation,
  type PodClient,
  type PodReference,
  type PodStatusPatch,
  type RequestOptions,
  type RequestVerb,
  requestVerbs,
  type StrategicMergePatchBody,
} from '../kube/client/pod-client.ts';
import { untilAborted } from '../shared/abort.ts';
import { type Clock, sleep, systemClock } from '../shared/clock.ts';
import { applyPodStatusPatch } from '../status-manager/status/strategic-merge-apply.ts';
import type { Pod } from '../kube/objects/types.ts';
import type { Fault } from '../api-server/faults/fault.ts';
import { errorOfFault } from '../api-server/faults/fault-error.ts';
import type { FaultRequest } from '../api-server/faults/fault-match.ts';
import { FaultPlan, type Faults } from '../api-server/faults/faults.ts';
import { frozenCopy } from './frozen-copy.ts';
import type { PodWatchEvent, PodEvents } from '../api-server/resources/pod-events.ts';
import { type InFlight, RequestsInFlight } from '../api-server/http/requests-in-flight.ts';

/** One of the three requests of a `PodClient`. */
export type FakeVerb = RequestVerb;

/** A status patch as it was received; `body.status` and `body.metadata` are undefined for a JSON patch. */
export type FakePatch =
  | { readonly type: 'application/strategic-merge-patch+json'; readonly body: StrategicMergePatchBody }
  | {
      readonly type: 'application/json-patch+json';
      readonly body: readonly JSONPatchOperation[] & { readonly metadata?: undefined; readonly status?: undefined };
    };

/** One request as it was received. */
export interface FakeAction {
  readonly verb: FakeVerb;
  readonly namespace: string;
  readonly name: string;
  /** Set for a PATCH. */
  readonly patch?: FakePatch;
  /** Set for a DELETE. */
  readonly preconditions?: DeletePodOptions;
}

/** The requests that a script matches; an omitted field matches all. */
export interface FakeMatch {
  readonly verb?: FakeVerb;
  readonly namespace?: string;
  readonly name?: string;
}

/** The result of a reaction; see `FakeReaction`. */
export type FakeReactionResult = void | (() => void) | { readonly response: Pod };

/**
 * Runs before a request is processed; if it throws, the request fails with that error. If it returns
 * `{ response }`, that is the response, and the request is not processed. If it returns a function,
 * the function runs after processing and before the response.
 */
export type FakeReaction = (
  action: FakeAction,
  signal: AbortSignal,
) => FakeReactionResult | Promise<FakeReactionResult>;

/** Options of a `FakePodClient`. */
export interface FakePodClientOptions {
  /** For `fault.delay`. Default: the real clock. */
  readonly clock?: Pick<Clock, 'afterFunc'>;
}

interface Script {
  readonly match: FakeMatch;
  times: number;
  readonly run: FakeReaction;
}

/**
 * A `PodClient` over a map of pods. It records every request, applies patches, and keeps a deleted pod
 * that has finalizers. Unknown names fail with 404. Another UID fails as with kube-apiserver: 422 for
 * a strategic merge patch, 409 for a DELETE. `faults` injects failures and delays. Given pods are
 * copied, returned pods are frozen. Requests are processed in order.
 * Source: client-go `fake.Clientset` and its reactors.
 *
 * @example
 * ```ts
 * import { StatusManager } from 'kubelet-status-manager';
 * import { FakePodClient, settle } from 'kubelet-status-manager/testing';
 *
 * const client = new FakePodClient([pod]);
 * const manager = new StatusManager({ client, podCouldHaveRunningContainers: () => false });
 * manager.start();
 * manager.setPodStatus(pod, { phase: 'Running' });
 * await settle(manager, client);
 * console.log(client.actions.map(({ verb }) => verb)); // ['get', 'patch']
 * ```
 */
export class FakePodClient implements PodClient, PodEvents {
  /** All requests in order, including failed ones. */
  readonly actions: FakeAction[] = [];
  /** Fault injection. The resource of each request is `pods`, the subresource of a PATCH `status`. */
  readonly faults: Faults;
  readonly #faults = new FaultPlan({ verb: requestVerbs, resource: ['pods'], subresource: ['', 'status'] });
  /** The option `clock`. A status manager with another clock logs a warning. */
  readonly clock: Pick<Clock, 'afterFunc'>;
  readonly #pods = new Map<string, Pod>();
  readonly #listeners = new Set<(event: PodWatchEvent) => void>();
  readonly #scripts: Script[] = [];
  readonly #inFlight = new RequestsInFlight();

  constructor(pods: Iterable<Pod> = [], { clock = systemClock }: FakePodClientOptions = {}) {
    this.clock = clock;
    this.faults = this.#faults;
    for (const pod of pods) this.put(pod);
  }

  /** Stores a copy of the pod, like a write of another client. */
  put(pod: Pod): void {
    const key = keyOf(pod.metadata?.namespace ?? '', pod.metadata?.name ?? '');
    const stored = frozenCopy(pod);
    const old = this.#pods.get(key);
    const isSame = old?.metadata?.uid === pod.metadata?.uid;
    if (old !== undefined && !isSame) this.#notify({ type: 'DELETED', pod: old });
    this.#pods.set(key, stored);
    this.#notify({ type: old !== undefined && isSame ? 'MODIFIED' : 'ADDED', pod: stored });
  }

  /** Removes the pod, like a DELETE of another client. */
  remove(namespace: string, name: string): void {
    const pod = this.pod(namespace, name);
    if (!this.#pods.delete(keyOf(namespace, name)) || pod === undefined) return;
    this.#notify({ type: 'DELETED', pod });
  }

  /** The stored pod, frozen. */
  pod(namespace: string, name: string): Pod | undefined {
    return this.#pods.get(keyOf(namespace, name));
  }

  /** All pods by `namespace/name`. */
  get pods(): ReadonlyMap<string, Pod> {
    return this.#pods;
  }

  /** All pods, in the order in which they were first stored. */
  list(): Pod[] {
    return [...this.#pods.values()];
  }

  /** Requests that are being served now. */
  get inFlight(): InFlight {
    return this.#inFlight.counts;
  }

  /** Calls `listener` after every change of a pod, until the returned function is called. */
  subscribe(listener: (event: PodWatchEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** The matching recorded requests. */
  actionsOf(match: FakeMatch): FakeAction[] {
    return this.actions.filter((action) => fits(match, action));
  }

  /** The next `times` matching requests fail with only this HTTP status, or with this error. */
  fail(match: FakeMatch, failure: number | Error, times = 1): void {
    this.react(
      match,
      () => {
        throw typeof failure === 'number'
          ? new APIError(`scripted ${failure}`, { kind: 'http', statusCode: failure })
          : failure;
      },
      times,
    );
  }

  /** Matching requests get no response until the returned function is called, or their signal aborts. */
  hold(match: FakeMatch, times = Number.POSITIVE_INFINITY): () => void {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.react(match, (_action, signal) => untilAborted(released, signal), times);
    return release;
  }

  /** Runs `reaction` for the next `times` matching requests. */
  react(match: FakeMatch, reaction: FakeReaction, times = 1): void {
    this.#scripts.push({ match, times, run: reaction });
  }

  async getPod(reference: PodReference, options: RequestOptions): Promise<Pod> {
    return this.#respond({ verb: 'get', ...reference }, options, () => this.#find(reference));
  }

  async patchPodStatus(reference: PodReference, patch: PodStatusPatch, options: RequestOptions): Promise<Pod> {
    return this.#respond({ verb: 'patch', ...reference, patch }, options, () => {
      const pod = this.#find(reference);
      const patched =
        patch.type === 'application/json-patch+json' ? patchedByJSON(pod, patch.body) : patchedByMerge(pod, patch.body);
      // Field managers are not tracked, so the old managedFields would be wrong after this patch.
      const { managedFields: _outdated, ...metadata } = patched.metadata ?? {};
      this.put({ ...patched, metadata });
      return this.#find(reference);
    });
  }

  async deletePod(reference: PodReference, preconditions: DeletePodOptions, options: RequestOptions): Promise<void> {
    await this.#respond({ verb: 'delete', ...reference, preconditions }, options, () => {
      const pod = this.#find(reference);
      if (pod.metadata?.uid !== preconditions.uid) {
        const message = 'the UID in the precondition is not the UID of the pod';
        throw new APIError(message, { kind: 'http', statusCode: 409, reason: 'Conflict' });
      }
      if ((pod.metadata.finalizers?.length ?? 0) === 0) this.remove(reference.namespace, reference.name);
      return pod;
    });
  }

  async #respond(action: FakeAction, { signal }: RequestOptions, process: () => Pod): Promise<Pod> {
    this.actions.push(action);
    const end = this.#inFlight.begin();
    try {
      const afterwards: (() => void)[] = [];
      let response: Pod | undefined;
      for (const script of [...this.#scripts]) {
        if (script.times <= 0 || !fits(script.match, action)) continue;
        script.times--;
        if (script.times === 0) this.#scripts.splice(this.#scripts.indexOf(script), 1);
        const result = await this.#inFlight.holding(script.run(action, signal));
        if (typeof result === 'function') afterwards.push(result);
        else if (result !== undefined) ({ response } = result);
      }
      const request = requestOf(action);
      await this.#meet(this.#faults.take(request), request, signal, process);
      signal.throwIfAborted();
      response ??= process();
      for (const after of afterwards) after();
      return response;
    } finally {
      end();
    }
  }

  /** Applies the fault: its delay, then its failure. */
  async #meet(fault: Fault | undefined, request: FaultRequest, signal: AbortSignal, process: () => Pod): Promise<void> {
    if (fault === undefined) return;
    switch (fault.kind) {
      case 'delay':
        await this.#inFlight.holding(this.#interruptible(sleep(this.clock, fault.ms, signal), request, signal));
        return this.#meet(fault.next, request, signal, process);
      case 'hang':
        if (fault.isProcessed) process();
        return this.#inFlight.holding(this.#interruptible(new Promise(() => {}), request, signal));
      case 'end':
        throw new RangeError('fault.end() is for watches only');
      case 'cut':
        if (fault.afterBytes !== undefined) process();
        throw errorOfFault(fault);
      default:
        throw errorOfFault(fault);
    }
  }

  /** Waits, at the latest until `faults.now` cuts the request. */
  async #interruptible(wait: Promise<void>, request: FaultRequest, signal: AbortSignal): Promise<void> {
    let untrack = (): void => {};
    const interrupted = new Promise<never>((_resolve, reject) => {
      const apply = (applied: Fault): void => {
        if (applied.kind !== 'cut') throw new RangeError('A FakePodClient request in flight can only be cut');
        reject(errorOfFault(applied));
      };
      untrack = this.#faults.track({ about: request, apply });
    });
    try {
      await untilAborted(Promise.race([wait, interrupted]), signal);
    } finally {
      untrack();
    }
  }

  #find({ namespace, name }: PodReference): Pod {
    const pod = this.pod(namespace, name);
    if (pod !== undefined) return pod;
    throw new APIError(`pods "${name}" not found`, { kind: 'http', statusCode: 404, reason: 'NotFound' });
  }

  #notify(event: PodWatchEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

function requestOf({ verb, namespace, name }: FakeAction): FaultRequest {
  return { verb, resource: 'pods', subresource: verb === 'patch' ? 'status' : '', namespace, name };
}

function keyOf(namespace: string, name: string): string {
  return `${namespace}/${name}`;
}

function fits({ verb, namespace, name }: FakeMatch, action: FakeAction): boolean {
  return (
    (verb === undefined || verb === action.verb) &&
    (namespace === undefined || namespace === action.namespace) &&
    (name === undefined || name === action.name)
  );
}

function patchedByMerge(pod: Pod, body: { metadata: { uid: string }; status?: object }): Pod {
  const { uid } = body.metadata;
  if (uid !== pod.metadata?.uid) {
    const message = `Invalid value: ${JSON.stringify(uid)}: field is immutable`;
    const causes = [{ reason: 'FieldValueInvalid', field: 'metadata.uid', message }];
    throw new APIError(`metadata.uid: ${message}`, { kind: 'http', statusCode: 422, reason: 'Invalid', causes });
  }
  return body.status === undefined ? pod : { ...pod, status: applyPodStatusPatch(pod.status ?? {}, body.status) };
}

/** A copy in which nothing is shared: one object in two places would change in both. */
function overTheWire<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function patchedByJSON(pod: Pod, operations: readonly JSONPatchOperation[]): Pod {
  try {
    return overTheWire(operations).reduce((patched, operation) => {
      // As on the API server, a missing value is null.
      const isTestOfAbsence = operation.op === 'test' && operation.value === null;
      if (isTestOfAbsence && jsonPatch.getValueByPointer(patched, operation.path) === undefined) return patched;
      return jsonPatch.applyOperation(patched, operation as never, true).newDocument;
    }, overTheWire(pod));
  } catch (error) {
    throw new APIError('the JSON patch does not apply', {
      kind: 'http',
      statusCode: 422,
      reason: 'Invalid',
      cause: error,
    });
  }
}
