import type { Clock, Logger, Pod } from 'kubelet-status-manager';
import { type KubeTransport, pathSegment } from 'kubelet-status-manager/http';
import { runAnnotation } from './agent.ts';
import { podName, podUID } from './pods.ts';

const message = `The node agent of this node runs only pods with the annotation ${runAnnotation}: process`;

/**
 * Reports pods that the agent does not run, with one warning in the log and one Event for each pod.
 * Otherwise such a pod would stay Pending without any explanation.
 */
export class UnclaimedPods {
  readonly #transport: KubeTransport;
  readonly #nodeName: string;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #reported = new Set<string>();

  constructor(options: { transport: KubeTransport; nodeName: string; clock: Clock; logger: Logger }) {
    this.#transport = options.transport;
    this.#nodeName = options.nodeName;
    this.#clock = options.clock;
    this.#logger = options.logger;
  }

  handlePod(pod: Pod): void {
    if (this.#reported.has(podUID(pod))) return;
    this.#reported.add(podUID(pod));
    this.#logger.warn({ pod: podName(pod), podUID: podUID(pod) }, message);
    void this.#createEvent(pod);
  }

  handleRemovedPod(pod: Pod): void {
    this.#reported.delete(podUID(pod));
  }

  async #createEvent({ metadata: { namespace = '', name = '', uid = '' } = {} }: Pod): Promise<void> {
    const time = new Date(this.#clock.now()).toISOString().replace(/\.\d+Z/, 'Z');
    const body = {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { generateName: `${name.slice(0, 200)}.`, namespace },
      involvedObject: { apiVersion: 'v1', kind: 'Pod', namespace, name, uid },
      type: 'Warning',
      reason: 'NotRun',
      message,
      source: { component: 'node-agent', host: this.#nodeName },
      firstTimestamp: time,
      lastTimestamp: time,
      count: 1,
    };
    try {
      await this.#transport.request('POST', `/api/v1/namespaces/${pathSegment(namespace, 'namespace')}/events`, {
        body,
      });
    } catch (error) {
      this.#logger.warn({ pod: `${namespace}/${name}`, reason: String(error) }, 'Failed to create an Event');
    }
  }
}
