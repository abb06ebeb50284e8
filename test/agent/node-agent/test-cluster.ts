import type { Pod, PodStatus } from 'kubelet-status-manager';
import { createNodeAgent, type NodeAgent, type NodeAgentOptions } from 'kubelet-status-manager/agent';
import type { KubeEvent } from '../../../src/node/events/kube-event.ts';
import { FakeClock, FakeContainerRuntime, recordingLogger, settle } from 'kubelet-status-manager/testing';
import { DirectAPIServer } from '../../support/direct-api-server.ts';

const nodeName = 'node-a';

export interface TestClusterOptions {
  readonly runtime?: Omit<NonNullable<ConstructorParameters<typeof FakeContainerRuntime>[0]>, 'clock'>;
}

/** An API server, a runtime, and the agents of one node that a test starts one after the other; on one fake clock. */
export class TestCluster implements AsyncDisposable {
  readonly clock = new FakeClock('2026-01-02T03:04:05Z');
  readonly logger = recordingLogger();
  readonly runtime: FakeContainerRuntime;
  /** What the API server was asked, without reads: `PATCH /api/v1/… 200`. */
  readonly writes: string[] = [];
  readonly #starts: { readonly podUID: string; readonly container: string; readonly seconds: number }[] = [];
  readonly #events: KubeEvent[] = [];
  readonly #startedMs = this.clock.monotonicMs();
  #server: DirectAPIServer | undefined;
  #agent: NodeAgent | undefined;

  private constructor({ runtime }: TestClusterOptions) {
    this.runtime = new FakeContainerRuntime({ clock: this.clock, ...runtime });
    this.runtime.subscribe?.(({ type, podUID, containerID }) => {
      const started = this.runtime.pod(podUID)?.containers.find(({ id }) => id === containerID);
      if (type !== 'started' || started === undefined) return;
      this.#starts.push({ podUID, container: started.name, seconds: this.seconds });
    });
  }

  static async start(options: TestClusterOptions = {}): Promise<TestCluster> {
    const cluster = new TestCluster(options);
    cluster.#server = new DirectAPIServer({
      clock: cluster.clock,
      nodeUsers: [nodeName],
      onRequest: ({ method, path, status, body }) => {
        if (method === 'GET') return;
        const [withoutQuery = '', query = ''] = path.split('?');
        // Of checkAccess.
        if (query.includes('dryRun=All') || withoutQuery.endsWith('reviews')) return;
        cluster.writes.push(`${method} ${withoutQuery} ${status}`);
        if (status === 201 && withoutQuery.endsWith('/events')) cluster.#events.push(JSON.parse(body) as KubeEvent);
      },
    });
    return cluster;
  }

  get server(): DirectAPIServer {
    return this.#server!;
  }

  /** Those about pods that were created, oldest first; a repeated event is one. */
  podEvents(): string[] {
    return this.#events
      .filter(({ involvedObject }) => involvedObject.kind === 'Pod')
      .map(({ reason, involvedObject }) => `${involvedObject.name}: ${reason}`);
  }

  nodeCondition(type: string): { readonly status: string; readonly reason?: string } | undefined {
    const { status } = this.server.nodes.list()[0] as { status?: { conditions?: { type: string; status: string }[] } };
    return status?.conditions?.find((condition) => condition.type === type);
  }

  /** The time since the start, whatever the wall clock says. */
  get seconds(): number {
    return (this.clock.monotonicMs() - this.#startedMs) / 1000;
  }

  /** When a container of the pod was started, in seconds. */
  startTimes(podUID: string, container: string): number[] {
    return this.#starts
      .filter((start) => start.podUID === podUID && start.container === container)
      .map(({ seconds }) => seconds);
  }

  get agent(): NodeAgent {
    if (this.#agent === undefined) throw new Error('No agent was started');
    return this.#agent;
  }

  /** A new agent on the same runtime and API server. */
  createAgent(options: Partial<NodeAgentOptions> = {}): NodeAgent {
    this.#agent = createNodeAgent({
      nodeName,
      client: this.server.client(nodeName),
      runtime: this.runtime,
      node: { addresses: ['10.1.2.3'] },
      clock: this.clock,
      random: () => 0,
      logger: this.logger,
      ...options,
    });
    return this.#agent;
  }

  /** `createAgent`, started, and all that is due done. */
  async startAgent(options: Partial<NodeAgentOptions> = {}): Promise<NodeAgent> {
    const agent = this.createAgent(options);
    agent.start();
    await this.advance(500);
    return agent;
  }

  /** Lets everything happen that is due now. */
  settle(): Promise<void> {
    return settle(this.clock, this.agent.statusManager, this.server);
  }

  async advance(ms: number): Promise<void> {
    await this.clock.advanceAsync(ms, () => this.settle());
  }

  /** Lets the event loop turn until something outside of the cluster has had its effect: a file was read, for example. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await this.clock.yieldToEventLoop();
    await this.settle();
  }

  /** Binds a pod to the node, as the scheduler does. */
  async create(pod: Pod): Promise<string> {
    const { metadata, spec } = pod;
    const created = this.server.pods.create({
      ...pod,
      metadata: { namespace: 'default', ...metadata },
      spec: { ...spec!, nodeName },
    });
    await this.settle();
    return created.metadata.uid;
  }

  pod(name: string): Pod | undefined {
    return this.server.pods.list().find(({ metadata }) => metadata?.name === name);
  }

  status(name: string): PodStatus | undefined {
    return this.pod(name)?.status as PodStatus | undefined;
  }

  /** How often a container of the pod was started. */
  starts(podUID: string, container: string): number {
    return this.runtime.callsOf({ method: 'startContainer', podUID, container }).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopAgent();
    this.server.kill();
  }

  /** Stops the agent while time goes on. */
  async stopAgent(...args: Parameters<NodeAgent['stop']>): Promise<void> {
    const agent = this.#agent;
    if (agent === undefined) return;
    let isStopped = false;
    const stopping = agent.stop(...args).finally(() => (isStopped = true));
    for (let i = 0; i < 20; i++) await this.clock.yieldToEventLoop();
    while (!isStopped) await this.clock.advanceAsync(100, () => settle(this.clock, this.server));
    await stopping;
  }
}
