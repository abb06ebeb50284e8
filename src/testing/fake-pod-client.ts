import jsonPatch from 'fast-json-patch';
import { ApiError } from '../client/api-error.ts';
import type {
  DeletePodOptions,
  JsonPatchOperation,
  PodClient,
  PodReference,
  PodStatusPatch,
  RequestOptions,
  RequestVerb,
} from '../client/pod-client.ts';
import { applyPodStatusPatch } from '../status/strategic-merge-apply.ts';
import type { Pod } from '../types.ts';

/** Which of the three requests of a `PodClient`. */
export type FakeVerb = RequestVerb;

/** One request as it came in. */
export interface FakeAction {
  readonly verb: FakeVerb;
  readonly namespace: string;
  readonly name: string;
  /** Of a PATCH. */
  readonly patch?: PodStatusPatch;
  /** Of a DELETE. */
  readonly preconditions?: DeletePodOptions;
}

/** Which requests a script is about; a member that is left out fits all. */
export interface FakeMatch {
  readonly verb?: FakeVerb;
  readonly namespace?: string;
  readonly name?: string;
}

/**
 * Runs before a request is answered; what it throws is the answer. A function that it returns runs
 * right after the answer was read off the "server".
 */
export type FakeReaction = (action: FakeAction, signal: AbortSignal) => void | (() => void) | Promise<void>;

interface Script {
  readonly match: FakeMatch;
  times: number;
  readonly run: FakeReaction;
}

/**
 * A `PodClient` over a plain map of pods. It records every request, stores whatever a patch makes
 * of a pod, answers 404 for unknown names and 409 for another UID, and keeps a pod with finalizers
 * at DELETE. Failures and delays are scripted. Pods that go in or out are never mutated.
 * Source: client-go `fake.Clientset` and its reactors.
 */
export class FakePodClient implements PodClient {
  /** Every request, in order, those that failed included. */
  readonly actions: FakeAction[] = [];
  readonly #pods = new Map<string, Pod>();
  readonly #scripts: Script[] = [];

  constructor(pods: Iterable<Pod> = []) {
    for (const pod of pods) this.put(pod);
  }

  /** Puts the pod on the "server", as somebody else's write. */
  put(pod: Pod): void {
    this.#pods.set(keyOf(pod.metadata?.namespace ?? '', pod.metadata?.name ?? ''), pod);
  }

  /** Takes the pod off the "server". */
  remove(namespace: string, name: string): void {
    this.#pods.delete(keyOf(namespace, name));
  }

  /** The pod as the "server" has it. */
  pod(namespace: string, name: string): Pod | undefined {
    return this.#pods.get(keyOf(namespace, name));
  }

  /** All pods by `namespace/name`. */
  get pods(): ReadonlyMap<string, Pod> {
    return this.#pods;
  }

  /** Recorded requests that fit. */
  actionsOf(match: FakeMatch): FakeAction[] {
    return this.actions.filter((action) => fits(match, action));
  }

  /** The next `times` requests that fit fail with this HTTP status, or with this value. */
  fail(match: FakeMatch, failure: number | Error, times = 1): void {
    this.react(
      match,
      () => {
        throw typeof failure === 'number'
          ? new ApiError(`scripted ${failure}`, { kind: 'http', statusCode: failure })
          : failure;
      },
      times,
    );
  }

  /** Requests that fit get no answer until the returned function is called, or their signal aborts. */
  hold(match: FakeMatch, times = Number.POSITIVE_INFINITY): () => void {
    let release = (): void => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.react(
      match,
      (_action, signal) =>
        new Promise((resolve, reject) => {
          void released.then(resolve);
          const onAbort = (): void => reject(signal.reason as Error);
          if (signal.aborted) onAbort();
          signal.addEventListener('abort', onAbort, { once: true });
        }),
      times,
    );
    return release;
  }

  /** Runs `reaction` for the next `times` requests that fit. */
  react(match: FakeMatch, reaction: FakeReaction, times = 1): void {
    this.#scripts.push({ match, times, run: reaction });
  }

  async getPod(reference: PodReference, options: RequestOptions): Promise<Pod> {
    return this.#answer({ verb: 'get', ...reference }, options, () => this.#find(reference));
  }

  async patchPodStatus(reference: PodReference, patch: PodStatusPatch, options: RequestOptions): Promise<Pod> {
    return this.#answer({ verb: 'patch', ...reference, patch }, options, () => {
      const pod = this.#find(reference);
      const patched =
        patch.type === 'application/json-patch+json' ? patchedByJson(pod, patch.body) : patchedByMerge(pod, patch.body);
      this.put(patched);
      return patched;
    });
  }

  async deletePod(reference: PodReference, preconditions: DeletePodOptions, options: RequestOptions): Promise<void> {
    return this.#answer({ verb: 'delete', ...reference, preconditions }, options, () => {
      const pod = this.#find(reference);
      if (pod.metadata?.uid !== preconditions.uid)
        throw conflict('the UID in the precondition is not the UID of the pod');
      if ((pod.metadata.finalizers?.length ?? 0) === 0) this.remove(reference.namespace, reference.name);
    });
  }

  async #answer<T>(action: FakeAction, { signal }: RequestOptions, read: () => T): Promise<T> {
    this.actions.push(action);
    const afterwards: (() => void)[] = [];
    for (const script of [...this.#scripts]) {
      if (script.times <= 0 || !fits(script.match, action)) continue;
      script.times--;
      if (script.times === 0) this.#scripts.splice(this.#scripts.indexOf(script), 1);
      const after = await script.run(action, signal);
      if (after !== undefined) afterwards.push(after);
    }
    signal.throwIfAborted();
    const answer = read();
    for (const after of afterwards) after();
    return answer;
  }

  #find({ namespace, name }: PodReference): Pod {
    const pod = this.pod(namespace, name);
    if (pod !== undefined) return pod;
    throw new ApiError(`pods "${name}" not found`, { kind: 'http', statusCode: 404, reason: 'NotFound' });
  }
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

function conflict(message: string): ApiError {
  return new ApiError(message, { kind: 'http', statusCode: 409, reason: 'Conflict' });
}

function patchedByMerge(pod: Pod, body: { metadata: { uid: string }; status?: object }): Pod {
  if (body.metadata.uid !== pod.metadata?.uid) throw conflict('the UID in the patch is not the UID of the pod');
  return body.status === undefined ? pod : { ...pod, status: applyPodStatusPatch(pod.status ?? {}, body.status) };
}

/** A copy in which nothing is shared: one object in two places would change in both. */
function overTheWire<T>(value: T): T {
  return JSON.parse(JSON.stringify(value)) as T;
}

function patchedByJson(pod: Pod, operations: readonly JsonPatchOperation[]): Pod {
  try {
    return overTheWire(operations).reduce((patched, operation) => {
      // As the API server reads it: what is not there is null.
      const isTestOfAbsence = operation.op === 'test' && operation.value === null;
      if (isTestOfAbsence && jsonPatch.getValueByPointer(patched, operation.path) === undefined) return patched;
      return jsonPatch.applyOperation(patched, operation as never, true).newDocument;
    }, overTheWire(pod));
  } catch (error) {
    throw new ApiError('the JSON patch does not apply', {
      kind: 'http',
      statusCode: 422,
      reason: 'Invalid',
      cause: error,
    });
  }
}
