import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { constants } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import groupBy from 'lodash/groupBy.js';
import { type Clock, type Container, type ResourceRequirementsInput, systemClock } from 'kubelet-status-manager';
import {
  type CallOptions,
  type ContainerConfig,
  ContainerConfigError,
  type ContainerRuntime,
  type ExecResult,
  type PodSandboxConfig,
  type RuntimeEvent,
  type RuntimeHelper,
  type RuntimePod,
} from 'kubelet-status-manager/agent';
import type { ContainerIO, ContainerLog, StreamingRuntime } from 'kubelet-status-manager/kubelet-api';
import { makeDirectories } from '../make-directories.ts';
import { type ContainerConfigFile, ContainerFiles } from './container-files.ts';
import { readJSONFile, writeJSONFile } from './durable-file.ts';
import { exec, type ExecRequest, execWithStreams } from './exec.ts';
import { linkMounts, pathInRoot } from './volume-mounts.ts';
import type { NodeDirectory } from './node-directory.ts';
import { noTerminal, ProcessContainer } from './process-container.ts';
import { ProcessGroupGuard } from './process-group.ts';

export interface ProcessRuntimeOptions {
  readonly directory: NodeDirectory;
  /** Of `createRuntimeHelper` with `mounts: false`. */
  readonly helper: Pick<RuntimeHelper, 'generateRunContainerOptions'>;
  /** The addresses of the machine, which its pods share. */
  readonly podIPs: readonly string[];
  /** Default: the real clock. */
  readonly clock?: Clock | undefined;
}

const noCommand =
  'the container has no command: this agent runs processes and does not pull images, which could name one';

/** A sandbox: the claim of a pod to its directory. */
interface Sandbox {
  readonly id: string;
  readonly podUID: string;
  readonly name: string;
  readonly namespace: string;
  readonly attempt: number;
  readonly createdAtMs: number;
  readonly hostNetwork: boolean;
  readonly ready: boolean;
}

/**
 * Runs each container as a process on this machine, without isolation. The processes outlive the
 * agent: a runtime that is opened on the same directory finds them again, and the exit codes of those
 * that have ended in the meantime. One runtime at a time may use a directory. A sandbox is the
 * pod's directory.
 */
export class ProcessRuntime implements ContainerRuntime, StreamingRuntime {
  readonly #directory: NodeDirectory;
  readonly #options: ProcessRuntimeOptions;
  readonly #clock: Clock;
  readonly #sandboxes = new Map<string, Sandbox>();
  readonly #containers = new Map<string, ProcessContainer>();
  readonly #listeners = new Set<(event: RuntimeEvent) => void>();
  /** Kills commands that are executed in containers when the agent ends. */
  readonly #guard = new ProcessGroupGuard();

  /** Resolves when all containers of earlier agents have been found. */
  static async open(options: ProcessRuntimeOptions): Promise<ProcessRuntime> {
    const runtime = new ProcessRuntime(options);
    await runtime.#recover();
    return runtime;
  }

  private constructor(options: ProcessRuntimeOptions) {
    this.#options = options;
    this.#directory = options.directory;
    this.#clock = options.clock ?? systemClock;
  }

