import type { NodeContext } from '../../node/index.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import { getPodFullName, isMirrorPodOf, isStaticPod } from '../../kube/pods/static-pods.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import { withDeadline } from '../../shared/deadline.ts';
import type { MirrorPodClient } from './mirror-pod-client.ts';
import type { KubeObject } from '../../kube/objects/kube-object.ts';
import { describeAPIError } from '../../kube/client/api-error.ts';
import { type Logger, reasonOf } from '../../shared/logger.ts';

export interface MirrorPodsOptions extends Pick<NodeContext, 'clock' | 'logger'> {
  readonly client: MirrorPodClient;
}

interface Task {
  /** Replaces an earlier task that has not started. */
  next: (() => Promise<void>) | undefined;
}

/** Time limit for the two or three requests that one mirror pod needs. */
const timeoutMs = 10_000;

/**
 * Reconciles the mirror pods in the background, one request at a time for each name.
 *
 * Divergence: the kubelet waits for these requests in the pod's sync and in housekeeping, so that an
 * API server that does not respond delays the start of static pods.
 * Source: kubelet `tryReconcileMirrorPods`, `deleteOrphanedMirrorPods`.
 */
export class MirrorPods {
  readonly #options: MirrorPodsOptions;
  readonly #stop = new AbortController();
  /** Requests in progress by full name. Not in the pod's record, because they may end after the static pod's worker. */
  readonly #tasks = new Map<string, Task>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: MirrorPodsOptions) {
    this.#options = options;
  }

  /** Creates or replaces the static pod's mirror pod if necessary. */
  reconcile(staticPod: ValidPod, mirrorPod: ValidPod | undefined): void {
    const { client, logger } = this.#options;
    this.#enqueue(getPodFullName(staticPod), (signal) =>
      tryReconcileMirrorPod(staticPod, mirrorPod, { client, logger, signal }),
    );
  }

  /** Deletes mirror pods whose static pods are gone, except while those are being terminated. */
  deleteOrphans(orphans: Iterable<ValidPod>, isTerminating: (fullName: string) => boolean): void {
    const { client, logger } = this.#options;
    for (const mirrorPod of orphans) {
      const fullName = getPodFullName(mirrorPod);
      if (this.#tasks.has(fullName) || isTerminating(fullName)) continue;
      this.#enqueue(fullName, async (signal) => {
        // Its last status has not been written yet.
        if (isTerminating(fullName)) return;
        if (await client.deleteMirrorPod(mirrorPod, signal)) logger.info(podFieldsOf(mirrorPod), 'Deleted mirror pod');
      });
    }
  }

  /** Aborts requests in flight; resolves when none is left. */
  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  #enqueue(fullName: string, work: (signal: AbortSignal) => Promise<void>): void {
    if (this.#stop.signal.aborted) return;
    const { clock } = this.#options;
    const next = (): Promise<void> => withDeadline(clock, timeoutMs, this.#stop.signal, ({ signal }) => work(signal));
    const task = this.#tasks.get(fullName);
    if (task !== undefined) {
      task.next = next;
      return;
    }
    const running = this.#run(fullName, { next }).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async #run(fullName: string, task: Task): Promise<void> {
    this.#tasks.set(fullName, task);
    for (let { next } = task; next !== undefined && !this.#stop.signal.aborted; next = task.next) {
      task.next = undefined;
      await next();
    }
    this.#tasks.delete(fullName);
  }
}

/** Options of `tryReconcileMirrorPod`. */
interface ReconcileMirrorPodOptions {
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
