import type { Clock, Pod, PodClient, PodStatus } from 'kubelet-status-manager';
import type { EndState } from './end-state.ts';
import { podName, summarizePod } from './pods.ts';
import type { RecoveryReport } from './recovery.ts';

/** Prints what reached the API server as NDJSON, one object a line, for other programs to read. */
export class EventLog {
  readonly #write: (line: string) => void;
  readonly #clock: Clock;

  constructor(write: (line: string) => void, clock: Clock) {
    this.#write = write;
    this.#clock = clock;
  }

  /** Wraps `client` and prints each successful write. */
  observe<Client extends PodClient>(client: Client): Client {
    return {
      ...client,
      patchPodStatus: async (reference, patch, options) => {
        const pod = await client.patchPodStatus(reference, patch, options);
        this.#status(pod);
        return pod;
      },
      deletePod: async (reference, preconditions, options) => {
        await client.deletePod(reference, preconditions, options);
        this.#print({ event: 'deleted', pod: `${reference.namespace}/${reference.name}`, uid: preconditions.uid });
      },
    };
  }

  started(fields: object): void {
    this.#print({ event: 'started', ...fields });
  }

  /** The demo's outage of the API server has begun, or is over. */
  apiServer(isDown: boolean): void {
    this.#print({ event: 'apiServer', state: isDown ? 'down' : 'up' });
  }

  /** Everything that waited in the outage was sent. */
  recovered(report: RecoveryReport): void {
    this.#print({ event: 'recovered', ...report });
  }

  endState(pod: Pod, endState: EndState): void {
    this.#print({ event: 'endState', pod: podName(pod), uid: pod.metadata?.uid, ...endState });
  }

  #status(pod: Pod): void {
    const status = pod.status as PodStatus | undefined;
    const { phase, reason, readyContainers, totalContainers, restarts } = summarizePod(pod);
    this.#print({
      event: 'status',
      pod: podName(pod),
      uid: pod.metadata?.uid,
      resourceVersion: pod.metadata?.resourceVersion,
      phase,
      reason,
      ready: `${readyContainers}/${totalContainers}`,
      restarts,
      containers: [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])].map((container) => ({
        name: container.name,
        containerID: container.containerID,
        restartCount: container.restartCount,
        state: container.state,
      })),
    });
  }

  #print(fields: object): void {
    this.#write(`${JSON.stringify({ time: new Date(this.#clock.now()).toISOString(), ...fields })}\n`);
  }
}
