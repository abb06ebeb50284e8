import type { Pod, PodStatus } from 'kubelet-status-manager';
import {
  createVirtualNodes,
  type VirtualNodeOptions,
  type VirtualNodes,
  type VirtualNodesOptions,
} from 'kubelet-status-manager/virtual-nodes';
import type { KubeEvent } from '../../src/node/events/kube-event.ts';
import { FakeClock, recordingLogger, settle } from 'kubelet-status-manager/testing';
import { DirectAPIServer } from '../support/direct-api-server.ts';
import { FakeCloud } from './fake-cloud.ts';

const capacity = { cpu: '100', memory: '100Gi', pods: '1000' };

/** An API server, a cloud, and the virtual nodes of processes that a test starts one after the other; on one fake clock. */
export class TestNodes implements AsyncDisposable {
  readonly clock = new FakeClock('2026-01-02T03:04:05Z');
  readonly logger = recordingLogger();
  readonly cloud = new FakeCloud({ clock: this.clock });
  /** What the API server was asked, without reads: `PATCH /api/v1/… 200`. */
  readonly writes: string[] = [];
  /** How often a single pod was read. */
  podReads = 0;
  readonly #events: KubeEvent[] = [];
  #server: DirectAPIServer | undefined;
  #nodes: VirtualNodes | undefined;

  static async start(): Promise<TestNodes> {
    const test = new TestNodes();
    test.#server = new DirectAPIServer({
      clock: test.clock,
      onRequest: ({ method, path, status, body }) => {
        if (method === 'GET' && /\/pods\/[^/?]+$/.test(path)) test.podReads++;
        // A dry run, as of the check of permissions, writes nothing.
        if (method === 'GET' || path.includes('dryRun=All')) return;
        const [withoutQuery = ''] = path.split('?');
        test.writes.push(`${method} ${withoutQuery} ${status}`);
        if (status === 201 && withoutQuery.endsWith('/events')) test.#events.push(JSON.parse(body) as KubeEvent);
      },
    });
    return test;
  }

  get server(): DirectAPIServer {
    return this.#server!;
  }

  get nodes(): VirtualNodes {
    if (this.#nodes === undefined) throw new Error('No nodes were started');
    return this.#nodes;
  }

  /** Those about pods, oldest first; a repeated event is one. */
  podEvents(): string[] {
    return this.#events
      .filter(({ involvedObject }) => involvedObject.kind === 'Pod')
      .map(({ reason, involvedObject }) => `${involvedObject.name}: ${reason}`);
  }

  /** The Events about pods with this reason: `Normal: Container app failed liveness probe`. */
  eventsOf(reason: string): string[] {
    return this.#events.filter((event) => event.reason === reason).map(({ type, message }) => `${type}: ${message}`);
  }

  /** A new process on the same cloud and API server, with these nodes. */
  async startNodes(
    nodes: readonly (string | VirtualNodeOptions)[] = ['node-a'],
    options: Partial<VirtualNodesOptions> = {},
  ): Promise<VirtualNodes> {
    this.#nodes = createVirtualNodes({
      client: this.server.client(),
      provider: this.cloud,
      clock: this.clock,
      random: () => 0,
      logger: this.logger,
      ...options,
    });
    for (const node of nodes) this.nodes.add(typeof node === 'string' ? this.node(node) : node);
    this.nodes.start();
    await this.advance(500);
    return this.nodes;
  }

  node(nodeName: string): VirtualNodeOptions {
    return { nodeName, addresses: ['10.1.2.3'], nodeStatus: () => ({ capacity }) };
  }

  /** Lets everything happen that is due now. */
  settle(): Promise<void> {
    const managers = this.nodes.inspect().nodes.map(({ nodeName }) => this.nodes.node(nodeName)!.statusManager);
    return settle(this.clock, ...managers, this.server);
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advanceAsync(ms, () => this.settle());
  }

  /** Binds a pod to a node, as the scheduler does. */
  async create(pod: Pod, nodeName = 'node-a'): Promise<string> {
    const { metadata, spec } = pod;
    const created = this.server.pods.create({
      ...pod,
      metadata: { namespace: 'default', ...metadata },
      spec: { ...spec!, nodeName },
    });
    await this.settle();
    return created.metadata.uid;
  }

  /** Starts nodes, and the pod `web`, which runs. Resolves with its UID. */
  async runningPod(...args: Parameters<TestNodes['startNodes']>): Promise<string> {
    await this.startNodes(...args);
    const uid = await this.create(podOf());
    await this.advance(7000);
    const phase = this.status('web')?.phase;
    if (phase !== 'Running') throw new Error(`The pod is ${phase}`);
    return uid;
  }

  pod(name: string): Pod | undefined {
    return this.server.pods.list().find(({ metadata }) => metadata?.name === name);
  }

  status(name: string): PodStatus | undefined {
    return this.pod(name)?.status as PodStatus | undefined;
  }

  condition(name: string, type: string): string | undefined {
    return this.status(name)?.conditions?.find((condition) => condition.type === type)?.status;
  }

  /** Stops the process while time goes on. */
  async stopNodes(...args: Parameters<VirtualNodes['stop']>): Promise<void> {
    const nodes = this.#nodes;
    if (nodes === undefined) return;
    let isStopped = false;
    const stopping = nodes.stop(...args).finally(() => (isStopped = true));
    for (let i = 0; i < 20; i++) await this.clock.yieldToEventLoop();
    while (!isStopped) await this.clock.advanceAsync(100, () => settle(this.clock, this.server));
    await stopping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopNodes();
    this.server.kill();
  }
}

/** A pod with one container. */
export function podOf(name = 'web', spec: Partial<NonNullable<Pod['spec']>> = {}): Pod {
  return { metadata: { name }, spec: { containers: [{ name: 'app', image: 'app:1' }], ...spec } };
}
