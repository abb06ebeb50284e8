import type { Pod } from '../objects/types.ts';

/** Every `RequestVerb`. */
export const requestVerbs = ['get', 'patch', 'delete'] as const;

/** The verb of a request of the sync path. */
export type RequestVerb = (typeof requestVerbs)[number];

/** Names one pod on the API server. */
export interface PodReference {
  readonly namespace: string;
  readonly name: string;
}

/** The `status` field of a strategic merge patch. */
export interface PodStatusChanges {
  readonly [field: string]: unknown;
}

/** The body of a PATCH of `pods/status`; `uid` makes the API server refuse it for a recreated pod. */
export interface StrategicMergePatchBody {
  readonly metadata: { readonly uid: string; readonly resourceVersion?: string | undefined };
  readonly status?: PodStatusChanges;
}

/** One operation of a JSON patch, RFC 6902. */
export interface JSONPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'test';
  readonly path: string;
  readonly value?: unknown;
}

/** How the API server reads the body of a status patch. */
export type PatchType = 'application/strategic-merge-patch+json' | 'application/json-patch+json';

/** A patch of a pod’s status with its content type. */
export type PodStatusPatch = (
  | { readonly type: 'application/strategic-merge-patch+json'; readonly body: StrategicMergePatchBody }
  | { readonly type: 'application/json-patch+json'; readonly body: readonly JSONPatchOperation[] }
) & {
  /** The version of the object that the patch was computed from. A client need not send it. */
  readonly resourceVersion?: string | undefined;
};

/** The precondition and grace period of a deletion. */
export interface DeletePodOptions {
  /** UID precondition: the API server refuses (409) when the object has another UID. */
  readonly uid: string;
  readonly gracePeriodSeconds: number;
}

/** Options of every request. */
export interface RequestOptions {
  /** Aborted at the request's deadline or when the manager stops. The manager creates it when it is first read. */
  readonly signal: AbortSignal;
  /**
   * A client with a bounded number of connections calls this, before the first `await`, when the
   * request has to wait for one. Until `onStarted` is called, the request's deadline does not run and
   * the manager starts no other pod, so that managers that share the client get equal shares.
   */
  readonly onQueued?: (() => void) | undefined;
  /** Called when a connection takes a request that was queued. */
  readonly onStarted?: (() => void) | undefined;
}

/**
 * The three requests of the sync path. Each rejects unless the response is 2xx, preferably with an
 * `APIError`, or with any value that `describeAPIError` understands. Pods are the API server's raw
 * JSON objects, including unknown fields. A client must not retry.
 */
export interface PodClient {
  /** GET; resolves with the pod. Rejects with an `APIError`, 404 when the pod does not exist. */
  getPod(pod: PodReference, options: RequestOptions): Promise<Pod>;
  /** PATCH of the subresource `pods/status`; resolves with the pod after the patch. */
  patchPodStatus(pod: PodReference, patch: PodStatusPatch, options: RequestOptions): Promise<Pod>;
  /** DELETE with these preconditions; resolves when the API server has accepted it. */
  deletePod(pod: PodReference, preconditions: DeletePodOptions, options: RequestOptions): Promise<void>;
  /**
   * Milliseconds since any request over the client's connections last succeeded, those of an informer or an agent that
   * share them as well; undefined when none has. Absent: only the manager's own requests are known.
   */
  readonly lastSuccessAgeMs?: number | undefined;
  /**
   * Closes idle connections. Requests in flight are not interrupted, and a later request opens a
   * connection again. A manager calls it only for a client that it created itself: close your own
   * client after `stop()`.
   */
  close?(): Promise<void>;
}

/** A client that owns its connections. */
export type ClosablePodClient = PodClient & Required<Pick<PodClient, 'close'>>;
