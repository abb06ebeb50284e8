import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { NodeAgentProcess } from './agents.ts';
import type { Cluster } from './cluster.ts';
import type { Machine } from './machine.ts';

/** What happens to the node while pods run. */
export const disturbances = ['agent-restart', 'agent-crash', 'runtime-restart', 'reboot', 'wipe'] as const;
export type Disturbance = (typeof disturbances)[number];

/** What shapes need of a node. */
export interface ShapeNode {
  readonly cluster: Cluster;
  readonly agent: Pick<NodeAgentProcess, 'staticPods'>;
  readonly machine: Pick<Machine, 'containerProcesses' | 'exportImage' | 'folder' | 'removeImage' | 'sandboxProcess'>;
  disturb(disturbance: Disturbance, whileAway?: readonly (() => Promise<unknown>)[]): Promise<void>;
}

/** The machine with one of the agents. */
export class NodeUnderTest implements ShapeNode {
  readonly machine: Machine;
  readonly agent: NodeAgentProcess;
  readonly cluster: Cluster;

  constructor(machine: Machine, agent: NodeAgentProcess, cluster: Cluster) {
    this.machine = machine;
    this.agent = agent;
    this.cluster = cluster;
  }

  async startAgent(): Promise<void> {
    const startedAtMs = Date.now();
    await this.agent.start();
    await this.cluster.waitForNode(startedAtMs);
  }

  /**
   * Containers end in the 3 s in which an agent is away, so that it has to find out.
   *
   * @param whileAway called while the agent is away, where that is all that happens
   */
  async disturb(disturbance: Disturbance, whileAway: readonly (() => Promise<unknown>)[] = []): Promise<void> {
    switch (disturbance) {
      case 'agent-restart':
      case 'agent-crash':
        await this.agent.stop(disturbance === 'agent-crash' ? 'SIGKILL' : 'SIGTERM');
        await Promise.all(whileAway.map((call) => call()));
        await sleep(3_000);
        return this.startAgent();
      case 'runtime-restart':
        await this.machine.restartContainerd();
        return sleep(3_000);
      case 'reboot':
        await this.agent.stop('SIGKILL');
        await this.machine.powerOff(this.agent.folder);
        await this.machine.powerOn();
        return this.startAgent();
      case 'wipe':
        await this.agent.stop('SIGKILL');
        await this.machine.powerOff(this.agent.folder);
        this.machine.wipeContainerd();
        await this.machine.powerOnWithImages();
        return this.startAgent();
    }
  }

  /** Stops the agent and removes its Node, its sandboxes and its files; the logs stay. */
  async stop(): Promise<void> {
    await this.agent.stop();
    await this.machine.removeSandboxes();
    await this.cluster.deleteNode();
    this.machine.forget(this.agent.folder);
    rmSync(this.agent.staticPods, { recursive: true, force: true });
  }
}
