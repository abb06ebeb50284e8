import type { RuntimeHelper } from '../../../src/node/container-options/runtime-helper.ts';
import { requestTimeoutMs } from '../../../src/kubelet-api/bounded-streaming-runtime.ts';
import { createCRIRuntimeOn } from '../../../src/cri/create-cri-runtime.ts';
import type { CRIHost } from '../../../src/cri/cri-host.ts';
import { hostPodFiles } from '../../../src/cri/runtime-pod-files.ts';
import { UserNamespaces } from '../../../src/cri/user-namespaces.ts';
import type { CRIMethod } from '../../../src/cri/cri-messages.ts';
import type { MachineResources } from '../../../src/cri/linux-resources.ts';
import type { Logger } from '../../../src/shared/logger.ts';
import type { Random } from '../../chaos/random.ts';
import type { ContainerRun } from '../agent/container-runs.ts';
import type { Machine, NodeRuntime, RuntimeConnection } from '../agent/node-runtime.ts';
import { pullSecretsFor } from '../agent/pull-secrets.ts';
import type { SimulatedHelper } from '../agent/simulated-volumes.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';
import type { CRIRuntime } from '../../../src/cri/cri-runtime.ts';
import { observedRuntime } from './observed-runtime.ts';
import { type EventsKind, SimulatedCRIEndpoint } from './simulated-cri-connection.ts';
import { SimulatedCgroups } from './simulated-cgroups.ts';
import { SimulatedCRIService } from './simulated-cri-service.ts';
import { SimulatedLogs } from './simulated-logs.ts';

const machineResources: MachineResources = {
  ...{ memoryBytes: 2 ** 34, cpus: 4, hugePageSizes: ['2MB'], thermalThrottlePaths: [] },
  ...{ hasCgroup2: true, hasSwapController: false, hasSELinux: false },
};
/** A log is rotated after some 30 s, or in some worlds 5 s. */
const logBytes = [5_000, 30_000];
/** A log grows for so long until its rotation is due, and it has been rotated. */
const rotationMs = 15_000;
/** Those that change something, or that others wait for. */
const focusMethods = [
  ...['RunPodSandbox', 'StopPodSandbox', 'RemovePodSandbox', 'CreateContainer', 'StartContainer'],
  ...['StopContainer', 'RemoveContainer', 'ReopenContainerLog', 'ExecSync', 'PullImage'],
  ...['ListPodSandbox', 'ListContainers', 'ContainerStatus', 'PodSandboxStatus', 'ImageStatus', 'Status'],
] as readonly CRIMethod[];
/** Of pods with a user namespace. */
const idRange = { firstID: 65_536, length: 100 * 65_536 };
/** How soon after its start a container has a link to its log. */
const linkMs = 1_000;
/** How long all is quiet before links and logs must be right, and the garbage collected. */
const quietMs = 80_000;
/** A list without an answer from before the end of all faults holds up the rotation of logs for two minutes, as in the kubelet. */
const lastCallMs = 150_000;

/** A node whose runtime is `createCRIRuntime` on a simulated service of the CRI. */
export class SimulatedCRINode implements NodeRuntime {
  readonly #machine: Machine;
  readonly #world: World;
  readonly #logs: SimulatedLogs;
  readonly #cgroups: SimulatedCgroups;
  readonly #service: SimulatedCRIService;
  readonly #endpoint: SimulatedCRIEndpoint;
  readonly #containerLogMaxSizeBytes: number;
  #isDisturbed = false;
  #healedMs = 0;

