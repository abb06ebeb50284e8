import { setMaxListeners } from 'node:events';
import { join } from 'node:path';
import maxBy from 'lodash/maxBy.js';
import {
  type CallOptions,
  type ContainerConfig,
  type ContainerLog,
  type ContainerRuntime,
  type ExecResult,
  type ImageFsStats,
  type ImagePullSecret,
  type NodeStatus,
  noTimeoutMs,
  type PodSandboxConfig,
  type PodStats,
  type PulledImage,
  type RunContainerOptions,
  type RuntimeCondition,
  type RuntimeContainerStatus,
  type RuntimeEvent,
  type RuntimeEventType,
  type RuntimeHelper,
  type RuntimeImage,
  type RuntimePod,
  type RuntimeSandboxStatus,
  type StreamingRuntime,
  type StreamOptions,
  type NodeContext,
} from '../node/index.ts';
import { type KubeObject, podSpecOf } from '../kube/objects/kube-object.ts';
import type { Container, Pod, ResourceRequirementsInput, ValidPod } from '../kube/objects/types.ts';
import { reasonOf } from '../shared/logger.ts';
import { generateContainerConfig } from './container-config.ts';
import { boundedConnection } from './bounded-connection.ts';
import { buildContainerLogsDirectory, type PreparedContainerFiles } from './prepared-container-files.ts';
import { logLinkName, logLinksDirectory } from './log-files.ts';
import { ContainerLogManager, type RunLog } from './container-log-manager.ts';
import { toRuntimeContainerStatus, toRuntimeSandboxStatus } from './container-status.ts';
import { undefinedIfNotFound, withGoMessage } from './cri-error.ts';
import type { CRIConnection } from './cri-connection.ts';
import { CRIImages } from './cri-images.ts';
import type { CRIMessage, CRIRequest } from './cri-messages.ts';
import { containerNameLabel, podNameLabel, podNamespaceLabel, podUIDLabel } from './labels.ts';
import { containerLinuxResources, type MachineResources } from './linux-resources.ts';
import { OneAtATime } from '../shared/one-at-a-time.ts';
import { ReadCache, type Revision, Revisions } from '../shared/read-cache.ts';
import type { PodCgroups } from './pod-cgroups.ts';
import { PodPreparation } from './pod-preparation.ts';
import { imageFsStats, listPodStats } from './list-pod-stats.ts';
import { type EventOwner, RuntimeEvents } from './runtime-events.ts';
import { nodeStatusOfRuntime } from './runtime-node-status.ts';
import type { ResourceConfig } from './resource-config.ts';
import {
  generatePodSandboxConfig,
  updatePodSandboxResources,
  updateSandboxResourcesRequest,
} from './sandbox-config.ts';
import type { RuntimePodFiles } from './runtime-pod-files.ts';
import type { PodUserNamespaces } from './cri-host.ts';

/** The dependencies that `createCRIRuntime` has resolved. */
export interface CRIRuntimeSettings extends Pick<NodeContext, 'clock' | 'logger'> {
  readonly client: CRIConnection;
  readonly files: RuntimePodFiles;
  /** `containerd`, `cri-o`: the scheme of container IDs. */
  readonly runtimeName: string;
  readonly rootDirectory: string;
  readonly seccompDefault: boolean;
  readonly podLogsDirectory: string;
  readonly containerLogMaxSizeBytes: number;
  readonly containerLogMaxFiles: number;
  /** Undefined leaves the cgroups of pods to the runtime. */
  readonly podCgroups: PodCgroups | undefined;
  readonly helper: RuntimeHelper;
  readonly userNamespaces: PodUserNamespaces;
  readonly machine: MachineResources;
}

type ResizeOptions = CallOptions & { readonly pod?: Pod | undefined; readonly container?: Container | undefined };

interface Cached<Status> {
  /** The state in the list that the status belongs to. */
  readonly state: string;
  readonly status: Status;
}

interface LogLink {
  readonly podUID: string;
  readonly link: string;
  readonly path: string;
}

