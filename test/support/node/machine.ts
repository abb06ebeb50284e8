import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { CRIClient } from '../../../src/cri/cri-client.ts';
import { undefinedIfNotFound } from '../../../src/cri/cri-error.ts';
import { programsFolder } from '../../kubernetes/programs.ts';
import { type ControlPlane, startControlPlane } from '../control-plane.ts';
import { runCommand } from '../run-command.ts';
import { Containerd } from './containerd.ts';
import { descendantsOf, endProcess, listProcesses } from './processes.ts';

export const nodeName = 'node-a';

const cgroups = '/sys/fs/cgroup';
const networkNamespaces = '/run/netns';

/** A control plane and a containerd of their own, in one folder. */
export class Machine {
  readonly index: number;
  readonly folder: string;
  readonly endpoint: string;
  /** Once it is aborted, nothing is started any more. */
  readonly signal: AbortSignal;
  /** Those of agents, which are removed at the end. */
  readonly usedCgroups = new Set<string>();
  readonly #containerd: Containerd;
  #controlPlane: ControlPlane | undefined;
  /** Those that this machine makes: if there are some already, another run uses the same index. */
  readonly #bridges: readonly string[];

  static async start(folder: string, index: number, signal: AbortSignal): Promise<Machine> {
    const machine = new Machine(folder, index, signal);
    try {
      machine.#addBridge();
      await machine.#startControlPlane();
      await machine.powerOnWithImages();
    } catch (error) {
      await machine.stop();
      throw error;
    }
    return machine;
  }

  private constructor(folder: string, index: number, signal: AbortSignal) {
    this.signal = signal;
    this.folder = folder;
    this.index = index;
    this.#containerd = new Containerd(join(folder, 'containerd'), index);
    this.endpoint = this.#containerd.endpoint;
    this.#bridges = [this.#containerd.bridge, this.#bridge].filter((name) => !existsSync(join('/sys/class/net', name)));
  }

  /** The address of the node on the bridge of the control plane, which pods reach. */
  get nodeIP(): string {
    return `10.99.${this.index}.1`;
  }

