import { existsSync, rmdirSync, rmSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { constants, hostname } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import groupBy from 'lodash/groupBy.js';
import { podSpecOf } from '../kube/objects/kube-object.ts';
import { containersOf } from '../kube/pods/pod-containers.ts';
import type { Container, ResourceRequirementsInput, ValidPod } from '../kube/objects/types.ts';
import {
  type CallOptions,
  type ContainerConfig,
  ContainerConfigError,
  type ContainerIO,
  type ContainerLog,
  type ExecResult,
  type PodSandboxConfig,
  type RuntimeCondition,
  type RuntimeEvent,
  type RuntimePod,
} from '../node/index.ts';
import type { Clock } from '../shared/clock.ts';
import { systemEntropy } from '../shared/entropy.ts';
import { type Logger, reasonOf } from '../shared/logger.ts';
import { makeDirectoriesSync } from '../shared/make-directories.ts';
import { type DirectoryLock, lockDirectory } from '../shared/directory-lock.ts';
import { type ContainerConfigFile, ContainerFiles } from './container-files.ts';
import type { ProcessRuntime, ProcessRuntimeOptions } from './process-runtime-options.ts';
import { readJSONFile, writeJSONFile } from './durable-file.ts';
import { exec, type ExecRequest, execWithStreams } from './exec.ts';
import { linkMounts, pathInRoot } from './volume-mounts.ts';
import { filesIn, type NodeDirectory } from './node-directory.ts';
import { noTerminal, ProcessContainer } from './process-container.ts';
import { ProcessGroupGuard } from './process-group.ts';
import { type ProcessUser, unsupportedFields } from './unsupported-fields.ts';

type Parts = Pick<ProcessRuntimeOptions, 'helper' | 'hostIPs'> & {
  readonly directory: NodeDirectory;
  readonly user: ProcessUser;
  readonly clock: Clock;
  readonly logger: Logger;
};

const noCommand = 'the container has no command: images are not used, so none can name one';
/** The maximum number of fields that a message names. */
const maxNamedFields = 8;
/** The handler of a RuntimeClass for this runtime. */
const handler = 'process';

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
 * Runs each container as a process of this machine. The processes outlive the agent: a runtime that is opened on the same
 * directory finds them again, and the exit codes of those that have ended in the meantime. A sandbox is the pod's
 * directory.
 */
export class ProcessContainerRuntime implements ProcessRuntime {
  readonly #directory: NodeDirectory;
  readonly #parts: Parts;
  readonly #clock: Clock;
  readonly #sandboxes = new Map<string, Sandbox>();
  readonly #containers = new Map<string, ProcessContainer>();
  readonly #listeners = new Set<(event: RuntimeEvent) => void>();
  /** Kills commands that are executed in containers when the agent ends. */
  readonly #guard: ProcessGroupGuard;

  readonly #lock: DirectoryLock;

  /** Resolves when all containers of earlier agents have been found. */
  static async open(parts: Parts): Promise<ProcessContainerRuntime> {
    const { directory, clock } = parts;
    directory.claim();
    const lock = await lockDirectory(directory.sockets, clock);
    try {
      const runtime = new ProcessContainerRuntime(parts, lock);
      await runtime.#recover();
      return runtime;
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  private constructor(parts: Parts, lock: DirectoryLock) {
    this.#parts = parts;
    this.#lock = lock;
    this.#directory = parts.directory;
    this.#clock = parts.clock;
    this.#guard = new ProcessGroupGuard('commands in containers', parts);
  }

  async close(): Promise<void> {
    for (const container of this.#containers.values()) container.disconnect();
    this.#guard.close();
    await this.#lock.release();
  }

  /** Not ready if the directories are gone and cannot be created again, or cannot be written. */
  async status(): Promise<{ readonly conditions: readonly RuntimeCondition[] }> {
    const network: RuntimeCondition = { type: 'NetworkReady', status: true };
    try {
      this.#directory.make();
      return { conditions: [{ type: 'RuntimeReady', status: true }, network] };
    } catch (error) {
      const { message } = error as Error;
      return { conditions: [{ type: 'RuntimeReady', status: false, reason: 'NoRootDirectory', message }, network] };
    }
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
    makeDirectoriesSync(this.#directory.sandboxes(uid), 0o700);
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
    const stopped = { ...sandbox, ready: false };
    try {
      this.#saveSandbox(stopped);
    } catch (error) {
      // A full disk: the pod must end to make room. The next agent stops the sandbox again.
      this.#parts.logger.warn(
        { reason: reasonOf(error), sandbox: sandboxID },
        'Failed to record that a sandbox has stopped',
      );
      this.#sandboxes.set(sandboxID, stopped);
    }
    this.#emit('stopped', sandbox.podUID);
  }

  async removePodSandbox(sandboxID: string): Promise<void> {
    const sandbox = this.#sandboxes.get(sandboxID);
    if (sandbox === undefined) return;
    const { podUID } = sandbox;
    for (const { config } of this.#containersIn(sandboxID)) await this.removeContainer(config.id);
    // No await from here on: a static pod has the same UID when it comes back, and would lose its new folders.
    this.#sandboxes.delete(sandboxID);
    rmSync(this.#sandboxFile(sandbox), { force: true });
    if (this.#podOf(podUID) === undefined) {
      rmSync(this.#directory.logDirectory({ ...sandbox, uid: podUID }), { recursive: true, force: true });
      this.#removePod(podUID);
    }
    this.#emit('deleted', podUID);
  }

  async createContainer(
    { pod, container, attempt, hash, sandboxID = '' }: ContainerConfig,
    { signal }: CallOptions = {},
  ): Promise<string> {
    const { uid: podUID, namespace: podNamespace, name: podName } = pod.metadata;
    const id = newID();
    const files = new ContainerFiles(join(this.#directory.containers(podUID), id));
    const logDirectory = this.#directory.containerLogDirectory(pod, container.name);
    try {
      await this.#requireSupport(pod, container);
      const { helper, hostIPs } = this.#parts;
      const { command, args, envs, mounts } = await helper.generateRunContainerOptions(pod, container, hostIPs, {
        signal,
      });
      const [file, ...firstArgs] = command;
      if (file === undefined) throw new ContainerConfigError(noCommand);
      // No await from here on: otherwise, a pod that is removed in the meantime would get its folders back.
      signal?.throwIfAborted();
      if (!this.#sandboxes.has(sandboxID)) throw new Error(`sandbox ${sandboxID} has been removed`);
      makeDirectoriesSync(files.root, 0o700);
      makeDirectoriesSync(logDirectory, 0o700);
      linkMounts(files.root, mounts);
      const terminationMessageFile = pathInRoot(
        files.root,
        textOr(container.terminationMessagePath, '/dev/termination-log'),
      );
      makeDirectoriesSync(dirname(terminationMessageFile));
      const config: ContainerConfigFile = {
        ...{
          id,
          podUID,
          podNamespace,
          podName,
          name: container.name,
          sandboxID,
          attempt,
          hash,
          image: container.image ?? '',
        },
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
      const HOSTNAME = pod.spec?.hostNetwork === true ? hostname() : helper.generatePodHostName(pod);
      files.writeEnvironment({ PATH, HOME: files.root, HOSTNAME, ...variables });
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

  /** Called before anything of the pod starts. If one container asks for too much, all containers of the pod are refused. */
  async #requireSupport(pod: ValidPod, container: Container): Promise<void> {
    const containers = containersOf<Container>(pod.spec);
    const all = containers.some(({ name }) => name === container.name) ? containers : [container];
    const refused = unsupportedFields(pod, all, this.#parts.user);
    const { runtimeClassName } = podSpecOf(pod);
    if (runtimeClassName && (await this.#parts.helper.lookupRuntimeHandler(runtimeClassName)) !== handler)
      refused.push(`spec.runtimeClassName: its handler is not ${handler}`);
    if (refused.length === 0) return;
    const more = refused.length > maxNamedFields ? `; and ${refused.length - maxNamedFields} more` : '';
    throw new ContainerConfigError(`not for processes: ${refused.slice(0, maxNamedFields).join('; ')}${more}`);
  }

  async #recover(): Promise<void> {
    for (const podUID of filesIn(this.#directory.pods).map((path) => basename(path))) {
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

  /** Removes the files of an agent that was killed while it removed a container or a pod. */
  #finishRemovals(): void {
    const remove = (path: string): void => rmSync(path, { recursive: true, force: true });
    const { pods, logs, sockets } = this.#directory;
    const podUIDs = new Set([...this.#sandboxes.values()].map(({ podUID }) => podUID));
    for (const { config } of this.#containers.values()) podUIDs.add(config.podUID);
    for (const path of filesIn(pods)) if (!podUIDs.has(basename(path))) this.#removePod(basename(path));
    for (const path of filesIn(logs)) if (!podUIDs.has(basename(path).split('_').slice(2).join('_'))) remove(path);
    for (const path of filesIn(sockets)) {
      const name = basename(path);
      if (isID.test(name) && !this.#containers.has(name)) remove(path);
    }
  }

  /** The volumes of the pod belong to the helper. */
  #removePod(podUID: string): void {
    rmSync(this.#directory.sandboxes(podUID), { recursive: true, force: true });
    rmSync(this.#directory.containers(podUID), { recursive: true, force: true });
    try {
      rmdirSync(this.#directory.podDirectory(podUID));
    } catch {
      // The folder has volumes, or does not exist.
    }
  }

  #addContainer(config: ContainerConfigFile, files: ContainerFiles): void {
    const onChange = (type: RuntimeEvent['type']): void => this.#emit(type, config.podUID, config.id);
    this.#containers.set(config.id, new ProcessContainer(config, files, this.#parts, onChange));
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
    const [ip, ...additionalIPs] = this.#parts.hostIPs;
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

const isID = /^[0-9a-f]{12}$/;

function newID(): string {
  return systemEntropy.bytes(6).toString('hex');
}

function idOf(containerID: string): string {
  return containerID.replace('process://', '');
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
