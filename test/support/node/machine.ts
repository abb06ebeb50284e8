import { spawn, spawnSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CRIClient, ignoreNotFound } from '../../../src/cri/cri-client.ts';
import { descendantsOf, endProcess, listProcesses, signal } from './processes.ts';
import { runNodeScript } from './scripts.ts';

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
  readonly #containerd: string;
  /** Those that this machine makes: if there are some already, another run uses the same index. */
  readonly #bridges: readonly string[];

  static async start(folder: string, index: number, signal: AbortSignal): Promise<Machine> {
    const machine = new Machine(folder, index, signal);
    try {
      await machine.runScript('control-plane', 'up', join(folder, 'control-plane'), String(index));
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
    this.#containerd = join(folder, 'containerd');
    this.#bridges = [`cni${index}`, `kcp${index}`].filter((name) => !existsSync(join('/sys/class/net', name)));
    this.endpoint = `unix://${join(this.#containerd, 'containerd.sock')}`;
  }

  /** The address of the node on the bridge of the control plane, which pods reach. */
  get nodeIP(): string {
    return `10.99.${this.index}.1`;
  }

  /** The cgroup of the pods of an agent that shares nothing with a kubelet. */
  get cgroupRoot(): string {
    return `/test-node-${this.index}`;
  }

  kubeConfig(user: 'admin' | 'node-a'): string {
    return join(this.folder, 'control-plane', `${user}.kubeconfig`);
  }

  /** Runs a script that starts a part of the node. */
  async runScript(...command: readonly [name: string, ...args: string[]]): Promise<void> {
    mkdirSync(this.#temporaryFolder, { recursive: true });
    await runNodeScript(command, { signal: this.signal, temporaryFolder: this.#temporaryFolder });
  }

  /** Kills containerd and starts it again; containers keep running. */
  async restartContainerd(): Promise<void> {
    await this.killContainerd();
    await this.#startContainerd();
  }

  /** Containers keep running. `powerOn` starts it again. */
  killContainerd(): Promise<void> {
    return this.#stopContainerd('SIGKILL');
  }

  /** Stops it with SIGSTOP, which SIGCONT ends. */
  signalContainerd(name: 'SIGSTOP' | 'SIGCONT'): void {
    signal(pidOf(this.#containerdPid), name);
  }

  signalAPIServer(name: 'SIGSTOP' | 'SIGCONT'): void {
    signal(pidOf(this.#apiServerPid), name);
  }

  /** Kills the API server. Resolves with what starts it again. */
  async killAPIServer(): Promise<() => void> {
    const pid = pidOf(this.#apiServerPid);
    const [program = '', ...args] = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').slice(0, -1);
    await endProcess(pid, 'SIGKILL');
    return () => this.#start(program, args, join(this.folder, 'control-plane'), this.#apiServerPid);
  }

  /** As when the machine loses power: containerd and all processes of containers, with what is in memory only. */
  async powerOff(agentFolder: string): Promise<void> {
    await this.#stopContainerd('SIGKILL');
    await this.#killContainers();
    this.#removeNetworks();
    removeFolder(join(this.#containerd, 'state'));
    unmountBelow(agentFolder);
  }

  async powerOn(): Promise<void> {
    await this.#startContainerd();
  }

  /** Removes everything that containerd has stored, while it is off. */
  wipeContainerd(): void {
    for (const name of ['root', 'ipam']) rmSync(join(this.#containerd, name), { recursive: true, force: true });
  }

  /** As `powerOn` after `wipeContainerd`: the images are imported again. */
  async powerOnWithImages(): Promise<void> {
    await this.runScript('containerd', 'up', this.#containerd, String(this.index));
  }

  /** The processes of containers whose command contains a text. */
  containerProcesses(text: string): number[] {
    return descendantsOf((command) => this.#isShim(command))
      .filter(({ command }) => command.includes(text))
      .map(({ pid }) => pid);
  }

  /** What containerd has logged since the first start. */
  containerdLog(): string {
    return readFileSync(join(this.#containerd, 'containerd.log'), 'utf8');
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
      for (const { id } of items) await ignoreNotFound(client.call('RemovePodSandbox', { pod_sandbox_id: id }));
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
    const controlPlane = join(this.folder, 'control-plane');
    await attemptAll([
      () => this.#stopContainerd('SIGTERM'),
      () => this.#killContainers(),
      ...['sched', 'kcm', 'apiserver', 'etcd'].map(
        (name) => () => endProcessOf(join(controlPlane, `${name}.pid`), 'SIGKILL'),
      ),
      () => this.#removeNetworks(),
      () => this.#removeCgroups(),
      ...['root', 'state', 'images', 'ipam'].map((name) => () => removeFolder(join(this.#containerd, name))),
      ...['etcd', 'certs'].map((name) => () => removeFolder(join(controlPlane, name))),
      () => removeFolder(this.#temporaryFolder),
      () => this.#bridges.forEach((bridge) => spawnSync('ip', ['link', 'delete', bridge])),
    ]);
  }

  get #temporaryFolder(): string {
    return join(this.folder, 'tmp');
  }

  get #containerdPid(): string {
    return join(this.#containerd, 'containerd.pid');
  }

  get #apiServerPid(): string {
    return join(this.folder, 'control-plane', 'apiserver.pid');
  }

  async #startContainerd(): Promise<void> {
    this.#start('containerd', ['-c', 'config.toml'], this.#containerd, this.#containerdPid);
    while (spawnSync('ctr', ['-a', join(this.#containerd, 'containerd.sock'), 'version']).status !== 0)
      await sleep(100);
  }

  #start(program: string, args: readonly string[], folder: string, pidFile: string): void {
    this.signal.throwIfAborted();
    writeFileSync(pidFile, `${start(program, args, folder)}\n`);
  }

  async #stopContainerd(name: NodeJS.Signals): Promise<void> {
    await endProcessOf(this.#containerdPid, name);
  }

  #isShim(command: string): boolean {
    return command.includes('containerd-shim') && command.includes(`${this.#containerd}/containerd.sock`);
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
      if (!ofTasks.has(name) && !stdout.toString().includes(` 10.${88 + this.index}.`)) continue;
      spawnSync('umount', ['-l', path]);
      rmSync(path, { force: true });
    }
  }

  #networksOfTasks(): Set<string> {
    const tasks = join(this.#containerd, 'state', 'io.containerd.runtime.v2.task', 'k8s.io');
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

/** Starts a process that outlives this one, with a log in its folder. Returns its ID. */
function start(program: string, args: readonly string[], folder: string): number | undefined {
  const log = openSync(join(folder, `${basename(program)}.log`), 'a');
  const { pid } = spawn(program, args, { cwd: folder, stdio: ['ignore', log, log], detached: true });
  closeSync(log);
  return pid;
}

async function endProcessOf(pidFile: string, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (existsSync(pidFile)) await endProcess(pidOf(pidFile), signal);
  rmSync(pidFile, { force: true });
}

function pidOf(file: string): number {
  return Number(readFileSync(file, 'utf8'));
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
