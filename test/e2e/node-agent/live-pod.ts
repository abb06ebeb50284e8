import type { Pod } from 'kubelet-status-manager';
import type { FakeExit } from '../../../src/testing/container-runtime/fake-container.ts';
import { expectOk, STRATEGIC_MERGE_PATCH } from '../../contract/pod-api.ts';
import type { AgentCluster } from './agent-cluster.ts';

/** What happens to a pod in a state; see `livePods`. */
export type Step = (pod: LivePod) => unknown;

/**
 * What the API server is to show of a pod, one state after the other. In parentheses: a state that may
 * be over before it is written. With a step: what a user or a container does in this state.
 */
export type Life = readonly (string | readonly [string, Step])[];

/** A pod of a test: what users and its containers do, and what the API server shows of it. */
export class LivePod {
  readonly cluster: AgentCluster;
  readonly name: string;
  readonly uid: string;

  constructor(cluster: AgentCluster, { metadata: { name = '', uid = '' } = {} }: Pod) {
    this.cluster = cluster;
    this.name = name;
    this.uid = uid;
  }

  /** The newest object on the API server. */
  get object(): Pod {
    const found = this.cluster.history.pod(this.name);
    if (found === undefined) throw new Error(`There is no pod ${this.name}`);
    return found;
  }

  /** Resolves when the API server shows this state, or has shown it since `from`. */
  async shows(line: string, from = 0): Promise<void> {
    await this.cluster.until(() => this.history.indexOf(line, from) !== -1);
  }

  get history(): readonly string[] {
    return this.cluster.history.of(this.name);
  }

  /** A container ends on its own. */
  async exit(container: string, exit: FakeExit = {}): Promise<void> {
    const { runtime } = this.cluster;
    await this.cluster.until(() => runtime.container(this.uid, container)?.state === 'running');
    runtime.exit(runtime.container(this.uid, container)!.id, exit);
  }

  /** A user asks for other resources of a container. */
  async resize(container: string, requests: Readonly<Record<string, string>>): Promise<void> {
    const body = { spec: { containers: [{ name: container, resources: { requests } }] } };
    expectOk(await this.cluster.server.pods.patch(`${this.name}/resize`, body, STRATEGIC_MERGE_PATCH));
  }

  /** A user deletes the pod. */
  async delete(options?: object): Promise<void> {
    expectOk(await this.cluster.server.pods.delete(this.name, options));
  }

  /** How often each container was started, by name. */
  get starts(): Readonly<Record<string, number>> {
    const starts: Record<string, number> = {};
    for (const { container = '' } of this.cluster.runtime.callsOf({ method: 'startContainer', podUID: this.uid }))
      starts[container] = (starts[container] ?? 0) + 1;
    return starts;
  }

  /** With which grace period its containers were stopped, in order. */
  get stops(): readonly string[] {
    return this.cluster.runtime
      .callsOf({ method: 'stopContainer', podUID: this.uid })
      .map(({ container, gracePeriodSeconds }) => `${container} ${gracePeriodSeconds}`);
  }

  get runs(): boolean {
    return this.cluster.runtime.pod(this.uid)?.containers.some(({ state }) => state === 'running') === true;
  }

  /** What the agent has logged about it. */
  get logLines(): readonly string[] {
    return this.cluster.logger.lines
      .filter(({ fields }) => fields['podUID'] === this.uid)
      .map(({ level, message, fields }) => `${level}: ${message} ${JSON.stringify(fields)}`);
  }

  /** Takes the steps of a life, each in its state; resolves when the last state is there. */
  async live(life: Life): Promise<void> {
    let from = 0;
    for (const entry of life) {
      const [line, step] = typeof entry === 'string' ? [entry, undefined] : entry;
      if (line.startsWith('(')) continue;
      await this.shows(line, from);
      from = this.history.indexOf(line, from);
      await step?.(this);
    }
  }
}

/** The states of a life, with those in parentheses that are in the history in their place. */
export function allowedHistory(history: readonly string[], life: Life): string[] {
  const allowed: string[] = [];
  for (const entry of life) {
    const line = typeof entry === 'string' ? entry : entry[0];
    const isOptional = line.startsWith('(');
    const text = isOptional ? line.slice(1, -1) : line;
    if (!isOptional || history[allowed.length] === text) allowed.push(text);
  }
  return allowed;
}
