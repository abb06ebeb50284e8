/** Source: kubelet `SyncAction`. */
export type SyncAction =
  | 'StartContainer'
  | 'KillContainer'
  | 'CreatePodSandbox'
  | 'KillPodSandbox'
  | 'RemoveContainer'
  | 'ResizePodInPlace';

/** What a part of a sync did. Source: kubelet `SyncResult`. */
export interface SyncResult {
  readonly action: SyncAction;
  /** The container's name, or the pod. */
  readonly target: string;
  /** Absent: it succeeded. */
  readonly failure?: SyncFailure | undefined;
}

/** A step of a sync that failed. Its message is shown in the pod's status. */
export class SyncFailure extends Error {
  override readonly name = 'SyncFailure';
  /** In a word, as a waiting container shows it: `ErrImagePull`, `CreateContainerError`, `CrashLoopBackOff`. */
  readonly reason: string;

  constructor(reason: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** The failures of a sync as one error; undefined: there was none. Source: kubelet `PodSyncResult.Error`. */
export function syncError(results: readonly SyncResult[]): Error | undefined {
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

export function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown);
}
