import { status as code } from '@grpc/grpc-js';
import { join } from 'node:path';
import type { RequestOf, ResponseOf } from '../../../src/cri/cri-connection.ts';
import { CRIError } from '../../../src/cri/cri-error.ts';
import type { CRIMessage, CRIMethod, CRIRequest } from '../../../src/cri/cri-messages.ts';
import { containerNameLabel, podNameLabel, podUIDLabel } from '../../../src/cri/labels.ts';
import type { Random } from '../../chaos/random.ts';
import { type ContainerEnd, SimulatedContainer } from '../agent/container-runs.ts';
import { type Machine, nowOf } from '../agent/node-runtime.ts';
import type { World } from '../world.ts';
import { received } from './received.ts';
import type { SimulatedCgroups } from './simulated-cgroups.ts';
import type { LogFile, SimulatedLogs } from './simulated-logs.ts';

type EventType = CRIMessage<'ContainerEventResponse'>['container_event_type'];

/** Something that has happened to a container or sandbox. */
export interface CRIEvent {
  readonly type: EventType;
  readonly id: string;
  readonly sandbox: CRIMessage<'PodSandboxStatus'>;
}

interface Sandbox {
  readonly id: string;
  readonly name: string;
  readonly config: CRIRequest<'PodSandboxConfig'>;
  readonly createdAtNs: number;
  readonly ip: string;
  isReady: boolean;
}

export interface CRIContainer {
  readonly id: string;
  readonly name: string;
  readonly podUID: string;
  readonly sandboxID: string;
  readonly config: CRIRequest<'ContainerConfig'>;
  readonly logPath: string;
  readonly createdAtNs: number;
  readonly process: SimulatedContainer;
  startedAtNs: number;
  finishedAtNs: number;
  /** What the service shows, which may be later than what is. */
  state: CRIMessage<'ContainerStatus'>['state'];
  reason: string;
  exitCode: number;
  resources: CRIRequest<'LinuxContainerResources'>;
  /** What it writes to. */
  log: LogFile | undefined;
}

/** What a call does: it has its effect at once, or part of it later, and then asks whether its caller has gone. */
type Handlers = {
  readonly [Method in CRIMethod]?: (
    request: RequestOf<Method>,
    isCancelled: () => boolean,
  ) => Promise<ResponseOf<Method>> | ResponseOf<Method>;
};

export interface CRIServiceOptions {
  readonly machine: Machine;
  readonly logs: SimulatedLogs;
  readonly cgroups: SimulatedCgroups;
  /** How long after the exit of a container the service shows it. */
  readonly exitLagMs: number;
  /** Whether the service refuses to stop and remove what it does not know, as CRI-O. */
  readonly refusesUnknown: boolean;
  readonly onEvent: (event: CRIEvent) => void;
}

/**
 * A runtime service and an image service of the CRI in memory, with containerd's answers. It knows nothing of connections:
 * a call has its effect when it arrives.
 */
export class SimulatedCRIService {
  readonly containers = new Map<string, CRIContainer>();
  readonly images = new Map<string, number>();
  isNetworkReady = true;
  readonly #options: CRIServiceOptions;
  readonly #world: World;
  readonly #random: Random;
  readonly #sandboxes = new Map<string, Sandbox>();
  /** Name of a sandbox or container → its ID. */
  readonly #names = new Map<string, string>();
  readonly #handlers = this.#makeHandlers();
  #lastID = 0;

  constructor(options: CRIServiceOptions) {
    this.#options = options;
    this.#world = options.machine.world;
    this.#random = this.#world.random.fork('CRI service');
  }

  /** Rejects with a `CRIError`. */
  async call<Method extends CRIMethod>(
    method: Method,
    request: RequestOf<Method>,
    isCancelled: () => boolean,
  ): Promise<ResponseOf<Method>> {
    const handler = this.#handlers[method];
    if (handler === undefined) throw failure('UNIMPLEMENTED', `unknown method ${method}`);
    return handler(request, isCancelled);
  }

