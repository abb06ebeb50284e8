import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

export const mainFile = fileURLToPath(new URL('../../../dist/examples/node-agent/main.js', import.meta.url));

const endDeadlineMs = 15_000;

/** Whether the agent has been built. Otherwise its tests are skipped, with the reason in their names. */
export const agentIsBuilt = existsSync(mainFile);

/** One line of the output of a piped agent, with the fields that the tests read. */
export interface AgentEvent {
  readonly event: 'started' | 'status' | 'deleted' | 'apiServer' | 'recovered' | 'endState';
  readonly state?: 'down' | 'up';
  readonly kubeconfig?: string;
  readonly node?: string;
  readonly directory?: string;
  readonly url?: string;
  readonly pod?: string;
  readonly phase?: string;
  readonly reason?: string;
  readonly expected?: string;
  readonly isExpected?: boolean;
  readonly statuses?: number;
  readonly containers?: readonly {
    readonly name: string;
    readonly containerID?: string;
    readonly state: { readonly running?: object; readonly waiting?: object; readonly terminated?: object };
  }[];
}

/** An agent in its own process, with its own home directory. */
export class RunningAgent implements AsyncDisposable {
  readonly events: AgentEvent[] = [];
  stdout = '';
  stderr = '';
  readonly home: string;
  readonly #ownsHome: boolean;
  readonly #pids = new Set<number>();
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #watchers = new Set<() => void>();

  /** @param home the home directory of several agents, which the caller removes */
  constructor(args: readonly string[], env: { readonly [name: string]: string } = {}, home?: string) {
    this.home = home ?? mkdtempSync(join(tmpdir(), 'na-'));
    this.#ownsHome = home === undefined;
    this.#child = spawn(process.execPath, [mainFile, ...args], {
      env: { PATH: process.env['PATH'], ...env, HOME: this.home },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      this.stdout += `${line}\n`;
      this.events.push(JSON.parse(line) as AgentEvent);
      this.#findPids();
      for (const watcher of this.#watchers) watcher();
    });
    this.#child.stderr!.on('data', (data) => {
      this.stderr += String(data);
    });
    this.#closed = once(this.#child, 'close').then(() => {
      for (const watcher of this.#watchers) watcher();
    });
  }

  /** Resolves with the first event, past or to come, that `matches`. */
  waitFor(matches: (event: AgentEvent) => boolean): Promise<AgentEvent> {
    return new Promise((resolve, reject) => {
      const watcher = (): void => {
        const found = this.events.find(matches);
        if (!found && this.#child.exitCode === null) return;
        this.#watchers.delete(watcher);
        if (found) resolve(found);
        else reject(new Error(`The agent ended without this event: ${this.stderr}`));
      };
      this.#watchers.add(watcher);
      watcher();
    });
  }

  waitForRunning(pod: string): Promise<AgentEvent> {
    return this.waitFor((event) => event.pod === pod && event.phase === 'Running');
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async exitCode(): Promise<number | null> {
    await this.#closed;
    return this.#child.exitCode;
  }

  /** The process IDs of all containers that the agent has started, as far as their files were seen. */
  pids(): number[] {
    this.#findPids();
    return [...this.#pids];
  }

  #findPids(): void {
    try {
      for (const name of this.leftovers().filter((name) => name.endsWith('started.json'))) {
        const file = join(this.home, '.node-agent', name);
        this.#pids.add((JSON.parse(readFileSync(file, 'utf8')) as { pid: number }).pid);
      }
    } catch {
      // The agent has removed a file in between.
    }
  }

  /** What the agent has left in its home directory. */
  leftovers(): string[] {
    const node = join(this.home, '.node-agent');
    return existsSync(node) ? readdirSync(node, { recursive: true, encoding: 'utf8' }) : [];
  }

  /** Stops it with SIGTERM, so that its containers are stopped too, and with SIGKILL if that takes too long. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill('SIGTERM');
    const force = setTimeout(() => this.#child.kill('SIGKILL'), endDeadlineMs);
    await this.#closed;
    clearTimeout(force);
    for (const group of livingGroups(this.pids())) process.kill(-group, 'SIGKILL');
    if (this.#ownsHome) rmSync(this.home, { recursive: true, force: true, maxRetries: 3 });
  }
}

/**
 * The process groups led by these processes in which a process is still alive. A process that has
 * ended but was not yet reaped (a zombie) does not count.
 */
export function livingGroups(pids: readonly number[]): number[] {
  const processes = execFileSync('ps', ['-A', '-o', 'pgid=,stat='], { encoding: 'utf8' }).trim().split('\n');
  const living = new Set(
    processes
      .map((line) => line.trim().split(/\s+/))
      .filter(([, state]) => !state?.startsWith('Z'))
      .map(([group]) => Number(group)),
  );
  return pids.filter((pid) => living.has(pid));
}
