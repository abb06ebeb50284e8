import { registerGauges } from '../node/index.ts';
import type { AgentGauges } from '../observe/agent-metrics.ts';
import type { AccessPart } from '../kube/access/permissions.ts';
import { type AbortSignalLike, untilAborted } from '../shared/abort.ts';
import { StatusManagerError } from '../shared/errors.ts';
import { epochMsOf } from '../shared/time.ts';
import { aBoolean, aSignal, integer, requireOptions } from '../shared/option-checks.ts';
import { maxDurationMs, requireSignal } from '../shared/validate.ts';
import { createVirtualNodeParts, type SharedParts } from './create-virtual-node-parts.ts';
import type { ProviderListInspection } from './calls/provider-pod-lister.ts';
import { NodesAccessLog } from './nodes-access-log.ts';
import { NodeOwnership } from './replicas/node-ownership.ts';
import type { NodeOwnershipInspection } from './replicas/node-ownership-inspection.ts';
import type { OwnedNode, OwnershipEnd } from './replicas/node-ownership-options.ts';
import { ProviderStats } from './kubelet/provider-stats.ts';
import { VirtualKubelet, type VirtualKubeletOptions } from './kubelet/virtual-kubelet.ts';
import { VirtualNode, type VirtualNodeInspection, type VirtualNodeStopOptions } from './virtual-node.ts';
import { requireVirtualNodeOptions, type VirtualNodeOptions } from './virtual-nodes-options.ts';

/** A snapshot of the virtual nodes of a process; it does not change afterwards. */
export interface VirtualNodesInspection {
  readonly state: 'created' | 'running' | 'stopping' | 'stopped';
  /** The list of the provider's pods, and why it fails. */
  readonly list: ProviderListInspection;
  /** Calls of the provider for pods that it has not settled yet. */
  readonly callsInProgress: number;
  /** Calls that wait because `concurrency` others are in progress. */
  readonly queuedCalls: number;
  /** Which nodes run in this process; absent without `replicas`. */
  readonly replicas?: NodeOwnershipInspection | undefined;
  /** Those that run in this process. */
  readonly nodes: readonly VirtualNodeInspection[];
}

/**
 * The virtual nodes of a process, whose pods run in one cloud; create them with `createVirtualNodes`. Nodes may be added
 * and removed at any time.
 */
export class VirtualNodes implements AsyncDisposable {
  /** All nodes as one kubelet on one port, for `kubectl logs`, `exec`, `attach` and `port-forward`: `serveKubeletAPI` takes it. */
  readonly kubelet: VirtualKubelet;
  readonly #parts: SharedParts;
  readonly #stats: ProviderStats;
  readonly #added = new Map<string, VirtualNodeOptions>();
  /** Those that run in this process: all that were added, or with `replicas` those that it owns. */
  readonly #nodes = new Map<string, VirtualNode>();
  readonly #listeners = new Set<(node: VirtualNode) => void>();
  readonly #ownership: NodeOwnership | undefined;
  #state: VirtualNodesInspection['state'] = 'created';
  #stopOptions: VirtualNodeStopOptions = {};
  readonly #stopSignal = new AbortController();
  #unregisterGauges: (() => void) | undefined;
  readonly #accessLog: NodesAccessLog;
  #stopped: Promise<void> | undefined;

