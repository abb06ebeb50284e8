import { boundedCall } from '../../shared/deadline.ts';
import { APIError } from '../../kube/client/api-error.ts';
import { isUnrelatedToNode } from '../../kube/access/node-relationship.ts';
import type { PodClient } from '../../kube/client/pod-client.ts';
import type { Clock } from '../../shared/clock.ts';
import { reasonOf } from '../../shared/logger.ts';
import { Semaphore } from '../../shared/semaphore.ts';
import type { ProviderPodReference } from '../pod-provider.ts';

const requestTimeoutMs = 10_000;
/** After an outage, a cloud may show thousands of orphans; requests for other pods must not wait behind all of these reads. */
const maxReads = 4;

/**
 * Before a pod that only the cloud has is deleted there, asks the API server for it. Shared by all nodes of a process.
 *
 * Divergence: the kubelet does not ask, because a container runtime has only pods of its own node.
 */
export class OrphanedPods {
  readonly #client: Pick<PodClient, 'getPod'>;
  readonly #clock: Clock;
  readonly #reads: Semaphore;

  constructor(client: Pick<PodClient, 'getPod'>, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
    this.#reads = new Semaphore({ size: maxReads, clock });
  }

  /**
   * Resolves with true if the API server does not have the pod, and with false if it has the pod on this node, which will
   * then see it soon.
   * @throws Error if the API server has it elsewhere, or cannot say
   */
  async isOrphaned(reference: ProviderPodReference, signal: AbortSignal): Promise<boolean> {
    const { uid, namespace, name, nodeName } = reference;
    const { metadata, spec } = (await this.#read(reference, signal)) ?? {};
    if (metadata?.uid !== uid) return true;
    if (spec?.nodeName === nodeName) return false;
    const where = spec?.nodeName ? `node ${spec.nodeName}` : 'no node';
    throw new Error(
      `the provider reports pod ${namespace}/${name} (${uid}) on node ${nodeName}, the API server has it on ${where}`,
    );
  }

  /** Undefined if it does not exist. */
  async #read(reference: ProviderPodReference, signal: AbortSignal) {
    await this.#reads.acquire(signal);
    const bounds = { clock: this.#clock, timeoutMs: requestTimeoutMs, signals: [signal] };
    try {
      return await boundedCall('GET of the pod', bounds, (options) => this.#client.getPod(reference, options));
    } catch (error) {
      // A 404 of a proxy in between does not count.
      if (error instanceof APIError && error.statusCode === 404 && error.reason === 'NotFound') return undefined;
      throw isUnrelatedToNode(reasonOf(error)) ? unknownToNodeUser(reference, error) : error;
    } finally {
      this.#reads.release();
    }
  }
}

/** The Node authorizer refuses to say whether the API server has a pod that is not of the node. */
function unknownToNodeUser({ uid, namespace, name, nodeName }: ProviderPodReference, cause: unknown): Error {
  return new Error(
    `the provider reports pod ${namespace}/${name} (${uid}) on node ${nodeName}, the API server does not have it there, and does not tell the user of a node whether it has it elsewhere: delete the pod in the cloud if nobody needs it, or run as a service account`,
    { cause },
  );
}
