import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Container, ValidPod } from 'kubelet-status-manager';
import { createRuntimeHelper, type RuntimeContainerStatus, type RuntimeEvent } from 'kubelet-status-manager/agent';
import { recordingLogger, silentLogger } from 'kubelet-status-manager/testing';
import { createProcessRuntime, type ProcessRuntime } from 'kubelet-status-manager/process-runtime';
import { readCRILog } from '../../examples/node-agent/logs-command.ts';
import { NodeDirectory } from '../../src/process-runtime/node-directory.ts';
import { shimFile } from '../../src/process-runtime/process-container.ts';

/** The shim runs outside of vitest, so it must be compiled. */
export const whyNoShim = existsSync(shimFile) ? '' : ' (skipped: run `npm run build` first)';

const addresses = ['192.0.2.1', '2001:db8::1'];

export function sh(script: string, more: Partial<Container> = {}): Container {
  return { name: 'c', command: ['sh', '-c', script], ...more };
}

/** A directory with one pod in it, and the runtime of an agent that can be replaced by the next one. */
export class TestRuntime implements AsyncDisposable {
  readonly path: string;
  readonly directory: NodeDirectory;
  readonly pod: ValidPod;
  readonly logger = recordingLogger();
  runtime!: ProcessRuntime;
  #helper!: ReturnType<typeof createRuntimeHelper>;
  sandboxID = '';
  readonly #pids = new Set<number>();
  #events: RuntimeEvent[] = [];
  readonly #wakes = new Set<() => void>();

  private constructor(spec: ValidPod['spec'], parent: string) {
    this.path = mkdtempSync(join(parent, 'rt-'));
    this.directory = new NodeDirectory(this.path);
    const metadata = { namespace: 'default', name: 'web', uid: 'uid-1' };
    this.pod = { metadata, spec: { enableServiceLinks: true, ...spec } };
  }

  static async start(spec: ValidPod['spec'] = {}, parent = tmpdir()): Promise<TestRuntime> {
    const test = new TestRuntime(spec, parent);
    await test.open();
    await test.#helper.volumeManager.waitForAttachAndMount(test.pod, {});
    test.sandboxID = await test.runtime.runPodSandbox!({ pod: test.pod, attempt: 0 });
    return test;
  }

  /** An agent is killed and the next one starts, as far as the runtime can tell. */
  async restart(): Promise<void> {
    await this.runtime.close();
    await this.#helper.close();
    await this.open();
  }

  async open(): Promise<void> {
    this.#helper = createRuntimeHelper({ rootDirectory: this.path, mounts: false, logger: silentLogger });
    this.runtime = await createProcessRuntime({
      ...{ rootDirectory: this.path, helper: this.#helper, hostIPs: addresses, logger: this.logger },
    });
    this.#events = [];
    this.runtime.subscribe!((event) => {
      this.#events.push(event);
      for (const wake of this.#wakes) wake();
    });
  }

  async create(container: Container, attempt = 0): Promise<string> {
    const { pod, sandboxID } = this;
    return this.runtime.createContainer({ pod, container, attempt, hash: 'hash', sandboxID });
  }

  async run(container: Container, attempt = 0): Promise<string> {
    const id = await this.create(container, attempt);
    await this.runtime.startContainer(id);
    return id;
  }

  async status(id: string): Promise<RuntimeContainerStatus | undefined> {
    return (await this.runtime.getPod('uid-1'))?.containers.find((container) => container.id === id);
  }

  /** Resolves with the status of the container when it has exited. */
  async exited(id: string): Promise<RuntimeContainerStatus> {
    for (;;) {
      const status = await this.status(id);
      if (status?.state === 'exited') return status;
      await this.nextEvent();
    }
  }

  nextEvent(): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        this.#wakes.delete(wake);
        resolve();
      };
      this.#wakes.add(wake);
    });
  }

  get events(): readonly string[] {
    return this.#events.map(
      ({ type, containerID }) => `${type} ${containerID === undefined ? 'sandbox' : 'container'}`,
    );
  }

  /** What the runtime itself has of pods: volumes are the helper's. */
  filesLeft(): string[] {
    const ofPods = [this.directory.sandboxes('uid-1'), this.directory.containers('uid-1')].filter((path) =>
      existsSync(path),
    );
    return [...ofPods, ...readdirSync(this.directory.logs)];
  }

  files(id: string): string {
    return join(this.directory.containers('uid-1'), id.replace('process://', ''));
  }

  /** The process of the container, and its process group. */
  pid(id: string): number {
    const { pid } = JSON.parse(readFileSync(join(this.files(id), 'started.json'), 'utf8')) as { pid: number };
    this.#pids.add(pid);
    return pid;
  }

  logFile(attempt = 0): string {
    return join(this.directory.containerLogDirectory(this.pod, 'c'), `${attempt}.log`);
  }

  log(attempt = 0): string {
    return readCRILog(readFileSync(this.logFile(attempt), 'utf8'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { id } of (await this.runtime.getPod('uid-1'))?.containers ?? [])
      await this.runtime.stopContainer(id, 0);
    await this.runtime.close();
    await this.#helper.close();
    rmSync(this.path, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** The PID of the shim of a container: the process whose arguments have the container's directory. */
export function shimPid(containerDirectory: string): number | undefined {
  const lines = execFileSync('ps', ['-A', '-o', 'pid=,args='], { encoding: 'utf8' }).split('\n');
  const line = lines.find((line) => line.includes('shim.js') && line.includes(containerDirectory));
  return line === undefined ? undefined : Number(line.trim().split(/\s+/)[0]);
}
