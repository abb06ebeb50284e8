import type {
  CallOptions,
  ContainerConfig,
  ContainerRuntime,
  ExecResult,
  PodSandboxConfig,
  RuntimeCondition,
  RuntimeContainerStatus,
  RuntimeEvent,
  RuntimePod,
  RuntimeSandboxStatus,
} from '../../node/index.ts';
import { untilAborted } from '../../shared/abort.ts';
import { type Clock, sleep, systemClock } from '../../shared/clock.ts';
import type { ResourceRequirementsInput, ValidPod } from '../../kube/objects/types.ts';
import { FakeContainer, type FakeExit, type FakeRun } from './fake-container.ts';
import { matchesCall, type RuntimeCall, type RuntimeCallMatch } from './runtime-call.ts';

/** Options of a `FakeContainerRuntime`. */
export interface FakeContainerRuntimeOptions {
  /** The clock of all times and delays. Default: the real clock. */
  readonly clock?: Clock;
  /** False: a runtime without the methods for sandboxes. Default true. */
  readonly sandboxes?: boolean;
  /** False: a runtime without the methods for images. Default true. */
  readonly images?: boolean;
  /** False: a runtime without `updateContainerResources`. Default true. */
  readonly resizes?: boolean;
  /** False: a runtime without `subscribe`. Default true. */
  readonly events?: boolean;
}

/** The result of a command in the fake runtime. */
export type FakeExec = (
  command: readonly string[],
  container: RuntimeContainerStatus,
) => ExecResult | Promise<ExecResult>;

interface Script {
  readonly match: RuntimeCallMatch;
  times: number;
  readonly run: (signal: AbortSignal | undefined) => void | Promise<void>;
}

interface FakePod {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Newest first, as the containers. */
  readonly sandboxes: RuntimeSandboxStatus[];
  readonly containers: FakeContainer[];
}

/**
 * A `ContainerRuntime` in memory with an injected clock. Containers run until they are stopped, or as
 * scripted with `script`. It records every call, and a test can make calls fail or delay them.
 * Source: kubelet `FakeRuntimeService`, `FakeImageService`.
 *
 * @example
 * ```ts
 * import { createNodeAgent } from 'kubelet-status-manager/agent';
 * import { FakeContainerRuntime } from 'kubelet-status-manager/testing';
 *
 * const runtime = new FakeContainerRuntime();
 * runtime.script('app', { exitAfterMs: 5_000, exitCode: 1 });
 * const agent = createNodeAgent({ nodeName: 'node-a', runtime });
 * agent.start();
 * console.log(runtime.callsOf({ method: 'startContainer' }));
 * ```
 */
export class FakeContainerRuntime implements ContainerRuntime {
  /** All calls in order, including failed ones. */
  readonly calls: RuntimeCall[] = [];
  /** The images that are present. */
  readonly images = new Set<string>();
  /** Whether `status` reports the network as ready. */
  isNetworkReady = true;
  readonly runPodSandbox?: NonNullable<ContainerRuntime['runPodSandbox']>;
  readonly stopPodSandbox?: NonNullable<ContainerRuntime['stopPodSandbox']>;
  readonly removePodSandbox?: NonNullable<ContainerRuntime['removePodSandbox']>;
  readonly pullImage?: NonNullable<ContainerRuntime['pullImage']>;
  readonly imageRef?: NonNullable<ContainerRuntime['imageRef']>;
  readonly updateContainerResources?: NonNullable<ContainerRuntime['updateContainerResources']>;
  readonly subscribe?: NonNullable<ContainerRuntime['subscribe']>;
  readonly #clock: Clock;
  readonly #pods = new Map<string, FakePod>();
  readonly #scripts: Script[] = [];
  readonly #runs = new Map<string, FakeRun[]>();
  readonly #listeners = new Set<(event: RuntimeEvent) => void>();
  #exec: FakeExec = () => ({ exitCode: 0, stdout: '', stderr: '' });
  #lastID = 0;

