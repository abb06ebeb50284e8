import type { ValidPod } from '../../kube/objects/types.ts';
import type { PodEventRecorder, SyncActionResult } from '../../node/index.ts';

/**
 * Records an Event if a pull failed in this sync, and some of the pod's imagePullSecrets could not be read. A pull that is
 * in back-off has not failed. Source: kubelet `SyncPod`.
 */
export function reportMissingPullSecrets(
  pod: ValidPod,
  results: readonly SyncActionResult[],
  eventRecorder: PodEventRecorder,
): void {
  const pullErrors = results.flatMap(({ failure }) => (failure?.reason === 'ErrImagePull' ? [failure.cause] : []));
  const names = pullErrors.map(
    (error) => (error as { readonly missingPullSecrets?: readonly string[] }).missingPullSecrets,
  );
  const missing = names.find((each) => each !== undefined && each.length > 0);
  if (missing === undefined) return;
  const message = `Unable to retrieve some image pull secrets (${missing.join(', ')}); attempting to pull the image may not succeed.`;
  eventRecorder.event({ pod, type: 'Warning', reason: 'FailedToRetrieveImagePullSecret', message });
}
