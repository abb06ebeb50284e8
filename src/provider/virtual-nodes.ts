import { StatusManagerError } from '../shared/errors.ts';
import { integerOption, maxDurationMs, requireBooleanOption, requireFields } from '../shared/validate.ts';
import { createVirtualNodeParts, type SharedParts } from './create-virtual-node-parts.ts';
import type { ProviderListInspection } from './provider-pod-lister.ts';
import { VirtualNode, type VirtualNodeInspection, type VirtualNodeStopOptions } from './virtual-node.ts';
import { requireVirtualNodeOptions, type VirtualNodeOptions } from './virtual-nodes-options.ts';

/** A snapshot of the virtual nodes of a process; it does not change afterwards. */
export interface VirtualNodesInspection {
  readonly state: 'created' | 'running' | 'stopping' | 'stopped';
  /** The list of the provider's pods, and why it fails. */
  readonly list: ProviderListInspection;
  /** Calls of the provider for pods that it has not settled yet. */
  readonly callsInProgress: number;
  readonly nodes: readonly VirtualNodeInspection[];
}

/**
 * The virtual nodes of a process, whose pods run in one cloud; create them with `createVirtualNodes`. Nodes may be added
 * and removed at any time.
 */
export class VirtualNodes implements AsyncDisposable {
  readonly #parts: SharedParts;
  readonly #nodes = new Map<string, VirtualNode>();
  #state: VirtualNodesInspection['state'] = 'created';
  #stopped: Promise<void> | undefined;

  /** For `createVirtualNodes`. */
  constructor(parts: SharedParts) {
    this.#parts = parts;
  }

  /** Adds a node. It is started now, or by `start()`. @throws StatusManagerError INVALID_OPTION, INVALID_STATE after stop() */
  add(node: VirtualNodeOptions): VirtualNode {
    if (this.#stopped !== undefined) throw stoppedError();
    requireVirtualNodeOptions(node);
    const { nodeName } = node;
    if (this.#nodes.has(nodeName))
      throw new StatusManagerError('INVALID_OPTION', `There is a node with the name ${nodeName}`, { path: 'nodeName' });
    const added = new VirtualNode(createVirtualNodeParts(node, this.#parts));
    this.#nodes.set(nodeName, added);
    if (this.#state === 'running') added.start();
    return added;
  }

  /**
   * Stops a node and removes it; does nothing for an unknown one. Its pods keep running in the cloud, and its Node object
   * stays. Resolves when nothing is asked of the provider for the node any more.
   */
  async remove(nodeName: string, options: VirtualNodeStopOptions = {}): Promise<void> {
    requireStopOptions(options);
    const node = this.#nodes.get(nodeName);
    await node?.stop(options);
    if (this.#nodes.get(nodeName) === node) this.#nodes.delete(nodeName);
  }

  /** The node of this name. */
  node(nodeName: string): VirtualNode | undefined {
    return this.#nodes.get(nodeName);
  }

  /** Starts all nodes and returns immediately. Calling it again does nothing. @throws StatusManagerError INVALID_STATE after stop() */
  start(): void {
    if (this.#stopped !== undefined) throw stoppedError();
    if (this.#state !== 'created') return;
    this.#state = 'running';
    this.#parts.lister.start();
    for (const node of this.#nodes.values()) node.start();
  }

  /** Resolves when all nodes that have been added are ready: see `VirtualNode.whenReady`. */
  async whenReady(): Promise<void> {
    await Promise.all([...this.#nodes.values()].map((node) => node.whenReady()));
  }

  /**
   * Stops all nodes; resolves when no timer, request or promise is left. The pods keep running in the cloud, and the next
   * process finds them there. Never rejects. Later calls wait for the first one.
   * @throws StatusManagerError INVALID_OPTION
   */
  stop(options: VirtualNodeStopOptions = {}): Promise<void> {
    requireStopOptions(options);
    this.#stopped ??= this.#stop(options);
    return this.#stopped;
  }

  /** `stop()` without a drain. */
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
      nodes: Array.from(this.#nodes.values(), (node) => node.inspect()),
    };
  }

  async #stop(options: VirtualNodeStopOptions): Promise<void> {
    const { lister, materials, api } = this.#parts;
    this.#state = 'stopping';
    await Promise.all(Array.from(this.#nodes.values(), (node) => node.stop(options)));
    await lister.stop();
    await materials.close();
    api.abort();
    await Promise.all(Array.from(this.#nodes.values(), (node) => node.whenEventsStopped()));
    await api.close();
    this.#state = 'stopped';
  }
}

function requireStopOptions(options: VirtualNodeStopOptions): void {
  requireFields('options', options, ['drain', 'deadlineMs']);
  requireBooleanOption('drain', options.drain);
  integerOption('deadlineMs', options.deadlineMs ?? 0, 0, maxDurationMs);
}

function stoppedError(): StatusManagerError {
  return new StatusManagerError('INVALID_STATE', 'The virtual nodes have been stopped');
}