  constructor({
    clock = systemClock,
    sandboxes = true,
    images = true,
    resizes = true,
    events = true,
  }: FakeContainerRuntimeOptions = {}) {
    this.#clock = clock;
    if (sandboxes) {
      this.runPodSandbox = (config, options) => this.#runPodSandbox(config, options);
      this.stopPodSandbox = (sandboxID, options) => this.#stopPodSandbox(sandboxID, options);
      this.removePodSandbox = (sandboxID, options) => this.#removePodSandbox(sandboxID, options);
    }
    if (images) {
      this.pullImage = (image, pod, options) => this.#pullImage(image, pod, options);
      this.imageRef = (image, options) => this.#imageRef(image, options);
    }
    if (resizes) {
      this.updateContainerResources = (id, resources, options) =>
        this.#updateContainerResources(id, resources, options);
    }
    if (events) {
      this.subscribe = (listener) => {
        this.#listeners.add(listener);
        return () => void this.#listeners.delete(listener);
      };
    }
  }

  /** Scripts the next runs of containers with this name, one after the other; the last script repeats. */
  script(containerName: string, ...runs: FakeRun[]): void {
    this.#runs.set(containerName, runs);
  }

  /** The next `times` matching calls reject with `failure` and do nothing. */
  fail(match: RuntimeCallMatch, failure: Error | string, times = 1): void {
    const error = typeof failure === 'string' ? new Error(failure) : failure;
    this.#scripts.push({
      match,
      times,
      run: () => {
        throw error;
      },
    });
  }

  /** The next `times` matching calls begin `ms` later, or reject when their signal is aborted. */
  delay(match: RuntimeCallMatch, ms: number, times = 1): void {
    this.#scripts.push({ match, times, run: (signal) => this.#sleep(ms, signal) });
  }

  /** Sets the result of commands. Default: exit code 0 and no output. */
  onExec(exec: FakeExec): void {
    this.#exec = exec;
  }

  /** The matching calls. */
  callsOf(match: RuntimeCallMatch): RuntimeCall[] {
    return this.calls.filter((call) => matchesCall(match, call));
  }

  /** Adds a pod of an earlier agent; replaces one with the same UID. */
  put({ uid, name, namespace, sandboxes = [], containers }: RuntimePod): void {
    this.#pods.set(uid, {
      uid,
      name,
      namespace,
      sandboxes: [...sandboxes],
      containers: containers.map((status) => this.#newContainer(uid, status)),
    });
  }

  /** The result of `getPod`, without recording a call. */
  pod(uid: string): RuntimePod | undefined {
    const pod = this.#pods.get(uid);
    if (pod === undefined) return undefined;
    const { name, namespace, sandboxes, containers } = pod;
    return { uid, name, namespace, sandboxes: [...sandboxes], containers: containers.map(({ status }) => status) };
  }

  /** The newest run of a container. */
  container(podUID: string, name: string): RuntimeContainerStatus | undefined {
    return this.#pods.get(podUID)?.containers.find(({ status }) => status.name === name)?.status;
  }

  /** Ends a running container, as if it had exited on its own. */
  exit(containerID: string, exit: FakeExit = {}): void {
    this.#requireContainer(containerID).exit(exit);
  }

  /** Changes the status of a container without an event: `{ state: 'unknown' }`. */
  setContainer(containerID: string, change: Partial<RuntimeContainerStatus>): void {
    const container = this.#requireContainer(containerID);
    container.status = { ...container.status, ...change };
  }

  /** Changes the status of a sandbox without an event: `{ ready: false }`. */
  setSandbox(sandboxID: string, change: Partial<RuntimeSandboxStatus>): void {
    const found = this.#findSandbox(sandboxID);
    if (found === undefined) throw new Error(`No sandbox ${sandboxID}`);
    found.pod.sandboxes[found.index] = { ...found.pod.sandboxes[found.index]!, ...change };
  }

  async status({ signal }: CallOptions = {}): Promise<{ readonly conditions: readonly RuntimeCondition[] }> {
    await this.#begin({ method: 'status' }, signal);
    const network = this.isNetworkReady
      ? { status: true }
      : { status: false, reason: 'NetworkPluginNotReady', message: 'no network' };
    return {
      conditions: [
        { type: 'RuntimeReady', status: true },
        { type: 'NetworkReady', ...network },
      ],
    };
  }

  async listPods({ signal }: CallOptions = {}): Promise<readonly RuntimePod[]> {
    await this.#begin({ method: 'listPods' }, signal);
    return [...this.#pods.keys()].map((uid) => this.pod(uid)!);
  }

  async getPod(uid: string, { signal }: CallOptions = {}): Promise<RuntimePod | undefined> {
    await this.#begin({ method: 'getPod', podUID: uid }, signal);
    return this.pod(uid);
  }

  async createContainer(config: ContainerConfig, { signal }: CallOptions = {}): Promise<string> {
    const { pod, container, attempt, hash, sandboxID, imageRef = '' } = config;
    const podUID = pod.metadata.uid;
    await this.#begin({ method: 'createContainer', podUID, container: container.name }, signal);
    if (sandboxID !== undefined && this.#findSandbox(sandboxID) === undefined)
      throw new Error(`sandbox ${sandboxID} not found`);
    const id = this.#nextID('fake://container');
    const status: RuntimeContainerStatus = {
      id,
      name: container.name,
      sandboxID,
      state: 'created',
      attempt,
      createdAtMs: this.#clock.now(),
      image: container.image ?? '',
      imageID: imageRef,
      hash,
    };
    this.#podOf(pod).containers.unshift(this.#newContainer(podUID, status));
    this.#tell({ type: 'created', podUID, containerID: id });
    return id;
  }

  async startContainer(containerID: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#beginWith('startContainer', containerID, {}, signal);
    const container = this.#requireContainer(containerID);
    if (container.status.state === 'exited') throw new Error(`container ${containerID} has exited`);
    container.start();
    this.#tell({ type: 'started', podUID: container.podUID, containerID });
  }

  async stopContainer(containerID: string, gracePeriodSeconds: number, { signal }: CallOptions = {}): Promise<void> {
    await this.#beginWith('stopContainer', containerID, { gracePeriodSeconds }, signal);
    const container = this.#findContainer(containerID);
    if (container !== undefined) await untilAborted(container.stop(gracePeriodSeconds), signal);
  }

  async removeContainer(containerID: string, { signal }: CallOptions = {}): Promise<void> {
    await this.#beginWith('removeContainer', containerID, {}, signal);
    const container = this.#findContainer(containerID);
    if (container === undefined) return;
    container.kill();
    const pod = this.#pods.get(container.podUID)!;
    pod.containers.splice(pod.containers.indexOf(container), 1);
    this.#forgetIfEmpty(pod);
    this.#tell({ type: 'deleted', podUID: pod.uid, containerID });
  }

  async execSync(
    containerID: string,
    command: readonly string[],
    timeoutMs: number,
    { signal }: CallOptions = {},
  ): Promise<ExecResult> {
    await this.#beginWith('execSync', containerID, { command }, signal);
    const { status } = this.#requireContainer(containerID);
    if (status.state !== 'running') throw new Error(`container ${containerID} is not running`);
    const ended = new AbortController();
    const timedOut = sleep(this.#clock, timeoutMs, ended.signal).then(() => undefined);
    try {
      const result = await untilAborted(Promise.race([this.#exec(command, status), timedOut]), signal);
      if (result === undefined) throw new Error(`command timed out after ${timeoutMs} ms`);
      return result;
    } finally {
      ended.abort();
    }
  }

  async #runPodSandbox({ pod, attempt }: PodSandboxConfig, { signal }: CallOptions = {}): Promise<string> {
    const podUID = pod.metadata.uid;
    await this.#begin({ method: 'runPodSandbox', podUID }, signal);
    const id = this.#nextID('sandbox');
    const hostNetwork = pod.spec?.hostNetwork ?? false;
    this.#podOf(pod).sandboxes.unshift({
      id,
      attempt,
      ready: true,
      createdAtMs: this.#clock.now(),
      hostNetwork,
      ...(!hostNetwork && { network: { ip: `10.0.0.${this.#lastID}` } }),
    });
    this.#tell({ type: 'started', podUID });
    return id;
  }

  async #stopPodSandbox(sandboxID: string, { signal }: CallOptions = {}): Promise<void> {
    const found = this.#findSandbox(sandboxID);
    await this.#begin({ method: 'stopPodSandbox', ...(found && { podUID: found.pod.uid }), sandboxID }, signal);
    if (found === undefined) return;
    for (const container of found.pod.containers) if (container.status.sandboxID === sandboxID) container.kill();
    this.setSandbox(sandboxID, { ready: false });
    this.#tell({ type: 'stopped', podUID: found.pod.uid });
  }

  async #removePodSandbox(sandboxID: string, { signal }: CallOptions = {}): Promise<void> {
    const podUID = this.#findSandbox(sandboxID)?.pod.uid;
    await this.#begin({ method: 'removePodSandbox', ...(podUID !== undefined && { podUID }), sandboxID }, signal);
    const found = this.#findSandbox(sandboxID);
    if (found === undefined) return;
    const { pod, index } = found;
    pod.sandboxes.splice(index, 1);
    for (const container of pod.containers.filter(({ status }) => status.sandboxID === sandboxID)) {
      container.kill();
      pod.containers.splice(pod.containers.indexOf(container), 1);
    }
    this.#forgetIfEmpty(pod);
    this.#tell({ type: 'deleted', podUID: pod.uid });
  }

  async #pullImage(image: string, pod: ValidPod, { signal }: CallOptions = {}): Promise<string> {
    await this.#begin({ method: 'pullImage', podUID: pod.metadata.uid, image }, signal);
    this.images.add(image);
    return refOf(image);
  }

  async #imageRef(image: string, { signal }: CallOptions = {}): Promise<string | undefined> {
    await this.#begin({ method: 'imageRef', image }, signal);
    return this.images.has(image) ? refOf(image) : undefined;
  }

  async #updateContainerResources(
    containerID: string,
    resources: ResourceRequirementsInput,
    { signal }: CallOptions = {},
  ): Promise<void> {
    await this.#beginWith('updateContainerResources', containerID, { resources }, signal);
    if (this.#requireContainer(containerID).status.state !== 'running') {
      throw new Error(`container ${containerID} is not running`);
    }
    this.setContainer(containerID, { resources });
  }

  /** Records the call, then applies the matching scripts. */
  async #begin(call: RuntimeCall, signal: AbortSignal | undefined): Promise<void> {
    this.calls.push(call);
    signal?.throwIfAborted();
    for (const script of this.#scripts.filter(({ match }) => matchesCall(match, call))) {
      if (--script.times === 0) this.#scripts.splice(this.#scripts.indexOf(script), 1);
      await script.run(signal);
    }
  }

  #beginWith(
    method: RuntimeCall['method'],
    containerID: string,
    rest: Partial<RuntimeCall>,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const container = this.#findContainer(containerID);
    const known = container && { podUID: container.podUID, container: container.status.name };
    return this.#begin({ method, containerID, ...known, ...rest }, signal);
  }

  async #sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    await sleep(this.#clock, ms, signal ?? new AbortController().signal);
    signal?.throwIfAborted();
  }

  #newContainer(podUID: string, status: RuntimeContainerStatus): FakeContainer {
    const runs = this.#runs.get(status.name) ?? [];
    const run = (runs.length > 1 ? runs.shift() : runs[0]) ?? {};
    return new FakeContainer(podUID, status, run, this.#clock, () =>
      this.#tell({ type: 'stopped', podUID, containerID: status.id }),
    );
  }

  #podOf({ metadata: { uid, name, namespace } }: ValidPod): FakePod {
    const pod = this.#pods.get(uid) ?? { uid, name, namespace, sandboxes: [], containers: [] };
    this.#pods.set(uid, pod);
    return pod;
  }

  #findSandbox(sandboxID: string): { readonly pod: FakePod; readonly index: number } | undefined {
    for (const pod of this.#pods.values()) {
      const index = pod.sandboxes.findIndex(({ id }) => id === sandboxID);
      if (index >= 0) return { pod, index };
    }
    return undefined;
  }

  #findContainer(containerID: string): FakeContainer | undefined {
    for (const { containers } of this.#pods.values()) {
      const found = containers.find(({ status }) => status.id === containerID);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #requireContainer(containerID: string): FakeContainer {
    const container = this.#findContainer(containerID);
    if (container === undefined) throw new Error(`container ${containerID} not found`);
    return container;
  }

  #forgetIfEmpty(pod: FakePod): void {
    if (pod.sandboxes.length === 0 && pod.containers.length === 0) this.#pods.delete(pod.uid);
  }

  #nextID(prefix: string): string {
    return `${prefix}-${++this.#lastID}`;
  }

  #tell(event: RuntimeEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

function refOf(image: string): string {
  return `sha256:${image}`;
}
