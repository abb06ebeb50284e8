import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

const node = 'node-a';
const readyDeadlineMs = 120_000;

export interface MachineOptions {
  /** The folder of the scripts. */
  readonly tools: string;
  /** Keeps several clusters on one machine apart: addresses, bridges, ports and cgroups. */
  readonly index: number;
}

/** A control plane, a containerd and one node on this machine. */
export class Machine {
  /** The folder with `ginkgo` and `e2e.test`. */
  readonly assets: string;
  /** Of an administrator. */
  readonly kubeconfig: string;
  readonly #folder: string;
  readonly #tools: string;
  readonly #index: number;
  #endpoint = '';
  #agent: ChildProcess | undefined;

  private constructor(folder: string, { tools, index }: MachineOptions, assets: string) {
    this.#folder = folder;
    this.#tools = tools;
    this.#index = index;
    this.assets = assets;
    this.kubeconfig = path.join(folder, 'control-plane', 'admin.kubeconfig');
  }

  /** Starts all but the node's agent; everything that is written is below the folder. */
  static async start(folder: string, options: MachineOptions): Promise<Machine> {
    const { stdout } = await run(path.join(options.tools, 'assets'));
    const machine = new Machine(folder, options, lastLine(stdout));
    try {
      await machine.#script('control-plane', 'up', 'control-plane', String(options.index));
      machine.#endpoint = await machine.#script('containerd', 'up', 'containerd', String(options.index));
    } catch (error) {
      await machine.stop();
      throw error;
    }
    return machine;
  }

  /** Starts our agent, and resolves when its node is ready. */
  async startAgent(): Promise<void> {
    const nodeIP = `10.99.${this.#index}.1`;
    const log = openSync(path.join(this.#folder, 'agent.log'), 'a');
    const args = [
      ...['--kubeconfig', this.#path('control-plane', `${node}.kubeconfig`)],
      ...['--hostname-override', node],
      ...['--node-ip', nodeIP],
      // Some specs expect the kubelet API on the kubelet's default port.
      ...['--address', nodeIP],
      ...['--healthz-port', '0'],
      ...['--root-dir', this.#path('agent')],
      ...['--pod-logs-dir', this.#path('pod-logs')],
      ...['--container-runtime-endpoint', this.#endpoint],
      ...['--cgroup-root', `/conformance-${this.#index}`],
      // The API server has no client certificate for kubelets.
      '--anonymous-auth',
      ...['--authorization-mode', 'AlwaysAllow'],
      '--register-node',
    ];
    this.#agent = spawn(process.execPath, ['dist/examples/containerd-agent/main.js', ...args], {
      stdio: ['ignore', log, log],
      // Ctrl-C reaches this command only, which then stops the agent.
      detached: true,
    });
    closeSync(log);
    await this.#waitUntilReady();
  }

  /** Starts the real kubelet, and resolves when its node is ready. Only one can run on a machine. */
  async startKubelet(): Promise<void> {
    const kubeconfig = this.#path('control-plane', `${node}.kubeconfig`);
    await this.#script('kubelet', 'up', 'kubelet', kubeconfig, this.#endpoint, node, String(this.#index));
    await this.#waitUntilReady();
  }

  /** Deletes every pod, stops all processes, and unmounts what is mounted below the folder. */
  async stop(): Promise<void> {
    await this.#kubectl('delete', 'pods', '--all', '-A', '--grace-period=1', '--timeout=60s').catch(() => {});
    await this.#stopAgent();
    await this.#killContainers();
    for (const script of ['kubelet', 'control-plane', 'containerd']) {
      const pids = await this.#pids(script);
      await run(path.join(this.#tools, script), ['down', this.#path(script)]).catch(() => {});
      for (const pid of pids) await waitForExit(pid);
    }
    await this.#unmount();
    for (const bridge of [`cni${this.#index}`, `kcp${this.#index}`])
      await run('ip', ['link', 'del', bridge]).catch(() => {});
  }

  /** Removes the folder. */
  async remove(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }

  #path(...names: string[]): string {
    return path.join(this.#folder, ...names);
  }

  /** Runs a script for the named folder below ours. Resolves with the last line it prints. */
  async #script(name: string, verb: string, folder: string, ...args: string[]): Promise<string> {
    // Without an output of its own: what the script starts keeps it open.
    const log = this.#path(`${name}.${verb}.log`);
    await run('bash', [
      '-c',
      '"$@" >"$0" 2>&1',
      log,
      path.join(this.#tools, name),
      verb,
      this.#path(folder),
      ...args,
    ]).catch(async (cause: unknown) => {
      throw new Error(`${name} ${verb} failed: ${lastLine(await readFile(log, 'utf8').catch(() => ''))}`, { cause });
    });
    return lastLine(await readFile(log, 'utf8'));
  }

  async #kubectl(...args: string[]): Promise<string> {
    const { stdout } = await run('kubectl', ['--kubeconfig', this.kubeconfig, ...args]);
    return stdout;
  }

  async #waitUntilReady(): Promise<void> {
    const deadlineMs = Date.now() + readyDeadlineMs;
    const ready = 'jsonpath={.status.conditions[?(@.type=="Ready")].status}';
    while ((await this.#kubectl('get', 'node', node, '-o', ready).catch(() => '')) !== 'True') {
      if (Date.now() > deadlineMs) throw new Error(`The node is not ready after ${readyDeadlineMs / 1000} s`);
      if (this.#agent !== undefined && this.#agent.exitCode !== null) {
        throw new Error(`The agent has exited with ${this.#agent.exitCode}: see ${this.#path('agent.log')}`);
      }
      await delay(500);
    }
  }

  async #stopAgent(): Promise<void> {
    const agent = this.#agent;
    if (agent === undefined || agent.exitCode !== null || agent.signalCode !== null) return;
    const exited = once(agent, 'exit');
    agent.kill('SIGTERM');
    const timer = setTimeout(() => agent.kill('SIGKILL'), 20_000);
    await exited;
    clearTimeout(timer);
  }

  /** Of the processes that a script has started. */
  async #pids(script: string): Promise<readonly number[]> {
    const files = (await readdir(this.#path(script)).catch(() => [])).filter((name) => name.endsWith('.pid'));
    return Promise.all(files.map(async (name) => Number(await readFile(this.#path(script, name), 'utf8'))));
  }

  /** Containers outlive containerd. */
  async #killContainers(): Promise<void> {
    const ctr = ['--address', this.#path('containerd', 'containerd.sock'), '--namespace', 'k8s.io', 'tasks'];
    const { stdout } = await run('ctr', [...ctr, 'ls', '-q']).catch(() => ({ stdout: '' }));
    const ids = stdout.split('\n').filter(Boolean);
    if (ids.length > 0) await run('ctr', [...ctr, 'delete', '--force', ...ids]).catch(() => {});
  }

  async #unmount(): Promise<void> {
    const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
    for (const mount of mounts.toReversed()) {
      if (mount.startsWith(`${this.#folder}/`)) await run('umount', ['-l', mount]).catch(() => {});
    }
  }
}

/** So that its port is free for the next run. A process that does not end within 20 s is killed. */
async function waitForExit(pid: number): Promise<void> {
  const deadlineMs = Date.now() + 20_000;
  while (existsSync(`/proc/${pid}`)) {
    if (Date.now() > deadlineMs) process.kill(pid, 'SIGKILL');
    await delay(100);
  }
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? '';
}
