import {
  BasicPodManager,
  type Pod,
  StatusManager,
  type StatusManagerOptions,
  type StatusOutcome,
} from '../../src/status-manager/index.ts';
import type { ClosablePodClient } from '../../src/kube/client/pod-client.ts';
import type { ContractClientKind } from '../contract/clients.ts';
import type { ContractServer } from '../contract/servers.ts';
import { type Json, KubeHTTP, type WatchStream } from '../support/kube-http.ts';
import { recordingLogger } from '../../src/testing/recording-logger.ts';
import { RecordingClient } from './recording-client.ts';

const NODE_NAME = 'node-a';
const OWN_PODS = `fieldSelector=spec.nodeName%3D${NODE_NAME}`;

export type TestNodeOptions = Pick<StatusManagerOptions, 'concurrency' | 'patchStrategy' | 'readBeforePatch'>;

interface Waiter {
  readonly isMet: () => boolean;
  readonly resolve: () => void;
}

/**
 * A minimal node agent around a StatusManager. As the node's own user, it watches the pods bound to
 * its node and keeps the pod manager up to date. The test decides what containers do.
 */
export class TestNode {
  readonly manager: StatusManager;
  readonly podManager = new BasicPodManager();
  readonly client: RecordingClient;
  readonly http: KubeHTTP;
  readonly logger = recordingLogger();
  /** UIDs of pods with containers that could be running. */
  readonly couldBeRunning = new Set<string>();
  readonly #podClient: ClosablePodClient;
  /** The newest object and all observed objects, by name. */
  readonly #pods = new Map<string, Pod>();
  readonly #history = new Map<string, string[]>();
  readonly #outcomes: StatusOutcome[] = [];
  readonly #waiters = new Set<Waiter>();
  #watch: WatchStream | undefined;

  static async start(server: ContractServer, kind: ContractClientKind, options: TestNodeOptions): Promise<TestNode> {
    const token = server.nodeToken(NODE_NAME);
    const podClient = await kind.create({ ...server, token });
    const node = new TestNode(podClient, new KubeHTTP({ ...server, token }), options);
    await node.watchPods();
    node.manager.start();
    return node;
  }

  private constructor(podClient: ClosablePodClient, http: KubeHTTP, options: TestNodeOptions) {
    this.#podClient = podClient;
    this.client = new RecordingClient(podClient);
    this.http = http;
    this.manager = new StatusManager({
      client: this.client,
      podManager: this.podManager,
      podCouldHaveRunningContainers: ({ metadata }) => this.couldBeRunning.has(metadata?.uid ?? ''),
      syncPeriodMs: 500,
      logger: this.logger,
      ...options,
    });
    this.manager.subscribe({
      onOutcome: (outcome) => {
        this.#outcomes.push(outcome);
        this.#wake();
      },
    });
  }

  /** Lists the pods and watches from there. Called at the start and after the API server was down. */
  async watchPods(): Promise<void> {
    this.#watch?.close();
    const list = await this.http.request('GET', `/api/v1/pods?${OWN_PODS}`);
    if (list.status !== 200) throw new Error(`Listing pods failed with ${list.status}`);
    const { items, metadata } = list.body;
    const names = new Set<string>(items.map((pod: Json) => pod.metadata.name as string));
    for (const pod of items) this.#onEvent('MODIFIED', pod);
    for (const [name, pod] of this.#pods) if (!names.has(name)) this.#onEvent('DELETED', pod);
    const query = `watch=true&${OWN_PODS}&resourceVersion=${metadata.resourceVersion}`;
    this.#watch = await this.http.watch(`/api/v1/pods?${query}`);
    void this.#readOn(this.#watch);
  }

  /** Resolves with the pod of this name when it matches. */
  async pod(name: string, isWanted: (pod: Pod) => boolean = () => true): Promise<Pod> {
    await this.#until(() => {
      const pod = this.#pods.get(name);
      return pod !== undefined && isWanted(pod);
    });
    return this.#pods.get(name) as Pod;
  }

  /** Resolves when there is no pod of this name, also in the pod manager. */
  gone(name: string): Promise<void> {
    return this.#until(() => !this.#pods.has(name));
  }

  /** Resolves when the manager has reported such an outcome, before or after the call. */
  async outcome(podUID: string, outcome: StatusOutcome['outcome']): Promise<void> {
    await this.#until(() => this.#outcomes.some((seen) => seen.podUID === podUID && seen.outcome === outcome));
  }

  /** The events of pods of this name: `phase ready` of each event, without repetitions. */
  history(name: string): readonly string[] {
    return this.#history.get(name) ?? [];
  }

  async stop(): Promise<void> {
    await this.manager.stop();
    this.#watch?.close();
    await this.#podClient.close();
    await this.http.close();
  }

  async #readOn(watch: WatchStream): Promise<void> {
    try {
      for await (const { type, object } of watch) this.#onEvent(type, object);
    } catch {
      // The API server is down, or the node was stopped. The test calls `watch` again.
    }
  }

  #onEvent(type: string, object: Json): void {
    const pod = object as Pod;
    const name = pod.metadata?.name ?? '';
    this.#remember(name, type === 'DELETED' ? 'gone' : describe(pod));
    if (type === 'DELETED') {
      this.#pods.delete(name);
      this.podManager.removePod(pod);
    } else {
      this.#pods.set(name, pod);
      this.podManager.updatePod(pod);
    }
    this.#wake();
  }

  #remember(name: string, entry: string): void {
    const history = this.#history.get(name) ?? [];
    if (history.at(-1) !== entry) this.#history.set(name, [...history, entry]);
  }

  #until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve();
    return new Promise((resolve) => this.#waiters.add({ isMet, resolve }));
  }

  #wake(): void {
    for (const waiter of this.#waiters) {
      if (!waiter.isMet()) continue;
      this.#waiters.delete(waiter);
      waiter.resolve();
    }
  }
}

function describe({ metadata, status }: Pod): string {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? 'None';
  const terminating = metadata?.deletionTimestamp == null ? '' : ' terminating';
  return `${status?.phase} ${ready}${terminating}`;
}
