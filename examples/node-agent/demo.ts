import { APIError, type Clock, isMirrorPod, type Logger, type Pod, type Timer } from 'kubelet-status-manager';
import { type KubeTransport, pathSegment } from 'kubelet-status-manager/http';
import { AgentError } from './agent-error.ts';
import { parseDuration } from './duration.ts';
import type { SeenPod } from './pod-history.ts';
import { podAnnotation, podName, runAnnotation } from './pods.ts';

const deleteAfterAnnotation = 'node-agent.kubelet-status-manager.dev/delete-after';
const resizeAfterAnnotation = 'node-agent.kubelet-status-manager.dev/resize-after';
/** As JSON: the new resources of the first container. */
const resizeToAnnotation = 'node-agent.kubelet-status-manager.dev/resize-to';

/**
 * Acts as a user of the cluster: creates pods that are already bound to the agent's Node, and deletes
 * or resizes those with the annotation `delete-after` or `resize-after` when that time has passed.
 */
export class Demo {
  readonly #transport: KubeTransport;
  readonly #nodeName: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #created: Pod[] = [];
  readonly #timers: Timer[] = [];

  constructor({
    transport,
    nodeName,
    clock,
    logger,
  }: {
    transport: KubeTransport;
    nodeName: string;
    clock: Clock;
    logger: Logger;
  }) {
    this.#transport = transport;
    this.#nodeName = nodeName;
    this.#clock = clock;
    this.#logger = logger;
  }

  async createPods(manifests: readonly Pod[]): Promise<void> {
    for (const manifest of manifests) {
      const pod = await this.#createPod(manifest);
      this.#created.push(pod);
      this.#after(podAnnotation(pod, deleteAfterAnnotation), () => this.#deletePod(pod));
      this.#after(podAnnotation(pod, resizeAfterAnnotation), () => this.#resizePod(pod));
    }
  }

  /** Reads the pods of the agent's Node. */
  async listPods(): Promise<Pod[]> {
    const query = { fieldSelector: `spec.nodeName=${this.#nodeName}` };
    const { items } = (await this.#transport.request('GET', '/api/v1/pods', { query })).json() as { items: Pod[] };
    return items;
  }

  /** Deletes all pods that it created. */
  async deletePods(): Promise<void> {
    await Promise.all(this.#created.map((pod) => this.#deletePod(pod)));
  }

  /** Deletes the mirror pods, because nothing else deletes them after the agent has ended. */
  async deleteMirrorPods(pods: readonly SeenPod[]): Promise<void> {
    const mirrorPods = pods.filter(({ pod, isGone }) => !isGone && isMirrorPod(pod));
    await Promise.all(mirrorPods.map(({ pod }) => this.#deletePod(pod)));
  }

  stop(): void {
    for (const timer of this.#timers) timer.stop();
  }

  #after(duration: string | undefined, action: () => Promise<void>): void {
    const delayMs = parseDuration(duration ?? '');
    if (delayMs !== undefined) this.#timers.push(this.#clock.afterFunc(delayMs, () => void action()));
  }

  async #createPod({ metadata, spec }: Pod): Promise<Pod> {
    const namespace = metadata?.namespace ?? 'default';
    const body = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { ...metadata, namespace, annotations: { ...metadata?.annotations, [runAnnotation]: 'process' } },
      spec: { automountServiceAccountToken: false, ...spec, nodeName: this.#nodeName },
    };
    try {
      return (
        await this.#transport.request('POST', `/api/v1/namespaces/${pathSegment(namespace, 'namespace')}/pods`, {
          body,
        })
      ).json() as Pod;
    } catch (error) {
      const hint =
        error instanceof APIError && error.statusCode === 404
          ? ` (does the namespace exist? kubectl create namespace ${namespace})`
          : '';
      throw AgentError.from(error, `cannot create the pod ${namespace}/${metadata?.name}${hint}`);
    }
  }

  /** Like `kubectl patch --subresource resize`. */
  async #resizePod(pod: Pod): Promise<void> {
    const { namespace = '', name = '' } = pod.metadata ?? {};
    const [container] = pod.spec?.containers ?? [];
    try {
      const resources = JSON.parse(podAnnotation(pod, resizeToAnnotation) ?? '{}') as object;
      await this.#transport.request('PATCH', `${podPath(namespace, name)}/resize`, {
        contentType: 'application/strategic-merge-patch+json',
        body: { spec: { containers: [{ name: container?.name, resources }] } },
      });
    } catch (error) {
      this.#logger.warn({ pod: podName(pod), reason: String(error) }, 'Failed to resize the pod');
    }
  }

  async #deletePod(pod: Pod): Promise<void> {
    const { namespace = '', name = '', uid } = pod.metadata ?? {};
    try {
      await this.#transport.request('DELETE', podPath(namespace, name), {
        body: { apiVersion: 'v1', kind: 'DeleteOptions', preconditions: { uid } },
      });
    } catch (error) {
      this.#logger.debug({ pod: podName(pod), err: error }, 'Failed to delete the pod, which may already be gone');
    }
  }
}

function podPath(namespace: string, name: string): string {
  return `/api/v1/namespaces/${pathSegment(namespace, 'namespace')}/pods/${pathSegment(name, 'name')}`;
}
