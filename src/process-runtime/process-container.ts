import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { ResourceRequirementsInput } from '../kube/objects/types.ts';
import type { ContainerIO, RuntimeContainerStatus } from '../node/index.ts';
import { undefinedIfAborted } from '../shared/abort.ts';
import { type Clock, sleep } from '../shared/clock.ts';
import { withDeadline } from '../shared/deadline.ts';
import { podFields } from '../shared/log-fields.ts';
import type { Logger } from '../shared/logger.ts';
import { attach } from './attach.ts';
import type { ContainerConfigFile, ContainerExit, ContainerFiles, ContainerStart } from './container-files.ts';
import { ShimConnection } from './shim-connection.ts';

// The tests run this file from the sources, but Node.js needs the shim compiled.
export const shimFile = fileURLToPath(
  import.meta.url.endsWith('.ts')
    ? new URL('../../dist/src/process-runtime/shim.js', import.meta.url)
    : new URL('./shim.js', import.meta.url),
);

/** A shim that does not respond must not keep the agent from starting. */
const maxRecoveryMs = 10_000;

export const noTerminal = 'processes have no terminal here: use neither -t nor `tty: true`';

/**
 * One run of a container, as seen by the agent. It is `created`, then `running` while its shim lives, and `exited` when the
 * shim has recorded the end or has died without doing so.
 */
export class ProcessContainer {
  readonly config: ContainerConfigFile;
  readonly files: ContainerFiles;
  /** Aborted when the container exits. */
  readonly execs = new Set<AbortController>();
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #onChange: (type: 'started' | 'stopped') => void;
  #shim: ShimConnection | undefined;
  /** Settles when the shim has answered. */
  #starting: Promise<void> | undefined;
  #start: ContainerStart | undefined;
  #exit: ContainerExit | undefined;
  /** Undefined: those of the pod's spec. */
  #resources: ResourceRequirementsInput | undefined;
  #exited: Promise<void> = Promise.resolve();

