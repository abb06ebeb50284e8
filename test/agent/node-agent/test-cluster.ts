import type { Pod, PodStatus } from 'kubelet-status-manager';
import { createNodeAgent, type NodeAgent, type NodeAgentOptions } from 'kubelet-status-manager/agent';
import {
  ApiServer,
  FakeClock,
  FakeContainerRuntime,
  type FakeContainerRuntimeOptions,
  recordingLogger,
  settle,
} from 'kubelet-status-manager/testing';

const nodeName = 'node-a';

export interface TestClusterOptions {
  readonly runtime?: Omit<FakeContainerRuntimeOptions, 'clock'>;
}

/** An API server, a runtime, and the agents of one node that a test starts one after the other; on one fake clock. */
export class TestCluster implements AsyncDisposable {
  readonly clock: FakeClock;
  readonly server: ApiServer;
  readonly runtime: FakeContainerRuntime;
  readonly logger = recordingLogger();
  /** Everything that the API server was asked, without reads. */
  readonly writes: string[] = [];
  #agent: NodeAgent | undefined;

  private constructor(clock: FakeClock, server: ApiServer, runtime: FakeContainerRuntime) {
    this.clock = clock;
    this.server = server;
    this.runtime = runtime;
  }

  static async start({ runtime }: TestClusterOptions = {}): Promise<TestCluster> {
    const clock = new FakeClock('2026-01-02T03:04:05Z');
    const writes: string[] = [];
    const server = await ApiServer.start({
      clock,
      nodeUsers: [nodeName],
      onRequest: ({ method, path, status }) => {
        if (method !== 'GET') writes.push(`${method} ${path.split('?')[0]} ${status}`);
      },
    });
    const cluster = new TestCluster(clock, server, new FakeContainerRuntime({ clock, ...runtime }));
    (cluster as { writes: string[] }).writes = writes;
    return cluster;
  }

  get agent(): NodeAgent {
    if (this.#agent === undefined) throw new Error('No agent was started');
    return this.#agent;
  }

  /** A new agent on the same runtime and API server. */
  createAgent(options: Partial<NodeAgentOptions> = {}): NodeAgent {
    this.#agent = createNodeAgent({
      nodeName,
      client: this.server.kubeconfig(nodeName),
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

  /** Binds a pod to the node, as the scheduler does. */
  async create(pod: Pod): Promise<string> {
    const { metadata, spec } = pod;
    const created = this.server.pods.create({
      ...pod,
      metadata: { namespace: 'default', ...metadata },
      spec: { ...spec!, nodeName },
    });
    await this.settle();
    return created.metadata!.uid!;
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
    await this.server.close();
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