  /** For `createVirtualNodes`. @throws StatusManagerError INVALID_OPTION */
  constructor(parts: SharedParts) {
    this.#parts = parts;
    this.#ownership = this.#createOwnership();
    this.#stats = new ProviderStats({ ...parts, ...parts.context, signal: this.#stopSignal.signal });
    const { endpoints, api, context } = parts;
    this.#accessLog = new NodesAccessLog({
      ...{ requests: api.requests, logger: context.logger, signal: this.#stopSignal.signal },
      parts: () => this.#accessParts(),
    });
    this.kubelet = this.#createKubelet({ setEndpoint: (endpoint) => (endpoints.shared = endpoint) });
  }

  /**
   * One node as a kubelet on a port of its own. Unlike `kubelet`, it also serves statistics of pods: a client that asks for them
   * names no node, only the port. With `replicas`, serve every node in every process.
   */
  kubeletOf(nodeName: string): VirtualKubelet {
    const { byNode } = this.#parts.endpoints;
    return this.#createKubelet({ nodeName, setEndpoint: (endpoint) => void byNode.set(nodeName, endpoint) });
  }

  /**
   * Adds a node. It is started now, or by `start()`; with `replicas`, once this process owns it.
   * @throws StatusManagerError INVALID_OPTION, INVALID_STATE after stop()
   */
  add(node: VirtualNodeOptions): void {
    if (this.#stopped !== undefined) throw stoppedError();
    requireVirtualNodeOptions(node, this.#ownership !== undefined);
    const { nodeName } = node;
    if (this.#added.has(nodeName))
      throw new StatusManagerError('INVALID_OPTION', `There is a node with the name ${nodeName}`, { path: 'nodeName' });
    if (this.#ownership === undefined) this.#run(node);
    this.#added.set(nodeName, node);
    this.#ownership?.setNodes([...this.#added.keys()]);
  }

  /**
   * Stops a node and removes it; does nothing for an unknown one. Its pods keep running in the cloud, and its Node object
   * stays. Resolves when the provider is no longer called for the node.
   */
  async remove(nodeName: string, options: VirtualNodeStopOptions = {}): Promise<void> {
    requireStopOptions(options);
    const node = this.#nodes.get(nodeName);
    await node?.stop(options);
    if (this.#nodes.get(nodeName) === node) this.#nodes.delete(nodeName);
    this.#added.delete(nodeName);
    this.#ownership?.setNodes([...this.#added.keys()]);
  }

  /** For `serveVirtualNodes`. Calls `onNode` for each node that runs in this process now or later, until the returned function is called. */
  forEachNode(onNode: (node: VirtualNode) => void): () => void {
    for (const node of this.#nodes.values()) onNode(node);
    this.#listeners.add(onNode);
    return () => void this.#listeners.delete(onNode);
  }

  /** The node of this name, if it runs in this process. */
  node(nodeName: string): VirtualNode | undefined {
    return this.#nodes.get(nodeName);
  }

  /** Starts all nodes and returns immediately. Calling it again does nothing. @throws StatusManagerError INVALID_STATE after stop() */
  start(): void {
    if (this.#stopped !== undefined) throw stoppedError();
    if (this.#state !== 'created') return;
    this.#state = 'running';
    for (const node of this.#nodes.values()) this.#startNode(node);
    // Started last, so that one list is enough for all nodes, which request one when they start.
    this.#parts.lister.start();
    this.#registerGauges();
    this.#ownership?.start();
  }

  /**
   * Resolves when all nodes that run in this process now are ready: see `VirtualNode.whenReady`. With `replicas`, none runs
   * until this process owns it. Rejects with the signal's reason when it is aborted first.
   */
  async whenReady(options: { readonly signal?: AbortSignalLike | undefined } = {}): Promise<void> {
    const signal = requireSignal(options);
    await untilAborted(Promise.all([...this.#nodes.values()].map((node) => node.whenReady())), signal);
  }

  /**
   * Stops all nodes; resolves when no timer, request or promise is left. The pods keep running in the cloud, and the next
   * process finds them there; with `replicas`, another one takes each node as soon as it has stopped here, and `drain` is
   * true by default, because the other process does not know the unsent statuses. Never rejects. Later calls wait for the
   * first one.
   * @throws StatusManagerError INVALID_OPTION
   */
  stop(options: VirtualNodeStopOptions = {}): Promise<void> {
    requireStopOptions(options);
    this.#stopped ??= this.#stop(options);
    return this.#stopped;
  }

  /** `stop()` with its defaults. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** A snapshot for tests, tables and status pages: a copy that does not change. */
  inspect(): VirtualNodesInspection {
    const { lister, calls } = this.#parts;
    return {
      state: this.#state,
      list: lister.inspect(),
      callsInProgress: calls.inProgress,
      queuedCalls: calls.queue.waiting,
      ...(this.#ownership && { replicas: this.#ownership.inspect() }),
      nodes: Array.from(this.#nodes.values(), (node) => node.inspect()),
    };
  }

  #run(node: VirtualNodeOptions, owned?: OwnedNode): void {
    const added = new VirtualNode(createVirtualNodeParts(node, this.#parts, owned));
    this.#nodes.set(node.nodeName, added);
    for (const onNode of this.#listeners) onNode(added);
    if (this.#state !== 'created') this.#startNode(added);
  }

  #createKubelet({
    nodeName,
    setEndpoint,
  }: Pick<VirtualKubeletOptions, 'setEndpoint'> & { readonly nodeName?: string }): VirtualKubelet {
    const isServed = (name: string): boolean => nodeName === undefined || name === nodeName;
    return new VirtualKubelet({
      ...{ provider: this.#parts.options.provider, apiRequests: this.#parts.api.requests, stats: this.#stats },
      setEndpoint,
      isShared: nodeName === undefined,
      state: () => this.#state,
      nodeNames: () => [...this.#added.keys()].filter(isServed),
      nodes: () => [...this.#nodes.values()].filter((node) => isServed(node.nodeName)),
    });
  }

  #createOwnership(): NodeOwnership | undefined {
    const { api, context, options } = this.#parts;
    if (options.replicas === undefined) return undefined;
    return new NodeOwnership({
      ...options.replicas,
      ...context,
      transport: api.podClient.transport,
      nodeNames: [],
      // Only nodes of the last `setNodes` are owned.
      onOwned: (owned) => this.#run(this.#added.get(owned.nodeName)!, owned),
      onLost: (owned, reason) => this.#lost(owned, reason),
    });
  }

  #registerGauges(): void {
    const { options, context } = this.#parts;
    this.#unregisterGauges = registerGauges(options.metrics, context.logger, () => {
      const replicas = this.#ownership?.inspect();
      return {
        provider: this.#providerGauges(),
        ...(replicas && { replica: replicaGauges(replicas, context.clock.now()) }),
      };
    });
  }

  #providerGauges(): NonNullable<AgentGauges['provider']> {
    const { lister, calls, context } = this.#parts;
    const { failure, invalid } = lister.inspect();
    const nowMs = context.clock.now();
    const acceptedAt = [...this.#nodes.values()].flatMap((node) => node.unlistedPods().map((pod) => pod.acceptedAt));
    const [oldest] = acceptedAt.toSorted();
    return {
      nodes: this.#nodes.size,
      callsInProgress: calls.inProgress,
      queuedCalls: calls.queue.waiting,
      longestQueuedSeconds: calls.queue.longestWaitMs / 1000,
      listFailingSeconds: failure && (nowMs - epochMsOf(failure.failingSince)) / 1000,
      unlistedSeconds: oldest === undefined ? undefined : (nowMs - epochMsOf(oldest)) / 1000,
      hasInvalidPods: invalid !== undefined,
    };
  }

  async #lost({ nodeName }: OwnedNode, reason: OwnershipEnd): Promise<void> {
    const node = this.#nodes.get(nodeName);
    // When the ownership is lost, nothing may be written.
    await node?.stop(reason === 'lost' ? {} : { drain: true, ...this.#stopOptions });
    this.#nodes.delete(nodeName);
  }

  #startNode(node: VirtualNode): void {
    node.start();
    this.#accessLog.add(node.nodeName);
  }

  #accessParts(): AccessPart[] {
    const { endpoints, eventRecorder } = this.#parts;
    const parts: AccessPart[] = ['status-manager', 'informer', 'node', 'pod-materials'];
    if (eventRecorder === undefined) parts.push('events');
    if (endpoints.shared !== undefined || endpoints.byNode.size > 0) parts.push('kubelet-api');
    return parts;
  }

  async #stop(options: VirtualNodeStopOptions): Promise<void> {
    const { lister, materials, nodeWatch, api, calls, nodeLines } = this.#parts;
    this.#state = 'stopping';
    this.#stopOptions = options;
    await this.#ownership?.stop();
    this.#stopSignal.abort();
    await this.#accessLog.whenLogged();
    await Promise.all(Array.from(this.#nodes.values(), (node) => node.stop(options)));
    await lister.stop();
    calls.stop();
    await materials.close();
    await nodeWatch.close();
    api.abort();
    await Promise.all(Array.from(this.#nodes.values(), (node) => node.whenEventsStopped()));
    await api.close();
    nodeLines.stop();
    this.#unregisterGauges?.();
    this.#state = 'stopped';
  }
}

function replicaGauges({ memberSince, renewedAt, takenNodes, nodes }: NodeOwnershipInspection, nowMs: number) {
  return {
    isMember: memberSince !== undefined,
    ownedNodes: nodes.filter(({ state }) => state === 'owned').length,
    takenNodes,
    renewalAgeSeconds: renewedAt === undefined ? undefined : (nowMs - epochMsOf(renewedAt)) / 1000,
  };
}

function requireStopOptions(options: VirtualNodeStopOptions): void {
  requireOptions(options, { drain: aBoolean, deadlineMs: integer(0, maxDurationMs), signal: aSignal });
}

function stoppedError(): StatusManagerError {
  return new StatusManagerError('INVALID_STATE', 'The virtual nodes have been stopped');
}
