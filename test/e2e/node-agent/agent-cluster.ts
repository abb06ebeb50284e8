import type { Pod, PodSpec } from 'kubelet-status-manager';
import { kubeConfigOf } from '../../contract/kube-config-of.ts';
import { createNodeAgent, type NodeAgent, type NodeAgentOptions } from 'kubelet-status-manager/agent';
import { FakeContainerRuntime, recordingLogger } from 'kubelet-status-manager/testing';
import { expectOk } from '../../contract/pod-api.ts';
import type { ContractServer } from '../../contract/servers.ts';
import type { Json, WatchStream } from '../../support/kube-http.ts';
import { LivePod } from './live-pod.ts';
import { PodHistory } from './pod-history.ts';

/** It has no Node until the agent registers it. */
export const nodeName = 'node-c';
const ownPods = `/api/v1/pods?fieldSelector=spec.nodeName%3D${nodeName}`;

/**
 * A node agent on the real clock, as the user of its node, with a runtime in memory. Users act as the
 * admin, who also watches: what a test expects of a pod is what the API server has sent.
 */
export class AgentCluster implements AsyncDisposable {
  readonly server: ContractServer;
  readonly runtime = new FakeContainerRuntime();
  readonly logger = recordingLogger();
  readonly history = new PodHistory();
  /** What a command gives, by its first word; default: it succeeds. */
  readonly commands = new Map<string, () => Promise<void>>();
  readonly #options: Partial<NodeAgentOptions>;
  readonly #waiters = new Set<() => void>();
  readonly agent: NodeAgent;
  #watch: WatchStream | undefined;

  static async start(server: ContractServer, options: Partial<NodeAgentOptions> = {}): Promise<AgentCluster> {
    const cluster = new AgentCluster(server, options);
    await cluster.#watchPods();
    await cluster.#startAgent();
    return cluster;
  }

  private constructor(server: ContractServer, options: Partial<NodeAgentOptions>) {
    this.server = server;
    this.#options = options;
    this.agent = this.#createAgent();
    this.runtime.subscribe?.(() => this.#wake());
    this.runtime.onExec(async ([command = '']) => {
      const exitCode = await Promise.resolve(this.commands.get(command)?.()).then(
        () => 0,
        () => 1,
      );
      return { exitCode, stdout: '', stderr: '' };
    });
  }

  /** A user creates a pod that is bound to the node. */
  async create(name: string, spec: Partial<PodSpec>): Promise<LivePod> {
    const created = await this.server.pods.create(name, { spec: { nodeName, ...(spec as Json) } });
    return new LivePod(this, created as Pod);
  }

  /** Resolves when the condition is met; it is looked at when the API server, the runtime or the agent tells of something. */
  until(isMet: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (!isMet()) return;
        this.#waiters.delete(check);
        resolve();
      };
      this.#waiters.add(check);
      check();
    });
  }

  /** Kills the API server as a crash would, and starts it again after `during`. */
  async outage(during: () => Promise<void>): Promise<void> {
    this.#watch?.close();
    await this.server.kill();
    await during();
    await this.server.startAgain();
    // The first requests may take connections that the crash has closed.
    for (let isConnected = false; !isConnected;)
      isConnected = await this.#watchPods().then(
        () => true,
        () => false,
      );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.agent.stop();
    this.#watch?.close();
  }

  #createAgent(): NodeAgent {
    const agent = createNodeAgent({
      nodeName,
      client: kubeConfigOf(this.server, this.server.nodeToken(nodeName)),
      runtime: this.runtime,
      node: { addresses: ['10.1.2.3'] },
      logger: this.logger,
      ...this.#options,
    });
    agent.statusManager.subscribe({ onOutcome: () => this.#wake() });
    return agent;
  }

  async #startAgent(): Promise<void> {
    this.agent.start();
    await this.agent.whenReady();
  }

  async #watchPods(): Promise<void> {
    const { http } = this.server;
    const { items, metadata } = expectOk(await http.request('GET', ownPods));
    this.history.replace(items as Pod[]);
    this.#wake();
    this.#watch = await http.watch(`${ownPods}&watch=true&resourceVersion=${metadata.resourceVersion}`);
    void this.#read(this.#watch);
  }

  async #read(watch: WatchStream): Promise<void> {
    try {
      for await (const { type, object } of watch) {
        if (type === 'DELETED') this.history.removed(object as Pod);
        else this.history.seen(object as Pod);
        this.#wake();
      }
    } catch {
      // The API server is down, or the test is over.
    }
  }

  #wake(): void {
    for (const check of this.#waiters) check();
  }
}