/**
 * A `ContainerRuntime` over the CRI. It uses the kubelet's names, labels and annotations, so that it and a kubelet can
 * adopt each other's sandboxes and containers. Source: kubelet `kubeGenericRuntimeManager`.
 */
export class CRIRuntime implements ContainerRuntime, StreamingRuntime {
  readonly #settings: CRIRuntimeSettings;
  readonly #client: CRIConnection;
  readonly #stop = new AbortController();
  // Data that can be read again, by the ID of the container or sandbox. A list removes the entries that it lacks.
  readonly #revisions = new Revisions();
  /** A status is read again when the list shows another state. Only a resize changes it within a state. */
  readonly #containers = new ReadCache<Cached<RuntimeContainerStatus>>(this.#revisions);
  readonly #sandboxes = new ReadCache<Cached<RuntimeSandboxStatus>>(this.#revisions);
  readonly #owners = new ReadCache<EventOwner>(this.#revisions);
  /** They never change, so they stay known while the status of a container must be read again. */
  readonly #logPaths = new ReadCache<string>(this.#revisions);

  // Data that only this process has. A list never removes it; the end of its call, sandbox or pod does.
  /** Containers and sandboxes that a call is starting or stopping → the event that the call causes, which is dropped. */
  readonly #expectedEvents = new Map<string, RuntimeEventType>();
  /** Created containers that have not been started. */
  readonly #logLinks = new Map<string, LogLink>();
  /** Pods with a new sandbox → the preparation of their first containers. */
  readonly #preparations = new Map<string, PodPreparation>();

  readonly #logManager: ContainerLogManager;
  readonly #images: CRIImages;
  /** Concurrent calls for statistics may crash containerd 1.6 ("concurrent map read and map write"). */
  readonly #statistics = new OneAtATime();

