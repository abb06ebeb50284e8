import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Machine, nodeName } from './machine.ts';
import { programsFolder } from '../../kubernetes/programs.ts';
import { repository } from '../repository.ts';
import { endProcess, startProcess } from './processes.ts';

export type AgentName = 'kubelet' | 'agent';

/** A node agent on the machine: the kubelet, or the one of this repository. */
export interface NodeAgentProcess {
  readonly name: AgentName;
  readonly folder: string;
  /** Where it reads the manifests of static pods. */
  readonly staticPods: string;
  /** Undefined while it does not run. */
  readonly pid: number | undefined;
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

export interface AgentOptions {
  /** Of its files, by default its own. Agents that hand pods over to each other share one, and a cgroup. */
  readonly folder?: string;
  /** More flags of our agent, by name. */
  readonly flags?: Readonly<Record<string, string>>;
}

export function createAgent(name: AgentName, machine: Machine, { folder, flags }: AgentOptions = {}): NodeAgentProcess {
  const path = join(machine.folder, folder ?? name);
  // The kubelet kills processes below /kubepods that are not its own.
  const cgroupRoot = name === 'agent' && folder === undefined ? machine.cgroupRoot : '/kubepods';
  machine.usedCgroups.add(cgroupRoot);
  if (name === 'kubelet') return new Kubelet(machine, path);
  return new ContainerdAgent(machine, path, { 'cgroup-root': cgroupRoot, ...flags });
}

/** The port of the agent's /healthz and /readyz, on 127.0.0.1. */
export function healthzPortOf({ index }: Machine): number {
  return 19_248 + index;
}

class Kubelet implements NodeAgentProcess {
  readonly name = 'kubelet';
  readonly folder: string;
  readonly #machine: Machine;
  pid: number | undefined;

  constructor(machine: Machine, folder: string) {
    this.#machine = machine;
    this.folder = folder;
  }

  get staticPods(): string {
    return join(this.folder, 'static');
  }

  async start(): Promise<void> {
    this.#machine.signal.throwIfAborted();
    mkdirSync(this.staticPods, { recursive: true });
    const config = join(this.folder, 'config.json');
    writeFileSync(config, JSON.stringify(this.#config()));
    const flags = {
      config,
      kubeconfig: this.#machine.kubeConfig('node-a'),
      'hostname-override': nodeName,
      'node-ip': this.#machine.nodeIP,
      'root-dir': join(this.folder, 'root'),
      v: '2',
    };
    const args = Object.entries(flags).map(([name, value]) => `--${name}=${value}`);
    this.pid = startProcess(join(programsFolder(), 'kubelet'), args, this.folder);
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.pid !== undefined) await endProcess(this.pid, signal);
    this.pid = undefined;
  }

  #config(): object {
    return {
      apiVersion: 'kubelet.config.k8s.io/v1beta1',
      kind: 'KubeletConfiguration',
      containerRuntimeEndpoint: this.#machine.endpoint,
      staticPodPath: this.staticPods,
      podLogsDir: join(this.folder, 'podlogs'),
      clusterDomain: 'cluster.local',
      // The API server has no client certificate for kubelets.
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: 'AlwaysAllow' },
      address: this.#machine.nodeIP,
      port: 10_250,
      healthzPort: 0,
      // What a container or a small machine as a node needs.
      failCgroupV1: false,
      failSwapOn: false,
      cgroupDriver: 'cgroupfs',
      cgroupRoot: '/',
      enforceNodeAllocatable: [],
      oomScoreAdj: 0,
      evictionHard: { 'memory.available': '10Mi', 'nodefs.available': '1%' },
    };
  }
}

class ContainerdAgent implements NodeAgentProcess {
  readonly name = 'agent';
  readonly folder: string;
  readonly #machine: Machine;
  readonly #flags: Readonly<Record<string, string>>;
  pid: number | undefined;

  constructor(machine: Machine, folder: string, flags: Readonly<Record<string, string>>) {
    this.#machine = machine;
    this.folder = folder;
    this.#flags = flags;
  }

  get staticPods(): string {
    return join(this.folder, 'static');
  }

  async start(): Promise<void> {
    this.#machine.signal.throwIfAborted();
    mkdirSync(this.staticPods, { recursive: true });
    const log = openSync(join(this.folder, 'agent.log'), 'a');
    const { endpoint, nodeIP } = this.#machine;
    const flags = {
      kubeconfig: this.#machine.kubeConfig('node-a'),
      'hostname-override': nodeName,
      'root-dir': join(this.folder, 'root'),
      'container-runtime-endpoint': endpoint,
      ...this.#flags,
      'node-ip': nodeIP,
      address: nodeIP,
      'pod-logs-dir': join(this.folder, 'podlogs'),
      'healthz-port': String(healthzPortOf(this.#machine)),
      'pod-manifest-path': this.staticPods,
    };
    const { environment, nodeFlags } = readUnit();
    const child = spawn(
      process.execPath,
      [
        ...nodeFlags,
        join(repository, 'dist', 'containerd-agent', 'main.mjs'),
        ...Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value]),
        '--register-node',
      ],
      // Ctrl-C reaches only the command, which then stops the agent.
      { env: { ...process.env, ...environment }, stdio: ['ignore', log, log], detached: true },
    );
    closeSync(log);
    this.pid = child.pid;
  }

  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    if (this.pid !== undefined) await endProcess(this.pid, signal);
    this.pid = undefined;
  }
}

/** How systemd starts the agent. */
function readUnit(): { readonly environment: Readonly<Record<string, string>>; readonly nodeFlags: readonly string[] } {
  const unit = readFileSync(join(repository, 'examples', 'containerd-agent', 'containerd-agent.service'), 'utf8');
  const [, flags = ''] = /^ExecStart=\S+\/node((?: +--\S+)*)/m.exec(unit.replaceAll('\\\n', '')) ?? [];
  return {
    environment: Object.fromEntries(
      [...unit.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]),
    ),
    nodeFlags: flags.split(' ').filter((flag) => flag !== ''),
  };
}