  /** @param kind default: as the seed says */
  constructor(machine: Machine, kind?: EventsKind) {
    this.#machine = machine;
    const { world } = machine;
    this.#world = world;
    const random = world.random.fork('CRI node');
    const events = kind ?? random.pick<EventsKind>(['cri', 'cri', 'containerd', 'none']);
    this.#logs = new SimulatedLogs(machine);
    this.#cgroups = new SimulatedCgroups(machine);
    this.#containerLogMaxSizeBytes = random.fork('logs').pick(logBytes);
    this.#service = new SimulatedCRIService({
      ...{ machine, logs: this.#logs, cgroups: this.#cgroups },
      exitLagMs: events === 'containerd' ? 100 : 0,
      refusesUnknown: random.chance(0.3),
      onEvent: (event) => this.#endpoint.tell(event),
    });
    this.#endpoint = new SimulatedCRIEndpoint(world, events, () => this.#service);
  }

  async connect(process: SimulatedProcess, logger: Logger, helper: SimulatedHelper): Promise<RuntimeConnection> {
    for (;;) {
      try {
        const runtime = await createCRIRuntimeOn(this.#hostOf(process), {
          ...{ endpoint: 'unix:///run/containerd/containerd.sock', clock: process.clock, logger },
          containerLogMaxSizeBytes: this.#containerLogMaxSizeBytes,
          ...(this.#cgroups.root !== undefined && { cgroupRoot: this.#cgroups.root, podPidsLimit: 1_000 }),
          helper: { ...helper, pullCredentials },
        });
        const observed = observedRuntime(runtime, { service: this.#service, process });
        this.#askSometimes(runtime, process, this.#world.random.fork(`kubectl ${process.name}`));
        return {
          runtime: observed,
          nodeStatus: () => runtime.nodeStatus(),
          close: () => runtime.close(),
        };
      } catch (error) {
        this.#world.note(process.name, 'no runtime', String(error));
        await new Promise<void>((resolve) => void process.clock.afterFunc(1_000, resolve));
      }
    }
  }

  /** What the kubelet's API asks of the runtime for `kubectl logs`, `exec`, `attach` and `port-forward`. */
  #askSometimes(runtime: CRIRuntime, process: SimulatedProcess, random: Random): void {
    this.#world.at(random.integer(2_000, 15_000), () => {
      const what = random.pick(['log', 'exec', 'attach', 'ports'] as const);
      const chosen = random.next();
      if (!process.isAlive || !this.#isDisturbed) return;
      const containers = [...this.#service.containers.values()];
      const container = containers[Math.floor(chosen * containers.length)];
      if (container !== undefined && this.#world.happens(`kubectl: ${what}`)) {
        const { podUID } = container;
        const id = `containerd://${container.id}`;
        const streams = { tty: false, stdin: false, stdout: true, stderr: true };
        const request = new AbortController();
        const { signal } = request;
        // As `serveKubeletAPI` does.
        this.#world.at(requestTimeoutMs, () => request.abort(new Error('the runtime has not answered')));
        const calls = {
          log: () => runtime.getContainerLog(id, { signal }),
          exec: () => runtime.getExec(id, ['sh'], streams, { signal }),
          attach: () => runtime.getAttach(id, streams, { signal }),
          ports: () => runtime.getPortForward(podUID, [80], { signal }),
        };
        // Refused when the container has ended.
        calls[what]().catch(() => {});
      }
      this.#askSometimes(runtime, process, random);
    });
  }

  get openConnections(): number {
    return this.#endpoint.openConnections;
  }

  podsLeft(): ReadonlySet<string> {
    return new Set([...this.#service.podUIDs(), ...this.#logs.podUIDs(), ...this.#cgroups.podUIDs()]);
  }

  loseSandbox(podUID: string): void {
    this.#service.loseSandbox(podUID);
  }

  removeImage(image: string): void {
    this.#service.images.delete(image);
  }

  killed(process: SimulatedProcess): void {
    this.#endpoint.killed(process);
  }

  disturb(random: Random): void {
    this.#isDisturbed = true;
    this.#cgroups.disturb(random.fork('cgroups').pick([0, 1, 3]));
    this.#endpoint.disturb(random.pick([0.3, 1, 1, 2]), random.chance(0.5) ? random.pick(focusMethods) : undefined);
    for (const disturb of [this.#restarts, this.#brokenStreams, this.#kills]) {
      if (random.chance(0.8)) void disturb.call(this, random.fork(disturb.name));
    }
  }

  heal(): void {
    this.#isDisturbed = false;
    this.#healedMs = this.#world.nowMs;
    this.#service.isNetworkReady = true;
    this.#cgroups.heal();
    this.#endpoint.heal();
  }

  checkStarted({ podUID, podName, container, id }: ContainerRun): void {
    const bareID = id.slice(id.indexOf('://') + 3);
    this.#world.at(linkMs, () => {
      if (this.#service.containers.has(bareID) && !this.#logs.hasLink(bareID))
        this.#world.violate('the log of a container has its link soon', `${podName} ${podUID} ${container} ${id}`);
    });
  }

  async checkRunning(): Promise<void> {
    const lastCallEndsMs = this.#healedMs + lastCallMs - this.#world.nowMs;
    // The log that a file call hangs for is rotated after the call.
    const lastHangEndsMs = this.#machine.files.hangsForMs + rotationMs;
    await this.#world.sleep(Math.max(quietMs, lastCallEndsMs, lastHangEndsMs));
    this.#checkLogs();
    this.#checkGarbage();
    this.#checkCgroups();
  }

  async #restarts(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(10_000, 40_000));
      const lastsMs = random.integer(100, random.chance(0.2) ? 30_000 : 3_000);
      const unknownShare = random.pick([0, 0, 0.3]);
      const withoutNetworkMs = random.pick([0, 0, 2_000]);
      if (!this.#isDisturbed) return;
      if (!this.#world.happens('the CRI service restarts')) continue;
      this.#world.count('restart of the CRI service');
      this.#world.note('cri', 'stops', lastsMs);
      this.#endpoint.stop();
      await this.#world.sleep(lastsMs);
      this.#service.forgetStates(unknownShare);
      this.#service.isNetworkReady = withoutNetworkMs === 0 || !this.#isDisturbed;
      this.#endpoint.start();
      await this.#world.sleep(withoutNetworkMs);
      this.#service.isNetworkReady = true;
    }
  }

  async #brokenStreams(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(5_000, 20_000));
      if (!this.#isDisturbed) return;
      if (!this.#world.happens('the stream of events breaks')) continue;
      this.#world.count('stream of events broken');
      this.#endpoint.breakStreams();
    }
  }

  async #kills(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(5_000, 20_000));
      const chosen = random.next();
      if (!this.#isDisturbed) return;
      const podUIDs = [...this.#service.podUIDs()];
      const podUID = podUIDs[Math.floor(chosen * podUIDs.length)];
      if (podUID === undefined || !this.#world.happens('a container is killed for its memory')) continue;
      this.#world.count('OOM kill');
      this.#service.killForMemory(podUID);
    }
  }

  #hostOf(process: SimulatedProcess): CRIHost {
    const files = this.#machine.files.for(process);
    return {
      connect: () => this.#endpoint.connect(process),
      podFiles: (folders) => hostPodFiles(files, folders),
      cgroupFiles: () => this.#cgroups.filesFor(process),
      runCommand: this.#cgroups.commandsFor(process),
      readMachineResources: async () => machineResources,
      loadUserNamespaces: (rootDirectory) => UserNamespaces.load(files, rootDirectory, idRange),
    };
  }

  /** A container that runs has a log at its path, which is not too large, and a link to it. */
  #checkLogs(): void {
    for (const container of this.#service.containers.values()) {
      const { id, process, logPath, log } = container;
      if (!process.isRunning || this.#world.nowMs - process.run!.startedMs < quietMs) continue;
      this.#world.count('log checked');
      const where = `${process.identity.podName} ${container.podUID} ${process.identity.container} ${id}`;
      if (!this.#logs.hasLink(id)) this.#world.violate('the log of a container that runs has its link', where);
      if (log === undefined || !this.#logs.isAt(logPath, log))
        this.#world.violate('a container that runs writes to its log', `${where}: ${logPath}`);
      else if (log.size > this.#containerLogMaxSizeBytes + rotationMs)
        this.#world.violate('the log of a container that runs is rotated', `${where}: ${log.size} bytes`);
    }
  }

  /** No container may use more than the cgroup of its pod. */
  #checkCgroups(): void {
    for (const { id, podUID, process, resources } of this.#service.containers.values()) {
      if (!process.isRunning || this.#cgroups.root === undefined) continue;
      const ofPod = this.#cgroups.memoryLimitOf(podUID);
      const limit = resources.memory_limit_in_bytes ?? 0;
      if (ofPod !== undefined && limit > ofPod)
        this.#world.violate('a pod may use what its containers may use', `${podUID} ${id}: ${limit} of ${ofPod}`);
    }
  }

  /** Of each container, one run that has ended is kept; of each pod, the newest sandbox and those with containers. */
  #checkGarbage(): void {
    const ended = new Map<string, number>();
    const endedBeforeNs = this.#machineNs() - quietMs * 1e6;
    for (const { podUID, state, finishedAtNs, process } of this.#service.containers.values()) {
      if (state !== 'CONTAINER_EXITED' || finishedAtNs > endedBeforeNs) continue;
      const key = `${podUID} ${process.identity.container}`;
      ended.set(key, (ended.get(key) ?? 0) + 1);
    }
    for (const [key, count] of ended)
      if (count > 2) this.#world.violate('ended containers are removed', `${key}: ${count}`);
  }

  #machineNs(): number {
    const { world, wallOffsetMs } = this.#machine;
    return (world.startEpochMs + world.nowMs + wallOffsetMs) * 1e6;
  }
}

/** Credentials of all Secrets that a pod names. */
const pullCredentials: RuntimeHelper['pullCredentials'] = async (pod, image) => ({
  credentials: pullSecretsFor(image, pod).map((secret) => ({ username: secret.name, password: 'p', secret })),
  missingSecrets: [],
});
