/** Options of a call that does something for a pod. */
export interface InPodScope {
  readonly scope: PodScope;
}

/** Options of a call that is part of a sync of a pod. */
export interface PodCallOptions extends InPodScope {
  /** Aborted when the sync is superseded. */
  readonly signal: AbortSignal;
}

/** How a piece of work for a pod runs. */
export interface PodWorkOptions {
  /** Aborts the work, as the end of the pod does. Default: nothing else does. */
  readonly signal?: AbortSignal | undefined;
  /** The stop signal of the agent. Default: none. */
  readonly stopSignal?: AbortSignal | undefined;
  /** Default: none. */
  readonly timeoutMs?: number | undefined;
  /** Names what the work changes: work with the same name runs one after the other. Default: it runs beside all other work. */
  readonly inTurnOn?: string | undefined;
}

/** What `PodScope.run` passes to the work. */
export type PodWork<T> = (options: { readonly signal: AbortSignal }) => T | Promise<T>;

/**
 * Everything asynchronous that is done for a pod runs in its scope, and nothing begins after the scope has ended. Code that
 * does something for a pod gets the scope from the owner of the pod's state. Whoever remembers something about a pod uses a
 * WeakMap by scope, so that it is forgotten with the scope. Source: kubelet `nestedpendingoperations`, for `inTurnOn`.
 */
export interface PodScope {
  /** Aborted at the end of the pod. Whoever has waited checks the signal that `run` passed before it changes anything. */
  readonly signal: AbortSignal;
  /**
   * Runs `work` for the pod. Settles as `work` does, but rejects immediately when the scope is closed, `signal` is
   * aborted, or the time is over; the scope still waits for `work` then. Rejects without calling it if one of these
   * happens before its turn.
   *
   * @param what the work, for errors and the log: `waitForAttachAndMount of the volume manager`
   */
  run<T>(what: string, options: PodWorkOptions, work: PodWork<T>): Promise<T>;
}
