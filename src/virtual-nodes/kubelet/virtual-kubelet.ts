import minBy from 'lodash/minBy.js';
import { epochMsOf, timeFromEpochMs } from '../../shared/time.ts';
import { StatusManagerError } from '../../shared/errors.ts';
import type { PodStatus, ValidPod } from '../../kube/objects/types.ts';
import type { APIRequests } from '../../kube/client/api-requests.ts';
import type {
  CallOptions,
  CheckedInspection,
  ContainerRuntime,
  Node,
  NodeAgentState,
  NodeStats,
  RuntimePod,
  StreamingRuntime,
} from '../../node/index.ts';
import type { PodProvider, ProviderPodReference, ProviderCallOptions } from '../pod-provider.ts';
import { containerOfID } from '../pods/provider-pod-status.ts';
import { podStatsOf, type ProviderStats } from './provider-stats.ts';
import type { KubeletEndpoint } from '../create-virtual-node-parts.ts';
import { notOwned } from '../replicas/while-owned.ts';
import type { VirtualNode } from '../virtual-node.ts';

export interface VirtualKubeletOptions {
  readonly provider: PodProvider;
  readonly apiRequests: APIRequests;
  readonly stats: ProviderStats;
  /** True for all nodes on one port. */
  readonly isShared: boolean;
  readonly setEndpoint: (endpoint: KubeletEndpoint) => void;
  readonly state: () => NodeAgentState;
  /** The names of all nodes that are served, including those that run in other processes. */
  readonly nodeNames: () => readonly string[];
  /** Those that run in this process. */
  readonly nodes: () => readonly VirtualNode[];
}

/** A pod, and the node that it is on. */
interface Found {
  readonly node: VirtualNode;
  readonly pod: RuntimePod;
}

/**
 * Virtual nodes as a kubelet: `serveKubeletAPI` takes it in place of an agent and its runtime. `VirtualNodes.kubelet` serves
 * `kubectl logs`, `exec`, `attach` and `port-forward` of all nodes on one port. `VirtualNodes.kubeletOf` serves one node, and
 * also the statistics of its pods.
 *
 * @example
 * ```ts
 * import { createVirtualNodes } from 'kubelet-status-manager/virtual-nodes';
 * import { serveKubeletAPI } from 'kubelet-status-manager/kubelet-api';
 *
 * const nodes = createVirtualNodes({ client, provider });
 * nodes.add({ nodeName: 'cloud-a', addresses: ['10.1.2.3'] });
 * await serveKubeletAPI(nodes.kubelet, {
 *   runtime: nodes.kubelet,
 *   authentication: { clientCAFile: '/var/run/kubelet-client/ca.crt' },
 *   certDirectory: '/var/run/kubelet-certificate',
 * });
 * nodes.start();
 * ```
 */
export class VirtualKubelet implements StreamingRuntime {
  /** True if several nodes share the port. */
  readonly isShared: boolean;
  readonly statusManager: {
    /** Of the node that has the pod. */
    getPodStatus(podUID: string): PodStatus | undefined;
  };
  readonly streamContainerLog?: NonNullable<StreamingRuntime['streamContainerLog']>;
  readonly exec?: NonNullable<StreamingRuntime['exec']>;
  readonly attach?: NonNullable<StreamingRuntime['attach']>;
  readonly portForward?: NonNullable<StreamingRuntime['portForward']>;
  /** The statistics of the running pods; absent if the provider has no `stats`. */
  readonly listPodStats?: NonNullable<ContainerRuntime['listPodStats']>;
  readonly #options: VirtualKubeletOptions;