  constructor(settings: CRIRuntimeSettings) {
    this.#settings = settings;
    setMaxListeners(0, this.#stop.signal);
    this.#client = boundedConnection(settings.client, settings.clock, this.#stop.signal);
    this.#images = new CRIImages({
      client: this.#client,
      helper: settings.helper,
      sandboxConfig: async (pod) => this.#sandboxConfig(pod, 0, await this.#userNamespace(pod)),
    });
    const { containerLogMaxSizeBytes: maxSizeBytes, containerLogMaxFiles: maxFiles, files, clock, logger } = settings;
    this.#logManager = new ContainerLogManager({
      listLogs: () => this.#listLogs(),
      reopenContainerLog: (id, signal) => this.#client.call('ReopenContainerLog', { container_id: id }, { signal }),
      ...{ files, maxSizeBytes, maxFiles, clock, logger },
    });
    this.#logManager.start();
  }

  async status({ signal }: CallOptions = {}): Promise<{ readonly conditions: readonly RuntimeCondition[] }> {
    const { status } = await this.#client.call('Status', {}, { signal });
    return { conditions: status?.conditions ?? [] };
  }

  /**
   * The runtime's part of a Node's status: its version in `nodeInfo`, the 50 largest images, and its
   * handlers and features. For the option `nodeStatus` of the agent's Node.
   */
  async nodeStatus({ signal }: CallOptions = {}): Promise<NodeStatus> {
    const [version, status, { images }] = await Promise.all([
      this.#client.call('Version', {}, { signal }),
      this.#client.call('Status', {}, { signal }),
      this.#client.call('ListImages', {}, { signal }),
    ]);
    return nodeStatusOfRuntime(version, status, images);
  }

  async listPods({ signal }: CallOptions = {}): Promise<readonly RuntimePod[]> {
    const since = this.#revisions.next();
    const { pods, ids } = await this.#list(undefined, since, signal);
    for (const cache of [this.#containers, this.#sandboxes, this.#owners, this.#logPaths])
      cache.prune((id) => ids.has(id), since);
    return pods;
  }

  async getPod(uid: string, { signal }: CallOptions = {}): Promise<RuntimePod | undefined> {
    const since = this.#revisions.next();
    // Containers that have just been started or stopped are read in parallel with the list.
    const changed = [...this.#containers.stale].filter((id) => this.#owners.get(id)?.podUID === uid);
    // A failed read is repeated if the list has the container.
    const statuses = changed.map((id) => [id, this.#containerStatus(id, signal).catch(() => undefined)] as const);
    const filter = { label_selector: { [podUIDLabel]: uid } };
    const { pods } = await this.#list(filter, since, signal, new Map(statuses));
    // Includes containers that are no longer listed: without this call, their reads would have no deadline.
    await Promise.all(statuses.map(([, status]) => status));
    return pods[0];
  }

  /** Without `cgroupRoot`, the runtime decides on cgroups. */
  async updateQOSCgroups(activePods: readonly ValidPod[]): Promise<void> {
    await this.#settings.podCgroups?.updateQOS(activePods);
  }

  /** Creates the pod's cgroup with the limits of the pod; without `cgroupRoot`, the runtime does, without limits. */
  async preparePod(pod: ValidPod): Promise<void> {
    await this.#settings.podCgroups?.ensureExists(pod);
  }

  async releasePod(pod: ValidPod): Promise<void> {
    this.#forgetPod(pod.metadata.uid);
    await this.#settings.podCgroups?.destroy(pod);
    await this.#settings.userNamespaces.release(pod.metadata.uid);
  }

  async updatePodResources(
    pod: ValidPod,
    step: 'before' | 'after',
    { sandboxID = '', signal }: CallOptions & { readonly sandboxID?: string | undefined } = {},
  ): Promise<void> {
    const updateSandbox = (config: ResourceConfig): Promise<void> =>
      updatePodSandboxResources(this.#client, updateSandboxResourcesRequest(pod, sandboxID, config), { signal });
    await this.#settings.podCgroups?.update(pod, step, updateSandbox);
  }

  /** Without `cgroupRoot`, the runtime decides where the cgroup is. */
  async podResources(pod: ValidPod): Promise<ResourceRequirementsInput | undefined> {
    return this.#settings.podCgroups?.resources(pod);
  }

  async runPodSandbox({ pod, attempt }: PodSandboxConfig, { signal }: CallOptions = {}): Promise<string> {
    const { helper, files } = this.#settings;
    const { runtimeClassName } = podSpecOf(pod);
    const [userNamespace, handler] = await Promise.all([
      this.#newUserNamespace(pod, signal),
      runtimeClassName ? helper.lookupRuntimeHandler(runtimeClassName) : '',
    ]);
    const config = await this.#sandboxConfig(pod, attempt, userNamespace);
    signal?.throwIfAborted();
    // A refused pod has no log folder.
    await files.makePodLogsDirectory(pod);
    const call = this.#client.call('RunPodSandbox', { config, runtime_handler: handler }, { signal });
    const preparation = new PodPreparation(pod, {
      // Continues after this call, so it has its own deadline.
      imageRef: (image) => this.#images.imageRef(image),
      makeFiles: (container, stopSignal) => files.makeContainerFiles(pod, container, stopSignal),
    });
    const { pod_sandbox_id: id } = await withGoMessage(call).catch((error: unknown) => {
      preparation.stop();
      throw error;
    });
    this.#owners.set(id, { podUID: pod.metadata.uid, isSandbox: true });
    this.#preparations.set(pod.metadata.uid, preparation);
    return id;
  }

  async podSandboxStatus(id: string, { signal }: CallOptions = {}): Promise<RuntimeSandboxStatus> {
    const since = this.#sandboxes.begin();
    const { status } = await withGoMessage(this.#client.call('PodSandboxStatus', { pod_sandbox_id: id }, { signal }));
    if (!status) throw new Error(`The runtime returned no status of sandbox ${id}`);
    return this.#rememberSandbox(status, since);
  }

  async stopPodSandbox(id: string, { signal }: CallOptions = {}): Promise<void> {
    this.#dropPreparation(this.#owners.get(id)?.podUID ?? '');
    const call = this.#client.call('StopPodSandbox', { pod_sandbox_id: id }, { signal });
    await this.#expectEvent('stopped', id, undefinedIfNotFound(call));
  }

  async removePodSandbox(id: string, { signal }: CallOptions = {}): Promise<void> {
    const call = this.#client.call('RemovePodSandbox', { pod_sandbox_id: id }, { signal });
    await undefinedIfNotFound(call).finally(() => this.#sandboxes.invalidate(id));
  }

  async createContainer(config: ContainerConfig, { signal }: CallOptions = {}): Promise<string> {
    const { pod, container, sandboxID = '' } = config;
    const { machine, rootDirectory, seccompDefault, podLogsDirectory } = this.#settings;
    const [sandboxAttempt, files, options, imageUser, userNamespace] = await Promise.all([
      this.#sandboxAttempt(sandboxID, signal),
      this.#containerFiles(pod, container, signal),
      this.#runContainerOptions(config, signal),
      this.#images.imageUser(config.imageRef ?? container.image ?? '', signal),
      this.#userNamespace(pod),
    ]);
    const sandboxConfig = await this.#sandboxConfig(pod, sandboxAttempt, userNamespace);
    // Never overwrites the log of a run that neither containerd nor the agent remembers.
    const attempt = Math.max(config.attempt, files.nextRun);
    const containerConfig = generateContainerConfig(
      { ...config, attempt },
      {
        options,
        moreMounts: files.terminationMessageMounts,
        imageUser,
        userNamespace,
        targetID: config.targetContainerID === undefined ? undefined : bareID(config.targetContainerID),
        seccompProfileRoot: join(rootDirectory, 'seccomp'),
        seccompDefault,
        machine,
      },
    );
    const { container_id: id } = await this.#client.call(
      'CreateContainer',
      { pod_sandbox_id: sandboxID, config: containerConfig, sandbox_config: sandboxConfig },
      { signal },
    );
    this.#owners.set(id, { podUID: pod.metadata.uid, isSandbox: false });
    const link = this.#logLink(pod.metadata, container.name, id);
    const path = join(buildContainerLogsDirectory(podLogsDirectory, pod, container.name), `${attempt}.log`);
    this.#logLinks.set(id, { podUID: pod.metadata.uid, link, path });
    return this.#withScheme(id);
  }

  async startContainer(containerID: string, { signal }: CallOptions = {}): Promise<void> {
    const id = bareID(containerID);
    const call = this.#client.call('StartContainer', { container_id: id }, { signal });
    await this.#expectEvent('started', id, call).finally(() => this.#containers.invalidate(id));
    const created = this.#logLinks.get(id);
    if (created === undefined) return;
    this.#logLinks.delete(id);
    try {
      await this.#logManager.linkLog(created, signal);
    } catch (error) {
      // Only log collectors need the link.
      const fields = { containerID, reason: reasonOf(error) };
      this.#settings.logger.warn(fields, 'Failed to create the symlink to a container log');
    }
  }

  async stopContainer(containerID: string, gracePeriodSeconds: number, { signal }: CallOptions = {}): Promise<void> {
    const id = bareID(containerID);
    const request = { container_id: id, timeout: Math.trunc(gracePeriodSeconds) };
    const call = undefinedIfNotFound(this.#client.call('StopContainer', request, { signal }));
    await this.#expectEvent('stopped', id, call).finally(() => this.#containers.invalidate(id));
  }

  async removeContainer(containerID: string, { signal }: CallOptions = {}): Promise<void> {
    const id = bareID(containerID);
    const status = await this.#containerStatus(id, signal);
    const call = this.#client.call('RemoveContainer', { container_id: id }, { signal });
    await undefinedIfNotFound(call).finally(() => this.#containers.invalidate(id));
    this.#owners.invalidate(id);
    this.#logLinks.delete(id);
    // Even if the caller gives up now: the log of a removed container can no longer be found by its status.
    if (status?.log_path) await this.#logManager.removeLogs(status.log_path);
  }

  async updateContainerResources(
    containerID: string,
    resources: ResourceRequirementsInput,
    { signal, pod = {}, container = { name: '' } }: ResizeOptions = {},
  ): Promise<void> {
    const id = bareID(containerID);
    // A limit that is not set stays unchanged: a resize cannot remove it, and CRI-O refuses -1.
    const linux = containerLinuxResources(pod, container, this.#settings.machine, resources);
    const call = this.#client.call('UpdateContainerResources', { container_id: id, linux }, { signal });
    await this.#containers.change(id, withGoMessage(call));
  }

  async execSync(
    containerID: string,
    command: readonly string[],
    timeoutMs: number,
    { signal }: CallOptions = {},
  ): Promise<ExecResult> {
    const request = {
      container_id: bareID(containerID),
      cmd: command,
      timeout: timeoutMs >= noTimeoutMs ? 0 : Math.ceil(timeoutMs / 1000),
    };
    // Part of Events about probes and hooks.
    const { exit_code, stdout, stderr } = await withGoMessage(this.#client.call('ExecSync', request, { signal }));
    return { exitCode: exit_code, stdout: textOf(stdout), stderr: textOf(stderr) };
  }

  async getContainerLog(containerID: string, { signal }: CallOptions = {}): Promise<ContainerLog | undefined> {
    const status = await this.#containerStatus(bareID(containerID), signal);
    if (status) await this.#logManager.whenIdle(status.log_path, signal);
    return status && { path: status.log_path, isRunning: status.state === 'CONTAINER_RUNNING' };
  }

  async getExec(
    containerID: string,
    command: readonly string[],
    streams: StreamOptions,
    { signal }: CallOptions = {},
  ): Promise<string> {
    const request = { container_id: bareID(containerID), cmd: command, ...streams };
    return (await withGoMessage(this.#client.call('Exec', request, { signal }))).url;
  }

  async getAttach(containerID: string, streams: StreamOptions, { signal }: CallOptions = {}): Promise<string> {
    const request = { container_id: bareID(containerID), ...streams };
    return (await withGoMessage(this.#client.call('Attach', request, { signal }))).url;
  }

  async getPortForward(podUID: string, ports: readonly number[], { signal }: CallOptions = {}): Promise<string> {
    const pod = await this.getPod(podUID, { signal });
    const sandbox = maxBy(pod?.sandboxes, ({ attempt }) => attempt ?? 0);
    if (sandbox === undefined) throw new Error(`failed to find sandboxID for pod ${podUID}`);
    const request = { pod_sandbox_id: sandbox.id, port: ports };
    return (await withGoMessage(this.#client.call('PortForward', request, { signal }))).url;
  }

  async listPodStats({ signal }: CallOptions = {}): Promise<readonly PodStats[]> {
    const { podLogsDirectory, files } = this.#settings;
    const options = { client: this.#client, podLogsDirectory, files, signal };
    return this.#statistics.run(signal, () => listPodStats(options));
  }

  async imageFsStats({ signal }: CallOptions = {}): Promise<ImageFsStats> {
    return imageFsStats(await this.#client.call('ImageFsInfo', {}, { signal }), this.#settings.files);
  }

  async imageRef(
    image: string,
    { pod, ...options }: CallOptions & { readonly pod?: ValidPod | undefined } = {},
  ): Promise<string | undefined> {
    const prepared = await this.#preparations.get(pod?.metadata.uid ?? '')?.takeImageRef(image);
    return prepared ?? this.#images.imageRef(image, options);
  }

  imagePullSecrets(image: string, pod: ValidPod): Promise<readonly ImagePullSecret[]> {
    return this.#images.imagePullSecrets(image, pod);
  }

  pullImage(image: string, pod: ValidPod, options?: CallOptions): Promise<PulledImage> {
    return this.#images.pullImage(image, pod, options);
  }

  listImages(options?: CallOptions): Promise<readonly RuntimeImage[]> {
    return this.#images.listImages(options);
  }

  removeImage(imageID: string, options?: CallOptions): Promise<void> {
    return this.#images.removeImage(imageID, options);
  }

  subscribe(
    listener: (event: RuntimeEvent) => void,
    onComplete: (areComplete: boolean) => void = () => {},
  ): () => void {
    const events = new RuntimeEvents({
      onComplete,
      client: this.#client,
      clock: this.#settings.clock,
      logger: this.#settings.logger,
      ownerOf: (id) => this.#owners.get(id),
      isExpected: (id, type) => this.#expectedEvents.get(id) === type,
      hasEnded: (id, signal) => this.#hasEnded(id, signal),
      onEvent: (id, { type, podUID, isSandbox }) => {
        if (!isSandbox) this.#containers.invalidate(id);
        if (type === 'deleted') this.#owners.invalidate(id);
        listener({ type, podUID, ...(!isSandbox && { containerID: this.#withScheme(id) }) });
      },
    });
    return () => events.stop();
  }

  async removePodContent(
    shouldPodContentBeRemoved: (podUID: string) => boolean,
    { signal }: CallOptions = {},
  ): Promise<void> {
    const { podCgroups, userNamespaces } = this.#settings;
    const podUIDs = [...this.#preparations.keys(), ...[...this.#logLinks.values()].map(({ podUID }) => podUID)];
    for (const podUID of podUIDs) if (shouldPodContentBeRemoved(podUID)) this.#forgetPod(podUID);
    const listLiveContainers = async (): Promise<ReadonlySet<string>> => {
      const { containers } = await this.#client.call('ListContainers', {}, { signal });
      return new Set(containers.filter(({ state }) => state !== 'CONTAINER_EXITED').map(({ id }) => id));
    };
    await this.#logManager.evictPodLogsDirectories(listLiveContainers, shouldPodContentBeRemoved);
    await podCgroups?.removeOrphans(shouldPodContentBeRemoved);
    await userNamespaces.releaseOrphans(shouldPodContentBeRemoved);
  }

  /** Ends calls, events and the rotation of logs. */
  close(): void {
    this.#stop.abort();
    this.#logManager.stop();
    this.#client.close();
  }

  /** The pods in the runtime that a kubelet or this library created. */
  async #list(
    filter: { readonly label_selector: Readonly<Record<string, string>> } | undefined,
    since: Revision,
    signal: AbortSignal | undefined,
    statuses: ReadonlyMap<string, Promise<CRIMessage<'ContainerStatus'> | undefined>> = new Map(),
  ): Promise<{ readonly pods: readonly RuntimePod[]; readonly ids: ReadonlySet<string> }> {
    const [{ items }, { containers }] = await Promise.all([
      this.#client.call('ListPodSandbox', { filter }, { signal }),
      this.#client.call('ListContainers', { filter }, { signal }),
    ]);
    const pods = new Map<
      string,
      RuntimePod & { sandboxes: RuntimeSandboxStatus[]; containers: RuntimeContainerStatus[] }
    >();
    const podOf = (labels: Readonly<Record<string, string>>) => {
      const { [podUIDLabel]: uid, [podNameLabel]: name = '', [podNamespaceLabel]: namespace = '' } = labels;
      if (!uid) return undefined;
      let pod = pods.get(uid);
      if (pod === undefined) pods.set(uid, (pod = { uid, name, namespace, sandboxes: [], containers: [] }));
      return pod;
    };
    await Promise.all([
      ...items.map(async (item) => {
        const pod = podOf(item.labels);
        const status = pod && (await this.#listedSandbox(item, since, signal));
        if (status) pod.sandboxes.push(status);
      }),
      ...containers.map(async (item) => {
        const pod = podOf(item.labels);
        const status = pod && (await this.#listedContainer(item, since, signal, statuses.get(item.id)));
        if (status) pod.containers.push(status);
      }),
    ]);
    const ids = new Set([...items, ...containers].map(({ id }) => id));
    return { pods: [...pods.values()].filter((pod) => pod.sandboxes.length + pod.containers.length > 0), ids };
  }

  async #containerFiles(
    pod: ValidPod,
    container: KubeObject<'Container'>,
    signal: AbortSignal | undefined,
  ): Promise<PreparedContainerFiles> {
    const prepared = await this.#preparations.get(pod.metadata.uid)?.takeFiles(container.name);
    signal?.throwIfAborted();
    return prepared ?? this.#settings.files.makeContainerFiles(pod, container, signal);
  }

  async #listedSandbox(
    { id, state, labels }: CRIMessage<'PodSandbox'>,
    since: Revision,
    signal: AbortSignal | undefined,
  ): Promise<RuntimeSandboxStatus | undefined> {
    const cached = this.#sandboxes.get(id);
    if (cached?.state === state) return cached.status;
    this.#owners.store(id, { podUID: labels[podUIDLabel] ?? '', isSandbox: true }, since);
    const response = await undefinedIfNotFound(
      this.#client.call('PodSandboxStatus', { pod_sandbox_id: id }, { signal }),
    );
    return response?.status ? this.#rememberSandbox(response.status, since) : undefined;
  }

  #rememberSandbox(criStatus: CRIMessage<'PodSandboxStatus'>, since: Revision): RuntimeSandboxStatus {
    const status = toRuntimeSandboxStatus(criStatus);
    this.#sandboxes.store(criStatus.id, { state: criStatus.state, status }, since);
    return status;
  }

  async #listedContainer(
    { id, state, labels, pod_sandbox_id: sandboxID }: CRIMessage<'Container'>,
    since: Revision,
    signal: AbortSignal | undefined,
    reading: Promise<CRIMessage<'ContainerStatus'> | undefined> | undefined,
  ): Promise<RuntimeContainerStatus | undefined> {
    const cached = this.#containers.get(id);
    if (cached?.state === state) return cached.status;
    this.#owners.store(id, { podUID: labels[podUIDLabel] ?? '', isSandbox: false }, since);
    const read = await reading;
    const criStatus = read?.state === state ? read : await this.#containerStatus(id, signal);
    if (criStatus === undefined) return undefined;
    const hasExited = criStatus.state === 'CONTAINER_EXITED';
    const status = toRuntimeContainerStatus(criStatus, {
      runtimeName: this.#settings.runtimeName,
      sandboxID,
      terminationMessage: hasExited ? await this.#settings.files.readTerminationMessage(criStatus) : '',
    });
    if (criStatus.state === state) this.#containers.store(id, { state, status }, since);
    this.#logPaths.store(id, criStatus.log_path, since);
    return status;
  }

  async #sandboxAttempt(id: string, signal: AbortSignal | undefined): Promise<number> {
    const known = this.#sandboxes.get(id)?.status.attempt;
    if (known !== undefined) return known;
    const { status } = await this.#client.call('PodSandboxStatus', { pod_sandbox_id: id }, { signal });
    return status?.metadata?.attempt ?? 0;
  }

  async #containerStatus(
    id: string,
    signal: AbortSignal | undefined,
  ): Promise<CRIMessage<'ContainerStatus'> | undefined> {
    const call = this.#client.call('ContainerStatus', { container_id: id }, { signal });
    return (await undefinedIfNotFound(call))?.status ?? undefined;
  }

  #dropPreparation(podUID: string): void {
    this.#preparations.get(podUID)?.stop();
    this.#preparations.delete(podUID);
  }

  #forgetPod(podUID: string): void {
    this.#dropPreparation(podUID);
    for (const [id, link] of this.#logLinks) if (link.podUID === podUID) this.#logLinks.delete(id);
  }

  async #listLogs(): Promise<RunLog[]> {
    const { containers } = await this.#client.call('ListContainers', {
      filter: { state: { state: 'CONTAINER_RUNNING' } },
    });
    const logs = [];
    for (const { id, labels } of containers) {
      const { [podNameLabel]: name = '', [podNamespaceLabel]: namespace = '', [containerNameLabel]: of = '' } = labels;
      if (!labels[podUIDLabel]) continue;
      // A pod that the agent has not seen yet is left for the next list: a call without a response would delay all others.
      const path = this.#logPaths.get(id);
      if (path) logs.push({ containerID: id, path, link: this.#logLink({ name, namespace }, of, id) });
    }
    return logs;
  }

  #logLink(pod: Parameters<typeof logLinkName>[0], containerName: string, id: string): string {
    return join(logLinksDirectory(this.#settings.podLogsDirectory), logLinkName(pod, containerName, id));
  }

  /** The worker that makes the call has the pod inspected after it. An event would do so too early. */
  async #expectEvent(type: RuntimeEventType, id: string, call: Promise<unknown>): Promise<void> {
    this.#expectedEvents.set(id, type);
    try {
      await call;
    } finally {
      this.#expectedEvents.delete(id);
    }
  }

  async #hasEnded(id: string, signal: AbortSignal): Promise<boolean> {
    if (this.#owners.get(id)?.isSandbox === true) {
      const { status } = await this.#client.call('PodSandboxStatus', { pod_sandbox_id: id }, { signal });
      return status?.state !== 'SANDBOX_READY';
    }
    const { status } = await this.#client.call('ContainerStatus', { container_id: id }, { signal });
    return status?.state !== 'CONTAINER_RUNNING';
  }

  async #sandboxConfig(
    pod: ValidPod,
    attempt: number,
    userNamespace: CRIRequest<'UserNamespace'>,
  ): Promise<CRIRequest<'PodSandboxConfig'>> {
    const { helper, podLogsDirectory, podCgroups } = this.#settings;
    const dns = await helper.getPodDNS(pod);
    const hostname = pod.spec?.hostNetwork === true ? '' : helper.generatePodHostName(pod);
    const cgroupParent = podCgroups?.parentOf(pod) ?? '';
    return generatePodSandboxConfig(pod, { attempt, dns, hostname, podLogsDirectory, cgroupParent, userNamespace });
  }

  async #runContainerOptions(
    { pod, container, podIPs = [], imageVolumes }: ContainerConfig,
    signal: AbortSignal | undefined,
  ): Promise<RunContainerOptions> {
    const isRequested = container.volumeMounts?.some(
      ({ recursiveReadOnly: mode }) => mode !== undefined && mode !== 'Disabled',
    );
    const handler = isRequested ? (await this.#runtimeHandler(pod, signal)).handler : undefined;
    signal?.throwIfAborted();
    return this.#settings.helper.generateRunContainerOptions(pod, container, podIPs, {
      supportsRecursiveReadOnly: handler?.features?.recursive_read_only_mounts === true,
      imageVolumes,
      signal,
    });
  }

  /** The namespace of the pod's sandbox. Allocates no IDs, because the pod may have ended in the meantime. */
  async #userNamespace(pod: ValidPod): Promise<CRIRequest<'UserNamespace'>> {
    return podSpecOf(pod).hostUsers === false ? this.#settings.userNamespaces.get(pod) : { mode: 'NODE' };
  }

  /** Source: kubelet `GetOrCreateUserNamespaceMappings`. */
  async #newUserNamespace(pod: ValidPod, signal: AbortSignal | undefined): Promise<CRIRequest<'UserNamespace'>> {
    if (podSpecOf(pod).hostUsers !== false) return { mode: 'NODE' };
    const { name, handler, isUnknown } = await this.#runtimeHandler(pod, signal);
    if (handler?.features?.user_namespaces === true) return this.#settings.userNamespaces.getOrCreate(pod, signal);
    const what = name === '' ? 'runtime' : `RuntimeClass handler ${JSON.stringify(name)}`;
    const why = isUnknown ? `: the handler ${JSON.stringify(name)} is not known` : '';
    throw new Error(`can't set \`spec.hostUsers: false\`, ${what} does not support user namespaces${why}`);
  }

  /** The handler of a pod's RuntimeClass; none if the runtime is old and does not list its handlers. */
  async #runtimeHandler(pod: ValidPod, signal: AbortSignal | undefined) {
    const { runtimeClassName } = podSpecOf(pod);
    const [name, { runtime_handlers: handlers }] = await Promise.all([
      runtimeClassName ? this.#settings.helper.lookupRuntimeHandler(runtimeClassName) : '',
      this.#client.call('Status', {}, { signal }),
    ]);
    const handler = handlers.find((one) => one.name === name);
    return { name, handler, isUnknown: handler === undefined && handlers.length > 0 };
  }

  #withScheme(id: string): string {
    return `${this.#settings.runtimeName}://${id}`;
  }
}

function bareID(containerID: string): string {
  return containerID.slice(containerID.indexOf('://') + 3);
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}
