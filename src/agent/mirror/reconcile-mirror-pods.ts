import type { KubeObject } from '../../kube/objects/kube-object.ts';
import { describeAPIError } from '../../kube/client/api-error.ts';
import { isMirrorPodOf, isStaticPod } from '../../kube/pods/static-pods.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import type { MirrorPodClient } from './mirror-pod-client.ts';

/** Options of `tryReconcileMirrorPod`. */
export interface ReconcileMirrorPodOptions {
  readonly client: MirrorPodClient;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * Makes sure that a static pod has the right mirror pod: deletes one that is being deleted or was
 * created for another manifest, and creates one that is missing. Does nothing for other pods. Never
 * rejects: a failure is logged, and the next sync of the pod tries again.
 * Source: kubelet `tryReconcileMirrorPods`.
 */
export async function tryReconcileMirrorPod(
  staticPod: ValidPod,
  mirrorPod: ValidPod | undefined,
  { client, logger, signal }: ReconcileMirrorPodOptions,
): Promise<void> {
  if (!isStaticPod(staticPod)) return;
  if (mirrorPod !== undefined) {
    if (mirrorPod.metadata?.deletionTimestamp == null && isMirrorPodOf(mirrorPod, staticPod)) return;
    if (!(await client.deleteMirrorPod(mirrorPod, signal))) return;
    logger.info(podFieldsOf(mirrorPod), 'Deleted mirror pod because it was outdated');
  }
  let node: KubeObject<'Node'>;
  try {
    node = await client.getNode(signal);
  } catch (thrown) {
    if (signal.aborted) return;
    const fields = { ...podFieldsOf(staticPod), reason: reasonOf(thrown) };
    return logger.warn(fields, 'Not creating mirror pod: the Node is unknown');
  }
  if (node.metadata?.deletionTimestamp != null)
    return logger.info(podFieldsOf(staticPod), 'Not creating mirror pod: the Node is being deleted');
  try {
    await client.createMirrorPod(staticPod, signal);
    logger.info(podFieldsOf(staticPod), 'Created mirror pod');
  } catch (thrown) {
    if (signal.aborted) return;
    const fields = { ...podFieldsOf(staticPod), reason: describeAPIError(thrown).message };
    logger.error(fields, 'Failed to create mirror pod');
  }
}
