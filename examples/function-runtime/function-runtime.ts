import { randomUUID } from 'node:crypto';
import type {
  ContainerConfig,
  ContainerRuntime,
  ExecResult,
  RuntimeContainerStatus,
  RuntimePod,
} from 'kubelet-status-manager/agent';

interface Run {
  readonly config: ContainerConfig;
  readonly stop: AbortController;
  status: RuntimeContainerStatus;
  exited?: Promise<void>;
}

/** Runs a function for each container. The container has completed when its promise resolves. */
export class FunctionRuntime implements ContainerRuntime {
  readonly #runs = new Map<string, Run>();
  readonly #main: (config: ContainerConfig, signal: AbortSignal) => Promise<void>;

  constructor(main: (config: ContainerConfig, signal: AbortSignal) => Promise<void>) {
    this.#main = main;
  }

  async listPods(): Promise<RuntimePod[]> {
    const uids = new Set(Array.from(this.#runs.values(), ({ config }) => config.pod.metadata.uid));
    return Array.from(uids, (uid) => this.#podOf(uid)!);
  }

  async getPod(uid: string): Promise<RuntimePod | undefined> {
    return this.#podOf(uid);
  }

  async createContainer(config: ContainerConfig): Promise<string> {
    const { container, attempt, hash } = config;
    const id = `function://${randomUUID()}`;
    const { name, image } = container;
    const status = { id, name, image, state: 'created', attempt, hash, createdAtMs: Date.now() } as const;
    this.#runs.set(id, { config, stop: new AbortController(), status });
    return id;
  }

  async startContainer(containerID: string): Promise<void> {
    const run = this.#runs.get(containerID);
    if (run === undefined) throw new Error(`The container ${containerID} does not exist`);
    run.status = { ...run.status, state: 'running', startedAtMs: Date.now() };
    run.exited = this.#main(run.config, run.stop.signal).then(
      () => this.#exit(run, 0, 'Completed'),
      (error: unknown) => this.#exit(run, 1, 'Error', String(error)),
    );
  }

  async stopContainer(containerID: string): Promise<void> {
    const run = this.#runs.get(containerID);
    run?.stop.abort();
    await run?.exited;
  }

  async removeContainer(containerID: string): Promise<void> {
    await this.stopContainer(containerID);
    this.#runs.delete(containerID);
  }

  async execSync(): Promise<ExecResult> {
    throw new Error('This runtime runs no commands');
  }

  #exit(run: Run, exitCode: number, reason: string, message?: string): void {
    run.status = { ...run.status, state: 'exited', finishedAtMs: Date.now(), exitCode, reason, message };
  }

  #podOf(uid: string): RuntimePod | undefined {
    const runs = [...this.#runs.values()].filter(({ config }) => config.pod.metadata?.uid === uid);
    const metadata = runs[0]?.config.pod.metadata;
    if (metadata === undefined) return undefined;
    const { name, namespace } = metadata;
    return { uid, name, namespace, ips: ['127.0.0.1'], containers: runs.map(({ status }) => status) };
  }
}