  /** The UIDs of the pods of which there is a sandbox or container. */
  podUIDs(): Set<string> {
    return new Set([
      ...[...this.#sandboxes.values()].map(podUIDOf),
      ...[...this.containers.values()].map(({ podUID }) => podUID),
    ]);
  }

  sandboxesOf(podUID: string): Sandbox[] {
    return [...this.#sandboxes.values()].filter((sandbox) => podUIDOf(sandbox) === podUID);
  }

  /** The network of a pod is gone, and its containers with it. */
  loseSandbox(podUID: string): void {
    const sandbox = this.sandboxesOf(podUID).find(({ isReady }) => isReady);
    if (sandbox !== undefined) this.#stopSandbox(sandbox);
  }

  /** The kernel kills a container because of its memory. */
  killForMemory(podUID: string): void {
    const container = [...this.containers.values()].find((one) => one.podUID === podUID && one.process.isRunning);
    if (container === undefined) return;
    container.reason = 'OOMKilled';
    container.process.exit(137, 'killed' satisfies ContainerEnd);
  }

  /** After a restart, the service may not find out what has become of a container. */
  forgetStates(share: number): void {
    for (const container of this.containers.values()) {
      if (container.state !== 'CONTAINER_RUNNING' || !this.#random.chance(share)) continue;
      container.state = 'CONTAINER_UNKNOWN';
      this.#options.machine.runs.unknown.add(container.process.identity.id);
    }
  }

  #makeHandlers(): Handlers {
    return {
      Version: () => received('VersionResponse', { version: '0.1.0', runtime_name: 'containerd' }),
      RuntimeConfig: () => {
        const { isSystemd, isOldRuntime } = this.#options.cgroups;
        if (isOldRuntime) throw failure('UNIMPLEMENTED', 'unknown method RuntimeConfig');
        return received('RuntimeConfigResponse', { linux: { cgroup_driver: isSystemd ? 'SYSTEMD' : 'CGROUPFS' } });
      },
      Status: ({ verbose = false }) =>
        received('StatusResponse', {
          ...(verbose && { info: { config: containerdConfig(this.#options.cgroups.isSystemd) } }),
          status: {
            conditions: [
              { type: 'RuntimeReady', status: true },
              { type: 'NetworkReady', status: this.isNetworkReady },
            ],
          },
          runtime_handlers: [{ name: '', features: { user_namespaces: true, recursive_read_only_mounts: true } }],
        }),
      RunPodSandbox: ({ config = {} }, isCancelled) => this.#runPodSandbox(config, isCancelled),
      StopPodSandbox: async ({ pod_sandbox_id: id = '' }) => {
        const sandbox = this.#sandboxes.get(id);
        if (sandbox === undefined) this.#refuseUnknown('sandbox', id);
        else {
          const running = [...this.containers.values()].filter((one) => one.sandboxID === id && one.process.isRunning);
          this.#stopSandbox(sandbox);
          for (const container of running) await this.#untilShown(container);
        }
        return {};
      },
      RemovePodSandbox: ({ pod_sandbox_id: id = '' }) => {
        const sandbox = this.#sandboxes.get(id);
        if (sandbox === undefined) this.#refuseUnknown('sandbox', id);
        else this.#removeSandbox(sandbox);
        return {};
      },
      PodSandboxStatus: ({ pod_sandbox_id: id = '' }) => ({
        ...received('PodSandboxStatusResponse', {}),
        status: this.#sandboxStatus(this.#sandbox(id)),
      }),
      ListPodSandbox: ({ filter }) => this.#listSandboxes(filter ?? {}),
      CreateContainer: async ({ pod_sandbox_id: id = '', config = {}, sandbox_config: sandboxConfig = {} }) => {
        await this.#take(1, 30);
        return received('CreateContainerResponse', { container_id: this.#create(id, config, sandboxConfig).id });
      },
      StartContainer: async ({ container_id: id = '' }) => {
        await this.#take(3, 80);
        this.#start(this.#container(id));
        return {};
      },
      StopContainer: async ({ container_id: id = '', timeout = 0 }, isCancelled) => {
        const container = this.containers.get(id);
        if (container === undefined) this.#refuseUnknown('container', id);
        else await this.#stop(container, timeout, isCancelled);
        return {};
      },
      RemoveContainer: async ({ container_id: id = '' }) => {
        await this.#take(1, 10);
        const container = this.containers.get(id);
        if (container === undefined) {
          this.#refuseUnknown('container', id);
          return {};
        }
        container.process.removed(this.#sandboxes.get(container.sandboxID)?.isReady === true);
        this.#remove(container);
        return {};
      },
      ListContainers: ({ filter }) => this.#listContainers(filter ?? {}),
      ContainerStatus: ({ container_id: id = '' }) => ({
        ...received('ContainerStatusResponse', {}),
        status: this.#containerStatus(this.#container(id)),
      }),
      UpdatePodSandboxResources: ({ pod_sandbox_id: id = '' }) => {
        if (this.#options.cgroups.isOldRuntime) throw failure('UNKNOWN', 'not implemented');
        this.#sandbox(id);
        return {};
      },
      UpdateContainerResources: ({ container_id: id = '', linux }) => {
        const container = this.#container(id);
        if (container.state !== 'CONTAINER_RUNNING') throw failure('UNKNOWN', `container ${id} is not running`);
        container.resources = { ...container.resources, ...linux };
        return {};
      },
      ReopenContainerLog: ({ container_id: id = '' }) => {
        const container = this.#container(id);
        if (container.state !== 'CONTAINER_RUNNING') throw failure('UNKNOWN', 'container is not running');
        container.log?.end();
        container.log = this.#options.logs.open(container.logPath);
        return {};
      },
      Exec: ({ container_id: id = '' }) => ({ url: `http://127.0.0.1/exec/${this.#container(id).id}` }),
      Attach: ({ container_id: id = '' }) => ({ url: `http://127.0.0.1/attach/${this.#container(id).id}` }),
      PortForward: ({ pod_sandbox_id: id = '' }) => ({ url: `http://127.0.0.1/ports/${this.#sandbox(id).id}` }),
      ExecSync: ({ container_id: id = '', cmd = [], timeout = 0 }) => this.#exec(id, cmd, timeout),
      ListContainerStats: () =>
        received('ListContainerStatsResponse', {
          stats: [...this.containers.values()]
            .filter(({ state }) => state === 'CONTAINER_RUNNING')
            .map(({ id, config: { metadata, labels } }) => ({
              attributes: { id, metadata, labels },
              cpu: { timestamp: this.#nowNs(), usage_core_nano_seconds: { value: 1e9 } },
              memory: {
                timestamp: this.#nowNs(),
                working_set_bytes: { value: 1e7 },
                available_bytes: { value: 2 ** 40 },
              },
              io: { timestamp: this.#nowNs(), psi: { Full: { Total: 1 }, Some: { Total: 1 } } },
              swap: { timestamp: this.#nowNs(), swap_usage_bytes: { value: 0 } },
              writable_layer: {
                timestamp: this.#nowNs(),
                fs_id: { mountpoint: '/var/lib/containerd' },
                used_bytes: { value: 10_000 },
                inodes_used: { value: 10 },
              },
            })),
        }),
      ListPodSandboxStats: () => {
        if (this.#options.cgroups.isOldRuntime) throw failure('UNKNOWN', 'a sandbox is not ready');
        return { stats: [...this.#sandboxes.values()].map((sandbox) => this.#sandboxStats(sandbox)) };
      },
      PodSandboxStats: ({ pod_sandbox_id: id = '' }) => ({ stats: this.#sandboxStats(this.#sandbox(id)) }),
      ListImages: () =>
        received('ListImagesResponse', {
          images: [...this.images].map(([name, size]) => ({ id: imageIDOf(name), repo_tags: [name], size })),
        }),
      ImageStatus: ({ image }) => {
        const name = nameOfImage(image?.image ?? '');
        const size = this.images.get(name);
        return received('ImageStatusResponse', {
          image: size === undefined ? undefined : { id: imageIDOf(name), repo_tags: [name], size },
        });
      },
      PullImage: async ({ image, auth }, isCancelled) => {
        const name = image?.image ?? '';
        await this.#take(50, 3_000);
        if (isCancelled()) throw failure('CANCELLED', 'cancelled');
        if (name.startsWith('missing')) throw failure('NOT_FOUND', `failed to pull ${name}: not found`);
        if (name.startsWith('unreachable')) throw failure('UNAVAILABLE', 'RegistryUnavailable: no route');
        if (name.startsWith('private') && !auth?.username) throw failure('UNKNOWN', 'authorization failed');
        this.images.set(name, 1_000_000);
        return received('PullImageResponse', { image_ref: imageIDOf(name) });
      },
      RemoveImage: ({ image }) => {
        this.images.delete(nameOfImage(image?.image ?? ''));
        return {};
      },
      ImageFsInfo: () =>
        received('ImageFsInfoResponse', {
          image_filesystems: [
            {
              timestamp: this.#nowNs(),
              fs_id: { mountpoint: '/var/lib/containerd' },
              used_bytes: { value: 1_000_000 * this.images.size },
              inodes_used: { value: 100 },
            },
          ],
        }),
    };
  }

  // Sandboxes

  async #runPodSandbox(
    config: CRIRequest<'PodSandboxConfig'>,
    isCancelled: () => boolean,
  ): Promise<CRIMessage<'RunPodSandboxResponse'>> {
    const { metadata } = config;
    const name = `${metadata?.name}_${metadata?.namespace}_${metadata?.uid}_${metadata?.attempt}`;
    const id = this.#nextID('s');
    this.#reserve('sandbox', name, id);
    await this.#take(20, 320);
    if (isCancelled()) {
      this.#names.delete(name);
      throw failure('CANCELLED', 'cancelled');
    }
    const podUID = metadata?.uid ?? '';
    const ready = this.sandboxesOf(podUID).filter(({ isReady }) => isReady);
    if (ready.length > 0)
      this.#world.violate('one sandbox at a time', `${metadata?.name} ${podUID}: ${id} and ${ready[0]!.id}`);
    const isHostNetwork = config.linux?.security_context?.namespace_options?.network === 'NODE';
    const ip = isHostNetwork ? '' : `10.0.${(this.#lastID >> 8) & 255}.${this.#lastID & 255}`;
    const sandbox: Sandbox = { id, name, config, ip, createdAtNs: this.#nowNs(), isReady: true };
    const others = [...this.#sandboxes.values()].filter((other) => other.isReady && podUIDOf(other) !== podUID);
    const shared = others.find((other) => firstIDOf(other) !== undefined && firstIDOf(other) === firstIDOf(sandbox));
    if (shared !== undefined)
      this.#world.violate('no two pods have the same user IDs', `${name} and ${shared.name}: ${firstIDOf(sandbox)}`);
    this.#sandboxes.set(id, sandbox);
    this.#tell('CONTAINER_CREATED_EVENT', id, sandbox);
    this.#tell('CONTAINER_STARTED_EVENT', id, sandbox);
    return { pod_sandbox_id: id };
  }

  #stopSandbox(sandbox: Sandbox): void {
    for (const container of this.containers.values())
      if (container.sandboxID === sandbox.id && container.process.isRunning) container.process.kill();
    if (!sandbox.isReady) return;
    sandbox.isReady = false;
    this.#tell('CONTAINER_STOPPED_EVENT', sandbox.id, sandbox);
  }

  #removeSandbox(sandbox: Sandbox): void {
    this.#stopSandbox(sandbox);
    for (const container of this.containers.values()) if (container.sandboxID === sandbox.id) this.#remove(container);
    this.#sandboxes.delete(sandbox.id);
    this.#names.delete(sandbox.name);
    this.#tell('CONTAINER_DELETED_EVENT', sandbox.id, sandbox);
  }

  #listSandboxes({ label_selector: labels, state }: CRIRequest<'PodSandboxFilter'>): ResponseOf<'ListPodSandbox'> {
    const found = [...this.#sandboxes.values()].filter(
      (sandbox) =>
        hasLabels(sandbox.config, labels) && (state?.state === undefined || state.state === stateOf(sandbox)),
    );
    return received('ListPodSandboxResponse', {
      items: found.map((sandbox) => ({
        ...{ id: sandbox.id, state: stateOf(sandbox), created_at: sandbox.createdAtNs },
        ...{ metadata: sandbox.config.metadata, labels: sandbox.config.labels },
      })),
    });
  }

  #sandboxStatus(sandbox: Sandbox): CRIMessage<'PodSandboxStatus'> {
    const { id, config, createdAtNs, ip } = sandbox;
    return received('PodSandboxStatus', {
      ...{ id, state: stateOf(sandbox), created_at: createdAtNs, metadata: config.metadata, labels: config.labels },
      network: { ip },
      linux: { namespaces: { options: { network: ip === '' ? 'NODE' : 'POD' } } },
    });
  }

  #sandboxStats({ id, config }: Sandbox): CRIMessage<'PodSandboxStats'> {
    const timestamp = this.#nowNs();
    return received('PodSandboxStats', {
      attributes: { id, metadata: config.metadata, labels: config.labels },
      linux: {
        cpu: { timestamp, usage_core_nano_seconds: { value: 1e9 } },
        memory: { timestamp, working_set_bytes: { value: 1e7 } },
        network: { timestamp, default_interface: { name: 'eth0', rx_bytes: { value: 1 } } },
        process: { timestamp, process_count: { value: 1 } },
      },
    });
  }

  #sandbox(id: string): Sandbox {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined)
      throw failure('NOT_FOUND', `an error occurred when try to find sandbox ${id}: not found`);
    return sandbox;
  }

  // Containers

  #create(
    sandboxID: string,
    config: CRIRequest<'ContainerConfig'>,
    { log_directory: logDirectory = '' }: CRIRequest<'PodSandboxConfig'>,
  ): CRIContainer {
    const sandbox = this.#sandbox(sandboxID);
    if (!sandbox.isReady) throw failure('UNKNOWN', `sandbox ${sandboxID} is not ready`);
    if (!this.images.has(nameOfImage(config.image?.image ?? '')))
      throw failure('NOT_FOUND', `image ${config.image?.image ?? ''} not found`);
    const { metadata, labels = {}, args = [] } = config;
    const podUID = podUIDOf(sandbox);
    const name = `${metadata?.name}_${sandbox.name}_${metadata?.attempt}`;
    const id = this.#nextID('c');
    this.#reserve('container', name, id);
    const identity = {
      ...{ podUID, podName: labels[podNameLabel] ?? '', container: labels[containerNameLabel] ?? '' },
      ...{ id: `containerd://${id}`, attempt: metadata?.attempt ?? 0, args },
    };
    const { world, runs } = this.#options.machine;
    const container: CRIContainer = {
      ...{ id, name, podUID, sandboxID, config, createdAtNs: this.#nowNs() },
      logPath: join(logDirectory, config.log_path ?? ''),
      process: new SimulatedContainer(world, runs, identity, () => this.#exited(container)),
      ...{ startedAtNs: 0, finishedAtNs: 0, state: 'CONTAINER_CREATED', reason: '', exitCode: 0 },
      ...{ resources: config.linux?.resources ?? {}, log: undefined },
    };
    this.containers.set(id, container);
    this.#tell('CONTAINER_CREATED_EVENT', id, sandbox);
    return container;
  }

  #start(container: CRIContainer): void {
    const { id, state, logPath } = container;
    const sandbox = this.#sandbox(container.sandboxID);
    if (state !== 'CONTAINER_CREATED') throw failure('UNKNOWN', `container "${id}" is in ${state} state`);
    if (!sandbox.isReady) throw failure('UNKNOWN', `sandbox container "${sandbox.id}" is not running`);
    const { cgroup_parent: cgroup = '' } = sandbox.config.linux ?? {};
    if (cgroup !== '' && !this.#options.cgroups.exists(cgroup))
      this.#world.violate('the cgroup of a pod exists as long as its containers', `${sandbox.name}: ${cgroup}`);
    container.startedAtNs = this.#nowNs();
    container.state = 'CONTAINER_RUNNING';
    container.log = this.#options.logs.open(logPath);
    container.process.start();
    this.#tell('CONTAINER_STARTED_EVENT', id, sandbox);
  }

  #exited(container: CRIContainer): void {
    container.log?.end();
    const { exitCode = 0 } = container.process.run!;
    this.#writeMessage(container, `exit ${exitCode}`);
    const { exitLagMs } = this.#options;
    const show = (): void => {
      if (container.state === 'CONTAINER_UNKNOWN') return;
      container.state = 'CONTAINER_EXITED';
      container.finishedAtNs = this.#nowNs();
      container.exitCode = exitCode;
      container.reason ||= exitCode === 0 ? 'Completed' : 'Error';
    };
    const sandbox = this.#sandboxes.get(container.sandboxID);
    if (exitLagMs === 0) show();
    else this.#world.at(this.#random.next() * exitLagMs, show);
    if (sandbox !== undefined) this.#tell('CONTAINER_STOPPED_EVENT', container.id, sandbox);
  }

  /** As containers do, unless the agent has removed the file. */
  #writeMessage({ config: { mounts = [] } }: CRIContainer, message: string): void {
    const path = mounts.find((mount) => mount.container_path === '/dev/termination-log')?.host_path;
    const { files } = this.#options.machine;
    if (path !== undefined && files.find(path) !== undefined) files.write(path, message);
  }

  async #stop(container: CRIContainer, graceSeconds: number, isCancelled: () => boolean): Promise<void> {
    if (container.state === 'CONTAINER_CREATED') return;
    const isUnknown = container.state === 'CONTAINER_UNKNOWN';
    if (isUnknown) container.process.kill();
    await container.process.stop(graceSeconds);
    if (isCancelled() && container.process.isRunning) throw failure('CANCELLED', 'cancelled');
    if (isUnknown) {
      container.exitCode = container.process.run?.exitCode ?? 255;
      Object.assign(container, { state: 'CONTAINER_EXITED', finishedAtNs: this.#nowNs(), reason: 'Unknown' });
    }
    await this.#untilShown(container);
  }

  async #untilShown({ id }: CRIContainer): Promise<void> {
    while (this.containers.get(id)?.state === 'CONTAINER_RUNNING') await this.#world.sleep(5);
  }

  #remove(container: CRIContainer): void {
    container.process.kill();
    this.containers.delete(container.id);
    this.#names.delete(container.name);
    const sandbox = this.#sandboxes.get(container.sandboxID);
    if (sandbox !== undefined) this.#tell('CONTAINER_DELETED_EVENT', container.id, sandbox);
  }

  #listContainers({
    label_selector: labels,
    state,
    pod_sandbox_id: sandboxID,
  }: CRIRequest<'ContainerFilter'>): ResponseOf<'ListContainers'> {
    const found = [...this.containers.values()].filter(
      (container) =>
        hasLabels(container.config, labels) &&
        (state?.state === undefined || state.state === container.state) &&
        (!sandboxID || sandboxID === container.sandboxID),
    );
    return received('ListContainersResponse', {
      containers: found.map(({ id, config, createdAtNs, ...container }) => ({
        ...{ id, pod_sandbox_id: container.sandboxID, state: container.state, created_at: createdAtNs },
        ...{ metadata: config.metadata, labels: config.labels, annotations: config.annotations },
        ...{ image: config.image, image_ref: config.image?.image },
      })),
    });
  }

  #containerStatus(container: CRIContainer): CRIMessage<'ContainerStatus'> {
    const { id, config, createdAtNs, startedAtNs, finishedAtNs, state, reason, exitCode, resources } = container;
    return received('ContainerStatus', {
      ...{ id, metadata: config.metadata, state, created_at: createdAtNs, started_at: startedAtNs },
      ...{ finished_at: finishedAtNs, exit_code: exitCode, reason: state === 'CONTAINER_EXITED' ? reason : '' },
      image: { image: config.image?.user_specified_image },
      ...{ image_ref: config.image?.image, image_id: config.image?.image },
      ...{ labels: config.labels, annotations: config.annotations, mounts: config.mounts },
      ...{ log_path: container.logPath, resources: { linux: resources } },
    });
  }

  #container(id: string): CRIContainer {
    const container = this.containers.get(id);
    if (container === undefined)
      throw failure('NOT_FOUND', `an error occurred when try to find container "${id}": not found`);
    return container;
  }

  async #exec(id: string, command: readonly string[], timeoutSeconds: number): Promise<ResponseOf<'ExecSync'>> {
    const { state } = this.#container(id);
    if (state !== 'CONTAINER_RUNNING') throw failure('UNKNOWN', `container "${id}" is in ${state} state`);
    const [, failures = '0', takesMs = '5'] = command;
    const isFailed = this.#random.chance(Number(failures));
    const timeoutMs = timeoutSeconds > 0 ? timeoutSeconds * 1_000 : Number.POSITIVE_INFINITY;
    await this.#world.sleep(Math.min(Number(takesMs), timeoutMs));
    if (Number(takesMs) >= timeoutMs) throw failure('DEADLINE_EXCEEDED', `timeout ${timeoutSeconds}s exceeded`);
    return received('ExecSyncResponse', { exit_code: isFailed ? 1 : 0 });
  }

  // All

  #tell(type: EventType, id: string, sandbox: Sandbox): void {
    this.#world.note('cri', type, podUIDOf(sandbox), id);
    this.#options.onEvent({ type, id, sandbox: this.#sandboxStatus(sandbox) });
  }

  #reserve(what: string, name: string, id: string): void {
    const owner = this.#names.get(name);
    if (owner !== undefined)
      throw failure('UNKNOWN', `failed to reserve ${what} name "${name}": name "${name}" is reserved for "${owner}"`);
    this.#names.set(name, id);
  }

  #refuseUnknown(what: string, id: string): void {
    if (this.#options.refusesUnknown) throw failure('NOT_FOUND', `could not find ${what} "${id}"`);
  }

  #take(minMs: number, maxMs: number): Promise<void> {
    return this.#world.sleep(minMs + this.#random.next() * (maxMs - minMs));
  }

  #nowNs(): number {
    return nowOf(this.#options.machine) * 1e6;
  }

  #nextID(prefix: string): string {
    return `${prefix}${String(++this.#lastID).padStart(8, '0')}`;
  }
}

/** What containerd shows of its configuration. */
function containerdConfig(isSystemd: boolean): string {
  const runc = { options: { SystemdCgroup: isSystemd } };
  return JSON.stringify({ containerd: { defaultRuntimeName: 'runc', runtimes: { runc } } });
}

export function failure(name: keyof typeof code, details: string): CRIError {
  return new CRIError({ code: code[name], details, message: details });
}

/** The first user of the machine that a sandbox has, if it has a user namespace. */
function firstIDOf({ config }: Pick<Sandbox, 'config'>): number | undefined {
  return config.linux?.security_context?.namespace_options?.userns_options?.uids?.[0]?.host_id;
}

function podUIDOf({ config }: Pick<Sandbox, 'config'>): string {
  return config.labels?.[podUIDLabel] ?? '';
}

function stateOf({ isReady }: Sandbox): CRIMessage<'PodSandbox'>['state'] {
  return isReady ? 'SANDBOX_READY' : 'SANDBOX_NOTREADY';
}

function hasLabels(
  { labels = {} }: { readonly labels?: Readonly<Record<string, string>> | undefined },
  selector: Readonly<Record<string, string>> = {},
): boolean {
  return Object.entries(selector).every(([label, value]) => labels[label] === value);
}

function imageIDOf(name: string): string {
  return `sha256:${name}`;
}

function nameOfImage(reference: string): string {
  return reference.startsWith('sha256:') ? reference.slice('sha256:'.length) : reference;
}
