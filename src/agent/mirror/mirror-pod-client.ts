import { describeAPIError } from '../../kube/client/api-error.ts';
import type { Logger } from '../../shared/logger.ts';
import type { Pod, ValidPod } from '../../kube/objects/types.ts';
import type { APIRequests } from '../../kube/client/api-requests.ts';
import type { KubeObject } from '../../kube/objects/kube-object.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';
import { configMirrorAnnotation, configHash } from '../../kube/pods/static-pods.ts';

/** Options of `MirrorPodClient`. */
export interface MirrorPodClientOptions {
  /** As the node's user. */
  readonly requests: APIRequests;
  readonly nodeName: string;
  /** Resolves with the last known Node; rejects while it is not registered. */
  readonly getNode: (signal: AbortSignal) => Promise<KubeObject<'Node'>>;
  readonly logger: Logger;
}

/** Creates and deletes mirror pods on the API server. Source: kubelet `MirrorClient`. */
export class MirrorPodClient {
  readonly #options: MirrorPodClientOptions;

  constructor(options: MirrorPodClientOptions) {
    this.#options = options;
  }

  /** The Node, which owns the mirror pods. */
  async getNode(signal: AbortSignal): Promise<KubeObject<'Node'>> {
    return this.#options.getNode(signal);
  }

  /**
   * Creates the mirror of a static pod: the same pod with the hash of the static pod and the Node as
   * its owner. Does nothing if a mirror with the same hash exists. Rejects if another pod has the name,
   * and does not modify that pod.
   */
  async createMirrorPod(pod: ValidPod, signal: AbortSignal): Promise<void> {
    const { requests, nodeName } = this.#options;
    const hash = configHash(pod);
    const { uid } = (await this.getNode(signal)).metadata ?? {};
    if (uid === undefined || uid === '') throw new Error(`UID unset for node ${nodeName}`);
    const mirrorPod: ValidPod = {
      ...pod,
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...pod.metadata,
        annotations: { ...pod.metadata.annotations, [configMirrorAnnotation]: hash },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: nodeName, uid, controller: true }],
      },
    };
    try {
      await requests.request('POST', podsPath(pod), { body: mirrorPod, signal });
    } catch (thrown) {
      if (describeAPIError(thrown).reason !== 'AlreadyExists') throw thrown;
      const existing = (await requests.request('GET', podPath(pod), { signal })).json() as Pod;
      if (existing.metadata?.annotations?.[configMirrorAnnotation] !== hash) throw thrown;
    }
  }

  /**
   * Deletes this mirror pod, and never another pod of the same name. Never rejects: resolves with
   * false if the pod is already gone, or if the request failed, which is logged.
   */
  async deleteMirrorPod(mirrorPod: ValidPod, signal: AbortSignal): Promise<boolean> {
    const { requests, logger } = this.#options;
    const preconditions = { uid: mirrorPod.metadata.uid };
    const body = { kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0, preconditions };
    try {
      await requests.request('DELETE', podPath(mirrorPod), { body, signal });
      return true;
    } catch (thrown) {
      const { statusCode, message } = describeAPIError(thrown);
      if (statusCode !== 404 && statusCode !== 409)
        logger.error({ ...podFieldsOf(mirrorPod), reason: message }, 'Failed to delete mirror pod');
      return false;
    }
  }
}

function podsPath({ metadata: { namespace } }: ValidPod): string {
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`;
}

function podPath(pod: ValidPod): string {
  return `${podsPath(pod)}/${encodeURIComponent(pod.metadata.name)}`;
}