  /** Containers keep running; the next runtime on the directory finds them. */
  close(): void {
    for (const container of this.#containers.values()) container.disconnect();
    this.#guard.close();
  }

  hasRunningContainers(): boolean {
    return [...this.#containers.values()].some(({ isRunning }) => isRunning);
  }

  async killAll(): Promise<void> {
    await Promise.all([...this.#containers.values()].map((container) => container.stop(0)));
  }

  async listPods(): Promise<RuntimePod[]> {
    const containers = groupBy([...this.#containers.values()], ({ config }) => config.podUID);
    const sandboxes = groupBy([...this.#sandboxes.values()], ({ podUID }) => podUID);
    return Object.entries(sandboxes).map(([uid, own]) => this.#podWith(own, containers[uid]));
  }

  async getPod(uid: string): Promise<RuntimePod | undefined> {
    return this.#podOf(uid);
  }

  async runPodSandbox({ pod, attempt }: PodSandboxConfig): Promise<string> {
    const { name, namespace, uid } = pod.metadata;
    makeDirectories(this.#directory.sandboxes(uid), 0o700);
    const sandbox: Sandbox = {
      ...{ id: newID(), podUID: uid, name, namespace, attempt },
      createdAtMs: this.#clock.now(),
      hostNetwork: pod.spec?.hostNetwork === true,
      ready: true,
    };
    this.#saveSandbox(sandbox);
    this.#emit('created', uid);
    return sandbox.id;
  }

  async stopPodSandbox(sandboxID: string): Promise<void> {
    const sandbox = this.#sandboxes.get(sandboxID);
    if (sandbox === undefined) return;
    await Promise.all(this.#containersIn(sandboxID).map((container) => container.stop(0)));
    if (!sandbox.ready) return;
    this.#saveSandbox({ ...sandbox, ready: false });
    this.#emit('stopped', sandbox.podUID);
  }

  async removePodSandbox(sandboxID: string): Promise<void> {
    const sandbox = this.#sandboxes.get(sandboxID);
    if (sandbox === undefined) return;
    const { podUID } = sandbox;
    for (const { config } of this.#containersIn(sandboxID)) await this.removeContainer(config.id);
    this.#sandboxes.delete(sandboxID);
    await rm(this.#sandboxFile(sandbox), { force: true });
    if (this.#podOf(podUID) === undefined) {
      await rm(this.#directory.logDirectory({ ...sandbox, uid: podUID }), { recursive: true, force: true });
      await rm(this.#directory.podDirectory(podUID), { recursive: true, force: true });
    }
    this.#emit('deleted', podUID);
  }

  async createContainer({ pod, container, attempt, hash, sandboxID = '' }: ContainerConfig): Promise<string> {
    const podUID = pod.metadata?.uid ?? '';
    const id = newID();
    const files = new ContainerFiles(join(this.#directory.containers(podUID), id));
    const logDirectory = this.#directory.containerLogDirectory(pod, container.name);
    try {
      const { helper, podIPs } = this.#options;
      const { command, args, envs, mounts } = await helper.generateRunContainerOptions(pod, container, podIPs);
      const [file, ...firstArgs] = command;
      if (file === undefined) throw new ContainerConfigError(noCommand);
      // From here on nothing waits: a pod that is removed meanwhile would get its folders back.
      if (!this.#sandboxes.has(sandboxID)) throw new Error(`sandbox ${sandboxID} has been removed`);
      makeDirectories(files.root, 0o700);
      makeDirectories(logDirectory, 0o700);
      linkMounts(files.root, mounts);
      const terminationMessageFile = pathInRoot(
        files.root,
        textOr(container.terminationMessagePath, '/dev/termination-log'),
      );
      makeDirectories(dirname(terminationMessageFile));
      const config: ContainerConfigFile = {
        ...{ id, podUID, name: container.name, sandboxID, attempt, hash, image: container.image ?? '' },
        ...{ file, args: [...firstArgs, ...args] },
        createdAtMs: this.#clock.now(),
        workingDir: workingDirectory(files.root, container.workingDir),
        stopSignal: stopSignal(container),
        stdin: container.stdin === true,
        stdinOnce: container.stdinOnce === true,
        logFile: join(logDirectory, `${attempt}.log`),
        terminationMessageFile,
        fallsBackToLogs: container.terminationMessagePolicy === 'FallbackToLogsOnError',
        socket: this.#directory.socket(id),
      };
      const variables = Object.fromEntries(envs.map(({ name, value }) => [name, value]));
      const PATH = process.env['PATH'] ?? '';
      files.writeEnvironment({ PATH, HOME: files.root, HOSTNAME: pod.metadata.name, ...variables });
      files.writeConfig(config);
      this.#addContainer(config, files);
    } catch (error) {
      await rm(files.directory, { recursive: true, force: true });
      throw error;
    }
    this.#emit('created', podUID, id);
    return `process://${id}`;
  }

  async startContainer(containerID: string): Promise<void> {
    await this.#container(containerID).start();
  }

  async stopContainer(containerID: string, gracePeriodSeconds: number, { signal }: CallOptions = {}): Promise<void> {
    await this.#containers.get(idOf(containerID))?.stop(gracePeriodSeconds, signal);
  }

  /** Processes are not limited: the resources are only shown in the status. */
  async updateContainerResources(containerID: string, resources: ResourceRequirementsInput): Promise<void> {
    this.#container(containerID).setResources(resources);
  }

  async removeContainer(containerID: string): Promise<void> {
    const id = idOf(containerID);
    const container = this.#containers.get(id);
    if (container === undefined) return;
    await container.stop(0);
    await container.remove();
    this.#containers.delete(id);
    this.#emit('deleted', container.config.podUID, id);
  }

  async execSync(
    containerID: string,
    command: readonly string[],
    timeoutMs: number,
    { signal }: CallOptions = {},
  ): Promise<ExecResult> {
    return this.#exec(containerID, signal, async (request, ended) => {
      const timer = this.#clock.afterFunc(timeoutMs, () =>
        ended.abort(new Error(`command timed out after ${timeoutMs} ms`)),
      );
      try {
        return await exec({ ...request, command });
      } finally {
        timer.stop();
      }
    });
  }

  /** For `kubectl exec`. */
  async exec(
    containerID: string,
    command: readonly string[],
    io: ContainerIO,
    { signal }: CallOptions = {},
  ): Promise<number> {
    if (io.tty) throw new Error(noTerminal);
    return this.#exec(containerID, signal, (request) => execWithStreams({ ...request, command }, io));
  }

  /** For `kubectl attach`. */
  async attach(containerID: string, io: ContainerIO, { signal }: CallOptions = {}): Promise<void> {
    await this.#container(containerID).attach(io, signal);
  }

  /** For `kubectl logs`. */
  async getContainerLog(containerID: string): Promise<ContainerLog | undefined> {
    const container = this.#containers.get(idOf(containerID));
    return container && { path: container.config.logFile, isRunning: container.isRunning };
  }

  subscribe(listener: (event: RuntimeEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Runs a command, which ends with the container. */
  async #exec<T>(
    containerID: string,
    signal: AbortSignal | undefined,
    run: (request: Omit<ExecRequest, 'command'>, ended: AbortController) => Promise<T>,
  ): Promise<T> {
    const container = this.#container(containerID);
    if (!container.isRunning) throw new Error(`the container ${containerID} does not run`);
    const ended = new AbortController();
    const onAbort = (): void => ended.abort(signal!.reason);
    signal?.addEventListener('abort', onAbort);
    container.execs.add(ended);
    try {
      signal?.throwIfAborted();
      const env = container.files.readEnvironment();
      const { workingDir } = container.config;
      return await run({ env, workingDir, signal: ended.signal, guard: this.#guard }, ended);
    } finally {
      container.execs.delete(ended);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #recover(): Promise<void> {
    for (const path of [this.#directory.pods, this.#directory.logs, this.#directory.sockets]) {
      makeDirectories(path, 0o700);
    }
    for (const podUID of readdirSync(this.#directory.pods)) {
      for (const file of filesIn(this.#directory.sandboxes(podUID))) {
        const sandbox = file.endsWith('.json') ? (readJSONFile(file) as Sandbox | undefined) : undefined;
        if (sandbox !== undefined) this.#sandboxes.set(sandbox.id, sandbox);
      }
      for (const directory of filesIn(this.#directory.containers(podUID))) {
        const files = new ContainerFiles(directory);
        const config = files.readConfig();
        // The agent was killed while it created the container.
        if (config === undefined) rmSync(directory, { recursive: true, force: true });
        else this.#addContainer(config, files);
      }
    }
    this.#finishRemovals();
    await Promise.all([...this.#containers.values()].map((container) => container.recover()));
  }

  /** Removes the files that an agent left if it was killed while it removed a container or a pod. */
  #finishRemovals(): void {
    const remove = (path: string): void => rmSync(path, { recursive: true, force: true });
    const { pods, logs, sockets } = this.#directory;
    const podUIDs = new Set([...this.#sandboxes.values()].map(({ podUID }) => podUID));
    for (const { config } of this.#containers.values()) podUIDs.add(config.podUID);
    for (const path of filesIn(pods)) if (!podUIDs.has(basename(path))) remove(path);
    for (const path of filesIn(logs)) if (!podUIDs.has(path.slice(path.lastIndexOf('_') + 1))) remove(path);
    for (const path of filesIn(sockets)) if (!this.#containers.has(basename(path))) remove(path);
  }

  #addContainer(config: ContainerConfigFile, files: ContainerFiles): void {
    const onChange = (type: RuntimeEvent['type']): void => this.#emit(type, config.podUID, config.id);
    this.#containers.set(config.id, new ProcessContainer(config, files, this.#clock, onChange));
  }

  #podOf(uid: string): RuntimePod | undefined {
    const sandboxes = [...this.#sandboxes.values()].filter(({ podUID }) => podUID === uid);
    if (sandboxes.length === 0) return undefined;
    const containers = [...this.#containers.values()].filter(({ config }) => config.podUID === uid);
    return this.#podWith(sandboxes, containers);
  }

  /** A pod has at least one sandbox. */
  #podWith(sandboxes: readonly Sandbox[], containers: readonly ProcessContainer[] = []): RuntimePod {
    const { podUID, name, namespace } = sandboxes[0]!;
    const [ip, ...additionalIPs] = this.#options.podIPs;
    const network = { ip, additionalIPs };
    return {
      ...{ uid: podUID, name, namespace },
      sandboxes: sandboxes.map(({ id, attempt, createdAtMs, ready, hostNetwork }) => ({
        ...{ id, attempt, createdAtMs, ready, hostNetwork },
        ...(!hostNetwork && { network }),
      })),
      containers: containers.map((container) => container.status()),
    };
  }

  #containersIn(sandboxID: string): ProcessContainer[] {
    return [...this.#containers.values()].filter(({ config }) => config.sandboxID === sandboxID);
  }

  #container(containerID: string): ProcessContainer {
    const container = this.#containers.get(idOf(containerID));
    if (container === undefined) throw new Error(`the container ${containerID} does not exist`);
    return container;
  }

  #sandboxFile({ podUID, id }: Sandbox): string {
    return join(this.#directory.sandboxes(podUID), `${id}.json`);
  }

  #saveSandbox(sandbox: Sandbox): void {
    writeJSONFile(this.#sandboxFile(sandbox), sandbox);
    this.#sandboxes.set(sandbox.id, sandbox);
  }

  #emit(type: RuntimeEvent['type'], podUID: string, id?: string): void {
    const event = { type, podUID, ...(id !== undefined && { containerID: `process://${id}` }) };
    for (const listener of this.#listeners) listener(event);
  }
}

function newID(): string {
  return randomBytes(6).toString('hex');
}

function idOf(containerID: string): string {
  return containerID.replace('process://', '');
}

function filesIn(directory: string): string[] {
  return existsSync(directory) ? readdirSync(directory).map((name) => join(directory, name)) : [];
}

function textOr(value: unknown, defaultText: string): string {
  return typeof value === 'string' && value !== '' ? value : defaultText;
}

/** A directory of the container if it exists, otherwise of the machine. */
function workingDirectory(root: string, workingDir: string | undefined): string {
  if (!workingDir) return root;
  const inRoot = pathInRoot(root, workingDir);
  return existsSync(inRoot) ? inRoot : resolve(root, workingDir);
}

function stopSignal({ lifecycle }: Container): NodeJS.Signals {
  const signal = textOr(lifecycle?.stopSignal, 'SIGTERM');
  if (Object.hasOwn(constants.signals, signal)) return signal as NodeJS.Signals;
  throw new ContainerConfigError(`the stopSignal ${signal} does not exist on this machine`);
}
