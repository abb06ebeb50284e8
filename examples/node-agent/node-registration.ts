import { arch, availableParallelism, platform, release, totalmem, type } from 'node:os';
import { ApiError, type Clock, type Logger, type Timer } from 'kubelet-status-manager';
import { type KubeTransport, pathSegment } from 'kubelet-status-manager/http';
import { AgentError } from './agent-error.ts';

/** Marks the Nodes of this agent, so that it never uses the Node of something else. */
const agentLabel = 'kubelet-status-manager.dev/node-agent';
const agentTaint = { key: agentLabel, effect: 'NoSchedule' };
const leaseDurationSeconds = 40;
const heartbeatMs = 10_000;
/** The Lease shows that the node is alive, so its status can be reported less often. */
const heartbeatsPerNodeStatus = 30;

export interface NodeRegistrationOptions {
  readonly transport: KubeTransport;
  readonly nodeName: string;
  /** IP addresses of the node. */
  readonly addresses: readonly string[];
  /** Keeps away pods that do not tolerate the taint of this node. */
  readonly isTainted: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The members of a Node that the agent reads. */
interface NodeObject {
  readonly metadata: { readonly resourceVersion: string; readonly labels?: object };
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
}

/** The agent's Node object and its heartbeat: a Lease every 10 seconds, the status every 5 minutes. */
export class NodeRegistration {
  readonly #options: NodeRegistrationOptions;
  readonly #nodePath: string;
  readonly #leasePath: string;
  readonly #readySince: string;
  #createdNode = false;
  #isRegistered = false;
  #isStopped = false;
  #heartbeats = 0;
  #timer: Timer | undefined;

  constructor(options: NodeRegistrationOptions) {
    this.#options = options;
    this.#nodePath = `/api/v1/nodes/${pathSegment(options.nodeName, 'nodeName')}`;
    this.#leasePath = `${leasesPath}/${pathSegment(options.nodeName, 'nodeName')}`;
    this.#readySince = this.#isoTime();
  }

  /** Creates the Node, or adopts the one that an earlier run has left, and starts the heartbeat. */
  async register(): Promise<void> {
    try {
      await this.#createNode();
      this.#isRegistered = true;
      await this.#reportStatus('True', 'AgentReady', 'The node agent runs the pods of this node');
      await this.#renewLease();
    } catch (error) {
      const hint = error instanceof ApiError && error.kind === 'network' ? ' (is the API server running?)' : '';
      throw AgentError.from(error, `cannot register the Node ${this.#options.nodeName}${hint}`);
    }
    this.#scheduleHeartbeat();
  }

  /** Reports the Node as not ready, or deletes it if `remove` is set and this run has created it. */
  async unregister({ remove }: { remove: boolean }): Promise<void> {
    this.#isStopped = true;
    this.#timer?.stop();
    if (!this.#isRegistered) return;
    const { logger, nodeName } = this.#options;
    try {
      if (remove && this.#createdNode && (await this.#remove())) return;
      await this.#reportStatus('False', 'AgentStopped', 'The node agent has stopped');
    } catch (error) {
      logger.warn({ node: nodeName, reason: String(error) }, 'Failed to report the Node as not ready');
    }
  }

  /** @returns false when the agent is not allowed to: a node's own user may not delete its Node */
  async #remove(): Promise<boolean> {
    const { transport, logger, nodeName } = this.#options;
    try {
      await transport.request('DELETE', this.#nodePath);
      await transport.request('DELETE', this.#leasePath);
      return true;
    } catch (error) {
      logger.warn(
        { node: nodeName, reason: String(error) },
        `Failed to delete the Node, which stays and is not ready. An administrator can delete it: kubectl delete node ${nodeName}`,
      );
      return false;
    }
  }

  async #createNode(): Promise<void> {
    const { transport, nodeName, isTainted } = this.#options;
    const body = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        name: nodeName,
        labels: {
          'kubernetes.io/hostname': nodeName,
          'kubernetes.io/os': platform(),
          'kubernetes.io/arch': kubernetesArch(),
          [agentLabel]: '',
        },
      },
      spec: isTainted ? { taints: [agentTaint] } : {},
    };
    try {
      await transport.request('POST', '/api/v1/nodes', { body });
      this.#createdNode = true;
    } catch (error) {
      if (!isApiError(error, 409)) throw error;
      const node = (await transport.request('GET', this.#nodePath)).json() as NodeObject;
      if (!Object.hasOwn(node.metadata.labels ?? {}, agentLabel)) {
        throw new AgentError(
          'a Node of this name exists and does not belong to this agent; choose another name with --node-name',
        );
      }
      if (isTainted) await this.#taint(node);
    }
  }

  /** An earlier run may have left the Node without the taint. */
  async #taint({ metadata: { resourceVersion }, spec: { taints = [] } }: NodeObject): Promise<void> {
    if (taints.some(({ key }) => key === agentLabel)) return;
    await this.#options.transport.request('PATCH', this.#nodePath, {
      contentType: 'application/merge-patch+json',
      body: { metadata: { resourceVersion }, spec: { taints: [...taints, agentTaint] } },
    });
  }

