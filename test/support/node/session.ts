import { mkdirSync } from 'node:fs';
import { type AgentName, type AgentOptions, createAgent } from './agents.ts';
import { Cluster } from './cluster.ts';
import { Machine } from './machine.ts';
import { NodeUnderTest } from './node-under-test.ts';

/** A machine whose node is run by one agent after the other. */
export class Session {
  readonly #machine: Machine;
  readonly #cluster: Cluster;
  #node: NodeUnderTest | undefined;
  #stopped: Promise<void> | undefined;

  static async start(folder: string, index: number): Promise<Session> {
    mkdirSync(folder, { recursive: true });
    const machine = await Machine.start(folder, index);
    const cluster = new Cluster(machine.kubeConfig('admin'));
    await cluster.createNamespace();
    return new Session(machine, cluster);
  }

  private constructor(machine: Machine, cluster: Cluster) {
    this.#machine = machine;
    this.#cluster = cluster;
  }

  /** The node with an agent that does not run yet. */
  node(name: AgentName, options?: AgentOptions): NodeUnderTest {
    const agent = createAgent(name, this.#machine, options);
    return (this.#node = new NodeUnderTest(this.#machine, agent, this.#cluster));
  }

  /** Calls a function while the node is run by an agent. */
  async withAgent<T>(name: AgentName, use: (node: NodeUnderTest) => Promise<T>): Promise<T> {
    const node = this.node(name);
    try {
      await node.startAgent();
      return await use(node);
    } finally {
      await node.stop();
    }
  }

  /** Ends everything that was started. Calling it again, as after a signal, waits for the same. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  async #stop(): Promise<void> {
    await this.#node?.agent.stop('SIGKILL');
    await this.#cluster.close();
    await this.#machine.stop();
    if (this.#node !== undefined) this.#machine.forget(this.#node.agent.folder);
  }
}