  constructor(
    config: ContainerConfigFile,
    files: ContainerFiles,
    { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
    onChange: (type: 'started' | 'stopped') => void,
  ) {
    this.config = config;
    this.files = files;
    this.#clock = clock;
    this.#logger = logger;
    this.#onChange = onChange;
  }

  get isRunning(): boolean {
    return this.#start !== undefined && this.#exit === undefined;
  }

  status(): RuntimeContainerStatus {
    const { id, name, sandboxID, attempt, createdAtMs, image, hash, stopSignal } = this.config;
    return {
      ...{ id: `process://${id}`, name, sandboxID, attempt, createdAtMs, image, hash, stopSignal },
      state: this.#exit !== undefined ? 'exited' : this.#start !== undefined ? 'running' : 'created',
      // A container that could not be started has the time 0, as in containerd.
      startedAtMs: this.#start?.startedAtMs ?? (this.#exit === undefined ? undefined : 0),
      ...this.#exit,
      ...(this.#resources !== undefined && { resources: this.#resources }),
    };
  }

  /** Determines the state of a container of an earlier agent. */
  async recover(): Promise<void> {
    this.#resources = this.files.readResources();
    this.files.takeStartRequest(); // a shim that has not taken it by now must not start the container later
    const stopped = new AbortController();
    const late = sleep(this.#clock, maxRecoveryMs, stopped.signal).then(() => {
      if (!stopped.signal.aborted) this.#logger.warn(this.#logFields(), 'The shim of a container does not respond');
    });
    await Promise.race([this.#followShim(), late]);
    stopped.abort();
  }

  /** Resolves when the process is running. Rejects if it could not be started. */
  async start(): Promise<void> {
    if (this.#start !== undefined || this.#exit !== undefined) return;
    this.#starting ??= this.#startShim().finally(() => (this.#starting = undefined));
    await this.#starting;
  }

  async #startShim(): Promise<void> {
    this.files.requestStart();
    const errors = openSync(this.files.shimLog, 'a', 0o600);
    const shim = spawn(process.execPath, [shimFile, this.files.directory], {
      stdio: ['ignore', 'pipe', errors],
      detached: true,
      env: {},
    });
    shim.unref();
    closeSync(errors);
    const failure = await Promise.race([
      text(shim.stdout!),
      new Promise<never>((_, reject) => shim.once('error', reject)),
    ]);
    await this.#followShim();
    if (this.#start === undefined) throw new Error(failure || `the shim has not started it: see ${this.files.shimLog}`);
  }

  /** Resolves when the container has exited; after `gracePeriodSeconds` it is killed. A start in progress is withdrawn. */
  async stop(gracePeriodSeconds: number, signal?: AbortSignal): Promise<void> {
    if (this.#starting !== undefined) {
      this.files.takeStartRequest();
      // The shim may have taken it before.
      await this.#starting.catch(() => {});
      signal?.throwIfAborted();
    }
    if (!this.isRunning) return;
    if (gracePeriodSeconds > 0) {
      this.#shim?.signal(this.config.stopSignal);
      await this.#exitedWithin(gracePeriodSeconds * 1000, signal);
    }
    this.#shim?.signal('SIGKILL');
    await this.#exited;
  }

  /** Resolves when the container has exited or `signal` is aborted. */
  async attach(io: ContainerIO, signal?: AbortSignal): Promise<void> {
    if (!this.isRunning) throw new Error(`the container ${this.config.id} does not run`);
    if (io.tty) throw new Error(noTerminal);
    if (io.stdin !== undefined && !this.config.stdin)
      throw new Error('the container has no stdin: its spec does not have `stdin: true`');
    const hasExited = (): boolean => this.files.readExit() !== undefined;
    await attach({ socket: this.config.socket, hasExited }, io, signal);
  }

  setResources(resources: ResourceRequirementsInput): void {
    this.files.writeResources(resources);
    this.#resources = resources;
  }

  /** Deletes the files of the container, which must not be running. */
  async remove(): Promise<void> {
    const { logFile, socket } = this.config;
    this.files.removeConfig(); // an agent that is killed now must not find the rest
    for (const path of [this.files.directory, logFile, `${logFile}.1`, socket]) {
      await rm(path, { recursive: true, force: true });
    }
  }

  /** Disconnects; the container keeps running without the agent. */
  disconnect(): void {
    this.#shim?.close();
    this.#shim = undefined;
  }

  async #followShim(): Promise<void> {
    const shim = await ShimConnection.open(this.config.socket);
    if (this.files.readStart() === undefined) await shim?.started;
    this.#start = this.files.readStart();
    if (this.#start === undefined) return void (this.#exit = this.files.readExit());
    this.#shim = shim;
    this.#exited = (shim?.ended ?? Promise.resolve()).then(() => this.#shimEnded(shim));
    this.#onChange('started');
    if (shim === undefined) await this.#exited;
  }

  #shimEnded(shim: ShimConnection | undefined): void {
    if (this.#shim !== shim) return; // disconnected
    this.#exit = this.files.readExit() ?? this.#unknownExit();
    for (const exec of this.execs) exec.abort(new Error('the container has exited'));
    this.#onChange('stopped');
  }

  /** The status that the kubelet reports for a container whose exit was not observed. */
  #unknownExit(): ContainerExit {
    const message = this.files.exists()
      ? 'The shim of the container was killed, and the processes of the container with it'
      : 'The directory of the container was deleted, so its processes were killed';
    this.#logger.warn(this.#logFields(), message);
    const exit = { exitCode: 137, reason: 'ContainerStatusUnknown', message, finishedAtMs: this.#clock.now() };
    try {
      this.files.writeExit(exit);
    } catch {
      // On a full disk, or without the directory, the next agent determines it in the same way.
    }
    return exit;
  }

  #logFields(): object {
    const { podUID, name, id } = this.config;
    return { ...podFields(podUID, this.config), container: name, containerID: id, directory: this.files.directory };
  }

  /** Resolves when the container has exited or the time is over. */
  async #exitedWithin(ms: number, signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted();
    await withDeadline(this.#clock, ms, [signal], (deadline) => undefinedIfAborted(this.#exited, deadline.signal));
    signal?.throwIfAborted();
  }
}