  /** For `VirtualNodes`. */
  constructor(options: VirtualKubeletOptions) {
    this.#options = options;
    const { provider, isShared } = options;
    this.isShared = isShared;
    this.statusManager = { getPodStatus: (podUID) => this.#find(podUID)?.node.statusManager.getPodStatus(podUID) };
    if (provider.logs !== undefined)
      this.streamContainerLog = async (id, log, options) => {
        const { pod, name, call } = this.#container(id, options);
        return provider.logs!(pod, name, log, call);
      };
    if (provider.exec !== undefined)
      this.exec = async (id, command, io, options) => {
        const { pod, name, call } = this.#container(id, options);
        return provider.exec!(pod, name, command, io, call);
      };
    if (provider.attach !== undefined)
      this.attach = async (id, io, options) => {
        const { pod, name, call } = this.#container(id, options);
        return provider.attach!(pod, name, io, call);
      };
    if (provider.portForward !== undefined)
      this.portForward = async (podUID, port, stream, options) => {
        const { pod, call } = this.#pod(podUID, options);
        return provider.portForward!(pod, port, stream, call);
      };
    if (provider.stats !== undefined)
      this.listPodStats = async () => podStatsOf(this.getPods(), await options.stats.list());
  }

  /** The name of the first node, for the serving certificate. @throws StatusManagerError INVALID_STATE without a node */
  get nodeName(): string {
    const [name] = this.#options.nodeNames();
    if (name === undefined) throw new StatusManagerError('INVALID_STATE', 'Add a node before `serveKubeletAPI`');
    return name;
  }

  /** Requests to the API server as the user of the nodes. */
  get apiRequests(): APIRequests {
    return this.#options.apiRequests;
  }

  /** The pods of the nodes. */
  getPods(): readonly ValidPod[] {
    return this.#options.nodes().flatMap((node) => node.getPods());
  }

  /** A Node with the addresses of all nodes, for the serving certificate. */
  getNode(): Node | undefined {
    const running = this.#options.nodes().flatMap((node) => node.getNode() ?? []);
    const [first] = running;
    if (first === undefined) return undefined;
    const addresses = running.flatMap(({ status }) => status?.addresses ?? []);
    // With `replicas`, this process may run any node next. The names of all nodes keep the certificate unchanged then.
    const names = addresses.some(({ type }) => type === 'Hostname') ? this.#options.nodeNames() : [];
    const hostnames = names.map((address) => ({ type: 'Hostname', address }));
    return { ...first, status: { ...first.status, addresses: [...addresses, ...hostnames] } };
  }

  /** Only the start time: what the node itself uses in the cloud is not known. */
  nodeStats(nowMs: number): NodeStats {
    const startTime = timeFromEpochMs(nowMs - process.uptime() * 1000);
    return { nodeName: this.nodeName, startTime, systemContainers: [] };
  }

  /** The state of the sync loop that has not run for the longest time. */
  inspect(): CheckedInspection {
    const loops = this.#options.nodes().flatMap(({ nodeName, lastIterationAt }) => {
      return lastIterationAt === undefined ? [] : [{ nodeName, lastIterationAt, ms: epochMsOf(lastIterationAt) }];
    });
    return { state: this.#options.state(), syncLoop: minBy(loops, 'ms') ?? {} };
  }

  /** Sets the port that the Nodes show; `serveKubeletAPI` calls it. */
  setKubeletEndpoint(port: number, features: readonly string[] = []): void {
    this.#options.setEndpoint({ kubeletPort: port, features });
  }

  /** A pod of the nodes, with its containers. */
  async getPod(podUID: string): Promise<RuntimePod | undefined> {
    return this.#find(podUID)?.pod;
  }

  /** The pods of the nodes, with their containers. */
  async listPods(): Promise<RuntimePod[]> {
    return this.#options
      .nodes()
      .flatMap((node) => node.getPods().flatMap(({ metadata }) => node.runtimePod(metadata.uid) ?? []));
  }

  /** Always rejects: a provider runs commands only with streams. */
  execSync(): Promise<never> {
    return Promise.reject(new Error('The provider runs commands with streams only'));
  }

  #find(podUID: string): Found | undefined {
    for (const node of this.#options.nodes()) {
      const pod = node.runtimePod(podUID);
      if (pod !== undefined) return { node, pod };
    }
    return undefined;
  }

  #container(containerID: string, options?: CallOptions) {
    const { podUID, name } = containerOfID(containerID);
    return { ...this.#pod(podUID, options), name };
  }

  #pod(uid: string, { signal = new AbortController().signal }: CallOptions = {}) {
    const found = this.#find(uid);
    if (found === undefined) throw new Error(`The pod ${uid} is gone`);
    const { nodeName, epoch, isOwned } = found.node;
    if (!isOwned) throw new Error(notOwned(found.node));
    const pod: ProviderPodReference = { uid, namespace: found.pod.namespace, name: found.pod.name, nodeName };
    const call: ProviderCallOptions = { signal, epoch };
    return { pod, call };
  }
}