  async #reportStatus(ready: 'True' | 'False', reason: string, message: string): Promise<void> {
    const { transport, nodeName, addresses } = this.#options;
    const now = this.#isoTime();
    const capacity = { cpu: String(availableParallelism()), memory: `${Math.floor(totalmem() / 1024)}Ki`, pods: '110' };
    const status = {
      conditions: [
        {
          type: 'Ready',
          status: ready,
          reason,
          message,
          lastHeartbeatTime: now,
          lastTransitionTime: ready === 'True' ? this.#readySince : now,
        },
      ],
      addresses: [
        ...addresses.map((address) => ({ type: 'InternalIP', address })),
        { type: 'Hostname', address: nodeName },
      ],
      capacity,
      allocatable: capacity,
      nodeInfo: {
        machineID: '',
        systemUUID: '',
        bootID: '',
        kernelVersion: release(),
        osImage: type(),
        containerRuntimeVersion: 'process://1',
        kubeletVersion: 'node-agent',
        kubeProxyVersion: '',
        operatingSystem: platform(),
        architecture: kubernetesArch(),
      },
    };
    await transport.request('PATCH', `${this.#nodePath}/status`, {
      body: { status },
      contentType: 'application/strategic-merge-patch+json',
    });
  }

  async #renewLease(): Promise<void> {
    const { transport, nodeName, clock } = this.#options;
    const spec = {
      holderIdentity: nodeName,
      leaseDurationSeconds,
      renewTime: new Date(clock.now()).toISOString().replace('Z', '000Z'), // of microseconds
    };
    try {
      await transport.request('PATCH', this.#leasePath, {
        body: { spec },
        contentType: 'application/merge-patch+json',
      });
    } catch (error) {
      if (!isApiError(error, 404)) throw error;
      const body = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: nodeName }, spec };
      await transport.request('POST', leasesPath, { body });
    }
  }

  #scheduleHeartbeat(): void {
    if (this.#isStopped) return;
    this.#timer = this.#options.clock.afterFunc(heartbeatMs, () => void this.#beat());
  }

  async #beat(): Promise<void> {
    const { logger, nodeName } = this.#options;
    this.#heartbeats++;
    try {
      await this.#renewLease();
      if (this.#heartbeats % heartbeatsPerNodeStatus === 0) {
        await this.#reportStatus('True', 'AgentReady', 'The node agent runs the pods of this node');
      }
    } catch (error) {
      logger.warn({ node: nodeName, reason: String(error) }, 'Heartbeat failed');
    }
    this.#scheduleHeartbeat();
  }

  #isoTime(): string {
    return new Date(this.#options.clock.now()).toISOString().replace(/\.\d+Z/, 'Z');
  }
}

const leasesPath = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';

function kubernetesArch(): string {
  return arch() === 'x64' ? 'amd64' : arch();
}

function isApiError(error: unknown, statusCode: number): boolean {
  return error instanceof ApiError && error.statusCode === statusCode;
}
