import { once } from 'node:events';
import { resolve } from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import type { Container, Pod } from 'kubelet-status-manager';
import {
  type CallOptions,
  type ContainerConfig,
  ContainerConfigError,
  type ContainerRuntime,
  type ExecResult,
  type RuntimeContainerStatus,
  type RuntimeEvent,
  type RuntimePod,
} from 'kubelet-status-manager/agent';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

interface ThreadContainer {
  readonly pod: Pod;
  readonly spec: Container;
  readonly status: Mutable<RuntimeContainerStatus>;
  worker?: Worker;
  /** Resolves when the thread has ended. */
  ended: Promise<unknown>;
}

/**
 * Runs each container as a thread of this process: `command` is the file of a JavaScript module and
 * its arguments. To stop a container, the runtime sends the message `SIGTERM` to its `parentPort`, and
 * terminates it after its grace period. Commands of probes and hooks are modules, too. Threads end with
 * the agent, so the next agent starts without containers. Has neither sandboxes nor images.
 */
export class WorkerThreadsRuntime implements ContainerRuntime {
  readonly #containers = new Map<string, ThreadContainer>();
  readonly #listeners = new Set<(event: RuntimeEvent) => void>();
  readonly #directory: string;

  /** @param directory base directory of relative module names */
  constructor(directory: string) {
    this.#directory = directory;
  }

  async listPods(): Promise<RuntimePod[]> {
    const pods = new Map([...this.#containers.values()].map(({ pod }) => [pod.metadata?.uid ?? '', pod]));
    return [...pods].map(([uid, { metadata }]) => ({
      ...{ uid, name: metadata?.name ?? '', namespace: metadata?.namespace ?? '' },
      containers: [...this.#containers.values()]
        .filter(({ pod }) => pod.metadata?.uid === uid)
        .map(({ status }) => ({ ...status })),
    }));
  }

  async getPod(uid: string): Promise<RuntimePod | undefined> {
    return (await this.listPods()).find((pod) => pod.uid === uid);
  }

  async createContainer({ pod, container: spec, attempt, hash }: ContainerConfig): Promise<string> {
    if (!spec.command?.length) throw new ContainerConfigError('the container has no command, which names its module');
    const id = `thread://${crypto.randomUUID()}`;
    const { name, image } = spec;
    const status = { id, name, image, attempt, hash, state: 'created', createdAtMs: Date.now() } as const;
    this.#containers.set(id, { pod, spec, status: { ...status }, ended: Promise.resolve() });
    this.#emit('created', pod, id);
    return id;
  }

  async startContainer(containerID: string): Promise<void> {
    const container = this.#containers.get(containerID);
    if (container === undefined) throw new Error(`the container ${containerID} does not exist`);
    const { pod, spec, status } = container;
    const worker = this.#start([...spec.command!, ...(spec.args ?? [])], spec);
    container.worker = worker;
    container.ended = exitCodeOf(worker);
    worker.on('error', (error: Error) => (status.message = error.message));
    worker.once('exit', (exitCode) => {
      const code = status.exitCode ?? exitCode;
      const reason = code === 0 ? 'Completed' : 'Error';
      Object.assign(status, { state: 'exited', exitCode: code, reason, finishedAtMs: Date.now() });
      this.#emit('stopped', pod, containerID);
    });
    await once(worker, 'online');
    if (status.state === 'created') Object.assign(status, { state: 'running', startedAtMs: Date.now() });
    this.#emit('started', pod, containerID);
  }

  async stopContainer(containerID: string, gracePeriodSeconds: number, { signal }: CallOptions = {}): Promise<void> {
    const { worker, ended, status } = this.#containers.get(containerID) ?? {};
    if (worker === undefined || status?.state !== 'running') return;
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- that is for windows
    worker.postMessage('SIGTERM');
    const kill = setTimeout(() => {
      status.exitCode = 137;
      void worker.terminate();
    }, gracePeriodSeconds * 1000);
    const aborted = new Promise<never>((_, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
    try {
      await Promise.race([ended, aborted]);
    } finally {
      clearTimeout(kill);
    }
  }

  async removeContainer(containerID: string): Promise<void> {
    await this.stopContainer(containerID, 0);
    const container = this.#containers.get(containerID);
    this.#containers.delete(containerID);
    if (container !== undefined) this.#emit('deleted', container.pod, containerID);
  }

  async execSync(
    containerID: string,
    command: readonly string[],
    timeoutMs: number,
    { signal }: CallOptions = {},
  ): Promise<ExecResult> {
    const container = this.#containers.get(containerID);
    if (container?.status.state !== 'running') throw new Error(`the container ${containerID} does not run`);
    const worker = this.#start(command, container.spec, { stdout: true, stderr: true });
    const output = { stdout: '', stderr: '' };
    worker.stdout.on('data', (chunk: Buffer) => (output.stdout += String(chunk)));
    worker.stderr.on('data', (chunk: Buffer) => (output.stderr += String(chunk)));
    worker.on('error', (error: Error) => (output.stderr += error.message));
    const ended = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]);
    ended.addEventListener('abort', () => void worker.terminate());
    const exitCode = await exitCodeOf(worker);
    if (ended.aborted) throw new Error(`the command was stopped, after ${timeoutMs} ms at the latest`);
    return { exitCode, ...output };
  }

  subscribe(listener: (event: RuntimeEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #start([module = '', ...argv]: readonly string[], { env = [] }: Container, options: WorkerOptions = {}): Worker {
    const variables = Object.fromEntries(env.map(({ name, value = '' }) => [name, value]));
    return new Worker(resolve(this.#directory, module), { ...options, argv, env: variables });
  }

  #emit(type: RuntimeEvent['type'], pod: Pod, containerID: string): void {
    for (const listener of this.#listeners) listener({ type, podUID: pod.metadata?.uid ?? '', containerID });
  }
}

function exitCodeOf(worker: Worker): Promise<number> {
  return new Promise((resolve) => worker.once('exit', resolve));
}
