/** Source: kubelet `SyncAction`. */
export type SyncAction =
  | 'StartContainer'
  | 'KillContainer'
  | 'CreatePodSandbox'
  | 'KillPodSandbox'
  | 'RemoveContainer'
  | 'ResizePodInPlace';

/** The result of one action of a sync. Source: kubelet `SyncResult`. */
export interface SyncActionResult {
  readonly action: SyncAction;
  /** The name of the container or the pod. */
  readonly target: string;
  /** Absent if it succeeded. */
  readonly failure?: SyncActionError | undefined;
}

/** A failed action of a sync. Its message is shown in the pod's status. */
export class SyncActionError extends Error {
  override readonly name = 'SyncActionError';
  /** The reason that a waiting container shows: `ErrImagePull`, `CreateContainerError`, `CrashLoopBackOff`. */
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** The failures of a sync as one error; undefined if there was none. Source: kubelet `PodSyncResult.Error`. */
export function syncError(results: readonly SyncActionResult[]): Error | undefined {
  const errors = results.flatMap(({ action, target, failure }) =>
    failure === undefined
      ? []
      : [
          new Error(
            `failed to "${action}" for "${target}" with ${failure.reason}: ${JSON.stringify(failure.message)}`,
            { cause: failure },
          ),
        ],
  );
  if (errors.length === 0) return undefined;
  return errors.length === 1 ? errors[0] : new AggregateError(errors, errors.map(({ message }) => message).join(', '));
}

/** The reasons of the `SyncActionError`s in an error, each once and in order; empty if it has none. */
export function failureReasons(error: unknown): string[] {
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error];
  const reasons = errors.flatMap((each) => {
    if (each instanceof SyncActionError) return [each.reason];
    return each instanceof Error && each.cause instanceof SyncActionError ? [each.cause.reason] : [];
  });
  return [...new Set(reasons)].sort();
}
