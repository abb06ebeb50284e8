import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../support/control-plane.ts';
import type { Json } from '../support/kube-http.ts';
import type { Progress } from '../support/progress.ts';
import { runCommand } from '../support/run-command.ts';
import type { VirtualMachine } from './virtual-machine.ts';

/** An emulated machine takes up to ten times as long as a real one. */
const deadlineMs = 420_000;
const pollMs = 1000;

/** A virtual machine that is a node of a cluster, and the cluster's administrator. */
export class TestNode {
  readonly name: string;
  readonly machine: VirtualMachine;
  readonly controlPlane: ControlPlane;
  /** Of the administrator: kubeconfig, and what scripts write. */
  readonly folder: string;
  readonly signal: AbortSignal;
  readonly progress: Progress;

  constructor(options: Pick<TestNode, 'name' | 'machine' | 'controlPlane' | 'folder' | 'signal' | 'progress'>) {
    ({
      name: this.name,
      machine: this.machine,
      controlPlane: this.controlPlane,
      folder: this.folder,
      signal: this.signal,
      progress: this.progress,
    } = options);
  }

  /** Runs a script where `kubectl` has the administrator's kubeconfig. @throws CommandError */
  administer(script: string): Promise<string> {
    const env = { KUBECONFIG: `${this.folder}/admin.kubeconfig` };
    return runCommand('bash', ['-euo', 'pipefail', '-c', script], { cwd: this.folder, env, signal: this.signal });
  }

  /** Creates pods that need no scheduler and no token. */
  async createPods(specs: Readonly<Record<string, object>>): Promise<void> {
    const items = Object.entries(specs).map(([name, spec]) => ({
      ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
      spec: { nodeName: this.name, automountServiceAccountToken: false, terminationGracePeriodSeconds: 3, ...spec },
    }));
    await this.administer(
      `kubectl create -f - <<'END'\n${JSON.stringify({ apiVersion: 'v1', kind: 'List', items })}\nEND`,
    );
  }

  async deletePods(...names: readonly string[]): Promise<void> {
    await this.administer(`kubectl delete pods --timeout=300s ${names.join(' ')}`);
  }

  async get(resource: string): Promise<Json> {
    return JSON.parse(await this.administer(`kubectl get -o json ${resource}`));
  }

  async pod(name: string): Promise<Json> {
    return this.get(`pod ${name}`);
  }

  /** Resolves with the first result that is not false. @throws Error after seven minutes, with what was last seen */
  async until<Result>(
    what: string,
    check: () => Promise<Result | false>,
    describe?: () => Promise<unknown>,
  ): Promise<Result> {
    for (const startedAtMs = Date.now(); Date.now() < startedAtMs + deadlineMs; await sleep(pollMs)) {
      this.signal.throwIfAborted();
      const result = await check();
      if (result !== false) return result;
    }
    throw new Error(`Waited for: ${what}. Last seen: ${JSON.stringify(await describe?.())}`);
  }

  async untilPod(name: string, what: string, matches: (pod: Json) => boolean): Promise<Json> {
    const check = async (): Promise<Json> => {
      const pod = await this.pod(name);
      return matches(pod) && pod;
    };
    return this.until(`${name} ${what}`, check, async () => (await this.pod(name)).status);
  }

  untilReady(name: string): Promise<Json> {
    return this.untilPod(name, 'ready', (pod) => conditionOf(pod, 'Ready')?.status === 'True');
  }

  /** Waits for a condition of the Node that this agent has reported, not one before it. */
  async untilNode(type: string, status: string): Promise<void> {
    const object = `node ${this.name} --ignore-not-found`;
    const check = async (): Promise<boolean> => {
      const text = await this.administer(`kubectl get -o json ${object}`);
      return text !== '' && conditionOf(JSON.parse(text), type)?.status === status;
    };
    await this.until(`node: ${type} ${status}`, check);
  }

  async exec(pod: string, script: string): Promise<string> {
    return this.administer(`kubectl exec ${pod} -- sh -c '${script}'`);
  }
}

export function conditionOf({ status }: Json, type: string): Json {
  return status?.conditions?.find((condition: Json) => condition.type === type);
}

/** @throws Error unless both are equal as JSON */
export function expectEqual(what: string, actual: unknown, expected: unknown): void {
  const [is, wanted] = [actual, expected].map((value) => JSON.stringify(value));
  if (is !== wanted) throw new Error(`${what}: ${is}, expected ${wanted}`);
}
