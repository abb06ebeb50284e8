import { spawn, spawnSync } from 'node:child_process';
import { existsSync, openSync, closeSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { descendantsOf, endProcess, listProcesses, signal } from './processes.ts';
import { runNodeScript } from './scripts.ts';

export const nodeName = 'node-a';

/** A control plane and a containerd of their own, in one folder. */
export class Machine {
  readonly index: number;
  readonly folder: string;
  readonly endpoint: string;
  readonly #containerd: string;

  static async start(folder: string, index: number): Promise<Machine> {
    const machine = new Machine(folder, index);
    try {
      await runNodeScript('control-plane', 'up', join(folder, 'control-plane'), String(index));
      await runNodeScript('containerd', 'up', join(folder, 'containerd'), String(index));
    } catch (error) {
      await machine.stop();
      throw error;
    }
    return machine;
  }

  private constructor(folder: string, index: number) {
    this.folder = folder;
    this.index = index;
    this.#containerd = join(folder, 'containerd');
    this.endpoint = `unix://${join(this.#containerd, 'containerd.sock')}`;
  }

  /** The address of the node on the bridge of the control plane, which pods reach. */
  get nodeIP(): string {
    return `10.99.${this.index}.1`;
  }

  kubeConfig(user: 'admin' | 'node-a'): string {
    return join(this.folder, 'control-plane', `${user}.kubeconfig`);
  }

  /** Kills containerd and starts it again; containers keep running. */
  async restartContainerd(): Promise<void> {
    await this.#stopContainerd('SIGKILL');
    await this.#startContainerd();
  }

  /** As when the machine loses power: containerd and all processes of containers, with what is in memory only. */
  async powerOff(agentFolder: string): Promise<void> {
    await this.#stopContainerd('SIGKILL');
    this.#killContainers();
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
    await runNodeScript('containerd', 'up', this.#containerd, String(this.index));
  }

  /** The processes of containers whose command contains a text. */
  containerProcesses(text: string): number[] {
    return descendantsOf((command) => this.#isShim(command))
      .filter(({ command }) => command.includes(text))
      .map(({ pid }) => pid);
  }

  /** The pause process of the sandbox with this address. */
  sandboxProcess(podIP: string): number | undefined {
    return this.containerProcesses('/pause').find((pid) =>
      spawnSync('nsenter', ['-t', String(pid), '-n', 'ip', '-4', 'addr'])
        .stdout.toString()
        .includes(` ${podIP}/`),
    );
  }

  /** Removes what an agent has stored, the logs of containers too; its own log stays. */
  forget(agentFolder: string): void {
    unmountBelow(agentFolder);
    for (const name of ['root', 'podlogs']) {
      rmSync(join(agentFolder, name), { recursive: true, force: true, maxRetries: 10 });
    }
  }

  async stop(): Promise<void> {
    await this.#stopContainerd('SIGTERM');
    this.#killContainers();
    for (const name of ['root', 'state', 'images', 'ipam']) {
      rmSync(join(this.#containerd, name), { recursive: true, force: true, maxRetries: 10 });
    }
    const controlPlane = join(this.folder, 'control-plane');
    for (const name of ['sched', 'kcm', 'apiserver', 'etcd']) await endProcessOf(join(controlPlane, `${name}.pid`));
    for (const name of ['etcd', 'certs']) rmSync(join(controlPlane, name), { recursive: true, force: true });
    for (const bridge of [`cni${this.index}`, `kcp${this.index}`]) spawnSync('ip', ['link', 'delete', bridge]);
  }

  async #startContainerd(): Promise<void> {
    const log = openSync(join(this.#containerd, 'containerd.log'), 'a');
    const { pid } = spawn('containerd', ['-c', 'config.toml'], {
      cwd: this.#containerd,
      stdio: ['ignore', log, log],
      detached: true,
    });
    closeSync(log);
    writeFileSync(join(this.#containerd, 'containerd.pid'), `${pid}\n`);
    while (spawnSync('ctr', ['-a', join(this.#containerd, 'containerd.sock'), 'version']).status !== 0)
      await sleep(100);
  }

  async #stopContainerd(name: NodeJS.Signals): Promise<void> {
    await endProcessOf(join(this.#containerd, 'containerd.pid'), name);
  }

  #isShim(command: string): boolean {
    return command.includes('containerd-shim') && command.includes(`${this.#containerd}/containerd.sock`);
  }

  #killContainers(): void {
    const networks = this.#networkNamespaces();
    const containers = descendantsOf((command) => this.#isShim(command));
    for (const { pid } of listProcesses().filter(({ command }) => this.#isShim(command))) signal(pid, 'SIGKILL');
    for (const { pid } of containers) signal(pid, 'SIGKILL');
    unmountBelow(join(this.#containerd, 'state'));
    rmSync(join(this.#containerd, 'state'), { recursive: true, force: true, maxRetries: 10 });
    for (const path of networks) {
      spawnSync('umount', ['-l', path]);
      rmSync(path, { force: true });
    }
  }

  #networkNamespaces(): Set<string> {
    const tasks = join(this.#containerd, 'state', 'io.containerd.runtime.v2.task', 'k8s.io');
    if (!existsSync(tasks)) return new Set();
    const paths = readdirSync(tasks).flatMap((id) => {
      try {
        const { linux } = JSON.parse(readFileSync(join(tasks, id, 'config.json'), 'utf8')) as RuntimeSpec;
        return linux.namespaces.flatMap(({ type, path }) => (type === 'network' && path ? [path] : []));
      } catch {
        return [];
      }
    });
    return new Set(paths.filter((path) => /^(\/var)?\/run\/netns\/cni-/.test(path)));
  }
}

async function endProcessOf(pidFile: string, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
  if (existsSync(pidFile)) await endProcess(Number(readFileSync(pidFile, 'utf8')), signal);
  rmSync(pidFile, { force: true });
}

interface RuntimeSpec {
  readonly linux: { readonly namespaces: readonly { readonly type: string; readonly path?: string }[] };
}

/** Unmounts all file systems below a folder, the last one first. */
function unmountBelow(folder: string): void {
  const mounts = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1]?.replaceAll(String.raw`\040`, ' ') ?? '')
    .filter((path) => path.startsWith(`${folder}/`));
  for (const path of mounts.toReversed()) spawnSync('umount', ['-l', path]);
}