  /** Of the control plane and the node. */
  get #bridge(): string {
    return `kcp${this.index}`;
  }

  /** The cgroup of the pods of an agent that shares nothing with a kubelet. */
  get cgroupRoot(): string {
    return `/test-node-${this.index}`;
  }

  kubeConfig(user: 'admin' | 'node-a'): string {
    return join(this.folder, `${user}.kubeconfig`);
  }

  /** Kills containerd and starts it again; containers keep running. */
  async restartContainerd(): Promise<void> {
    await this.killContainerd();
    await this.powerOn();
  }

  /** Containers keep running. `powerOn` starts it again. */
  killContainerd(): Promise<void> {
    return this.#containerd.stop('SIGKILL');
  }

  signalContainerd(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#containerd.signal(name);
  }

  signalAPIServer(name: 'SIGSTOP' | 'SIGCONT'): void {
    this.#controlPlane?.signalAPIServer(name);
  }

  async killAPIServer(): Promise<void> {
    await this.#controlPlane?.killAPIServer();
  }

  async startAPIServer(): Promise<void> {
    await this.#controlPlane?.startAPIServer();
  }

  /** As when the machine loses power: containerd and all processes of containers, with what is in memory only. */
  async powerOff(agentFolder: string): Promise<void> {
    await this.#containerd.stop('SIGKILL');
    await this.#killContainers();
    this.#removeNetworks();
    removeFolder(join(this.#containerdFolder, 'state'));
    unmountBelow(agentFolder);
  }

  async powerOn(): Promise<void> {
    await this.#containerd.start(this.signal);
  }

  /** Removes everything that containerd has stored, while it is off. */
  wipeContainerd(): void {
    for (const name of ['root', 'ipam']) rmSync(join(this.#containerdFolder, name), { recursive: true, force: true });
  }

  /** As `powerOn` after `wipeContainerd`: the images are imported again. */
  async powerOnWithImages(): Promise<void> {
    await this.#containerd.startWithImages(this.signal);
  }

  /** The processes of containers whose command contains a text. */
  containerProcesses(text: string): number[] {
    return descendantsOf((command) => this.#isShim(command))
      .filter(({ command }) => command.includes(text))
      .map(({ pid }) => pid);
  }

  /** Writes an image as an OCI layout. */
  async exportImage(name: string, folder: string): Promise<void> {
    mkdirSync(folder, { recursive: true });
    const archive = join(folder, 'image.tar');
    await this.#containerd.images('export', archive, name);
    await runCommand('tar', ['-C', folder, '-xf', archive]);
  }

  async removeImage(name: string): Promise<void> {
    await this.#containerd.images('rm', '--sync', name);
  }

  /** What containerd has logged since the first start. */
  containerdLog(): string {
    return this.#containerd.log();
  }

  /** The sandboxes whose shims run, by their IDs. */
  shims(): string[] {
    return listProcesses().flatMap(({ command }) => {
      const id = this.#isShim(command) ? / -id (\S+)/.exec(command)?.[1] : undefined;
      return id === undefined ? [] : [id];
    });
  }

  /** The pause process of the sandbox with this address. */
  sandboxProcess(podIP: string): number | undefined {
    return this.containerProcesses('/pause').find((pid) =>
      spawnSync('nsenter', ['-t', String(pid), '-n', 'ip', '-4', 'addr'])
        .stdout.toString()
        .includes(` ${podIP}/`),
    );
  }

  /** Removes the sandboxes that an agent has left, with their containers: the next agent would do it. */
  async removeSandboxes(): Promise<void> {
    const client = new CRIClient(this.endpoint);
    try {
      const { items } = await client.call('ListPodSandbox', {});
      for (const { id } of items) await undefinedIfNotFound(client.call('RemovePodSandbox', { pod_sandbox_id: id }));
    } finally {
      client.close();
    }
  }

  /** Removes what an agent has stored, the logs of containers too; its own log stays. */
  forget(agentFolder: string): void {
    unmountBelow(agentFolder);
    for (const name of ['root', 'podlogs']) removeFolder(join(agentFolder, name));
  }

  /** Ends all processes, then removes what they have left. A part that fails does not keep the others. */
  async stop(): Promise<void> {
    await attemptAll([
      () => this.#containerd.stop('SIGTERM'),
      () => this.#killContainers(),
      () => this.#controlPlane?.stop(),
      () => this.#removeNetworks(),
      () => this.#removeCgroups(),
      ...['root', 'state', 'images', 'ipam'].map((name) => () => removeFolder(join(this.#containerdFolder, name))),
      ...['etcd', 'certs'].map((name) => () => removeFolder(join(this.#controlPlaneFolder, name))),
      () => this.#bridges.forEach((bridge) => spawnSync('ip', ['link', 'delete', bridge])),
    ]);
  }

  get #containerdFolder(): string {
    return join(this.folder, 'containerd');
  }

  get #controlPlaneFolder(): string {
    return join(this.folder, 'control-plane');
  }

  #addBridge(): void {
    if (!this.#bridges.includes(this.#bridge)) return;
    for (const args of [
      ['link', 'add', this.#bridge, 'type', 'bridge'],
      ['addr', 'add', `${this.nodeIP}/24`, 'dev', this.#bridge],
      ['link', 'set', this.#bridge, 'up'],
    ]) {
      const { status, stderr } = spawnSync('ip', args);
      if (status !== 0) throw new Error(`ip ${args.join(' ')} failed: ${stderr.toString().trim()}`);
    }
  }

  async #startControlPlane(): Promise<void> {
    this.#controlPlane = await startControlPlane({
      assets: programsFolder(),
      folder: this.#controlPlaneFolder,
      address: this.nodeIP,
      controllers: true,
      apiServerFlags: ['--allow-privileged=true', '--kubelet-preferred-address-types=InternalIP'],
      signal: this.signal,
    });
    for (const user of ['admin', nodeName] as const)
      writeFileSync(this.kubeConfig(user), JSON.stringify(this.#controlPlane.kubeConfig(user)), { mode: 0o600 });
  }

  #isShim(command: string): boolean {
    return command.includes('containerd-shim') && command.includes(this.#containerd.socket);
  }

  /** Kills shims and containers until none is left: one may start while others end. */
  async #killContainers(): Promise<void> {
    for (;;) {
      const containers = descendantsOf((command) => this.#isShim(command));
      const all = [...listProcesses().filter(({ command }) => this.#isShim(command)), ...containers];
      if (all.length === 0) return;
      await Promise.all(all.map(({ pid }) => endProcess(pid, 'SIGKILL')));
    }
  }

  #removeCgroups(): void {
    for (const controller of readdirSync(cgroups))
      for (const root of this.usedCgroups) removeCgroup(join(cgroups, controller, root));
  }

  /** Removes the network namespaces of sandboxes, and those with an address of this machine's pods: not all have a task. */
  #removeNetworks(): void {
    if (!existsSync(networkNamespaces)) return;
    const ofTasks = this.#networksOfTasks();
    for (const name of readdirSync(networkNamespaces).filter((each) => each.startsWith('cni-'))) {
      const path = join(networkNamespaces, name);
      const { stdout } = spawnSync('nsenter', [`--net=${path}`, 'ip', '-4', '-oneline', 'address']);
      if (!ofTasks.has(name) && !stdout.toString().includes(` ${this.#containerd.podNetwork}.`)) continue;
      spawnSync('umount', ['-l', path]);
      rmSync(path, { force: true });
    }
  }

  #networksOfTasks(): Set<string> {
    const tasks = join(this.#containerdFolder, 'state', 'io.containerd.runtime.v2.task', 'k8s.io');
    if (!existsSync(tasks)) return new Set();
    const names = readdirSync(tasks).flatMap((id) => {
      try {
        const { linux } = JSON.parse(readFileSync(join(tasks, id, 'config.json'), 'utf8')) as RuntimeSpec;
        return linux.namespaces.flatMap(({ type, path }) => (type === 'network' && path ? [basename(path)] : []));
      } catch {
        return [];
      }
    });
    return new Set(names);
  }
}

interface RuntimeSpec {
  readonly linux: { readonly namespaces: readonly { readonly type: string; readonly path?: string }[] };
}

/** Makes all calls, one after the other, and then fails if one has failed. */
async function attemptAll(calls: readonly (() => unknown)[]): Promise<void> {
  const errors: unknown[] = [];
  for (const call of calls) {
    try {
      await call();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw new AggregateError(errors, `Not all could be ended: ${errors.join('; ')}`);
}

function removeFolder(folder: string): void {
  unmountBelow(folder);
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
}

function removeCgroup(path: string): void {
  if (!existsSync(path)) return;
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isDirectory()) removeCgroup(join(path, entry.name));
  try {
    rmdirSync(path);
  } catch {
    // Its processes are still ending.
  }
}

/** Unmounts all file systems below a folder, the last one first. */
function unmountBelow(folder: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1]?.replaceAll(String.raw`\040`, ' ') ?? '')
    .filter((path) => path.startsWith(`${folder}/`));
  for (const path of mounts.toReversed()) spawnSync('umount', ['-l', path]);
}
