import { mkdir, writeFile } from 'node:fs/promises';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { importImages } from './images.ts';
import { runCommand } from '../run-command.ts';
import { endProcess, isRunning, signal, startProcess } from './processes.ts';

const startDeadlineMs = 30_000;
const pollMs = 100;

/** A containerd of one's own, with its files in one folder, and a network for pods. */
export class Containerd {
  readonly endpoint: string;
  readonly #folder: string;
  readonly #index: number;
  #pid: number | undefined;

  /** @param index keeps several on one machine apart: their bridges and the addresses of pods */
  constructor(folder: string, index: number) {
    this.#folder = folder;
    this.#index = index;
    this.endpoint = `unix://${this.socket}`;
  }

  get socket(): string {
    return join(this.#folder, 'containerd.sock');
  }

  get bridge(): string {
    return `cni${this.#index}`;
  }

  /** The first two parts of the addresses of pods. */
  get podNetwork(): string {
    return `10.${88 + this.#index}`;
  }

  /** Starts it with the images of tests. */
  async startWithImages(abort?: AbortSignal): Promise<void> {
    await mkdir(join(this.#folder, 'cni'), { recursive: true });
    await writeFile(join(this.#folder, 'config.toml'), this.#config());
    await writeFile(join(this.#folder, 'cni', '10-bridge.conflist'), JSON.stringify(this.#network()));
    await this.start(abort);
    await importImages(this.socket, join(this.#folder, 'images'), abort);
  }

  /** Starts it with what it has stored. Resolves when it responds. */
  async start(abort?: AbortSignal): Promise<void> {
    abort?.throwIfAborted();
    this.#pid = startProcess('containerd', ['-c', 'config.toml'], this.#folder);
    for (let waitedMs = 0; !(await this.#responds()); waitedMs += pollMs) {
      abort?.throwIfAborted();
      if (waitedMs > startDeadlineMs || !isRunning(this.#pid))
        throw new Error(`containerd does not respond:\n${this.log().split('\n').slice(-5).join('\n')}`);
      await sleep(pollMs);
    }
  }

  signal(name: 'SIGSTOP' | 'SIGCONT'): void {
    if (this.#pid !== undefined) signal(this.#pid, name);
  }

  /** Containers keep running. */
  async stop(name: NodeJS.Signals): Promise<void> {
    if (this.#pid !== undefined) await endProcess(this.#pid, name);
    this.#pid = undefined;
  }

  /** What it has logged since the first start. */
  log(): string {
    const file = join(this.#folder, 'containerd.log');
    return existsSync(file) ? readFileSync(file, 'utf8') : '';
  }

  /** Runs `ctr images`. */
  async images(...args: readonly string[]): Promise<void> {
    await runCommand('ctr', ['-a', this.socket, '-n', 'k8s.io', 'images', ...args]);
  }

  async #responds(): Promise<boolean> {
    return runCommand('ctr', ['-a', this.socket, 'version']).then(
      () => true,
      () => false,
    );
  }

  #config(): string {
    // Without CAP_SYS_RESOURCE, as in many containers, oom_score_adj cannot be lowered.
    return `version = 2
root = "${join(this.#folder, 'root')}"
state = "${join(this.#folder, 'state')}"

[grpc]
address = "${this.socket}"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "registry.k8s.io/pause:3.10.2"
disable_apparmor = true
restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "/usr/lib/cni"
conf_dir = "${join(this.#folder, 'cni')}"
`;
  }

  #network(): object {
    const bridge = {
      type: 'bridge',
      bridge: this.bridge,
      isGateway: true,
      ipam: {
        type: 'host-local',
        dataDir: join(this.#folder, 'ipam'),
        ranges: [[{ subnet: `${this.podNetwork}.0.0/16` }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    };
    const portMapping = { type: 'portmap', capabilities: { portMappings: true } };
    return { cniVersion: '0.4.0', name: `net${this.#index}`, plugins: [bridge, portMapping] };
  }
}
