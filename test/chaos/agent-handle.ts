import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { AgentCommand, AgentReport, StoppedAgent } from './protocol.ts';

const stopDeadlineMs = 30_000;
const endDeadlineMs = 10_000;
const stderrKept = 2_000;

/** How an agent process ended. */
export interface AgentEnd extends StoppedAgent {
  /** What was wrong with the way it ended; undefined if nothing was. */
  readonly problem: string | undefined;
}

/** One agent process, as the run controls it. */
export class AgentHandle<Config> {
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  readonly #waiters = new Map<AgentReport['kind'], ((report: AgentReport) => void)[]>();
  #stderr = '';
  #isEnding = false;

  /**
   * @param file the compiled program of the agent
   * @param onReport called for every report, in order
   * @param onCrash called when the process ends unexpectedly
   */
  constructor(file: URL, config: Config, onReport: (report: AgentReport) => void, onCrash: (why: string) => void) {
    this.#child = fork(file, [], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'], execArgv: [] });
    this.#closed = once(this.#child, 'close');
    this.#child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-stderrKept);
    });
    createInterface({ input: this.#child.stdout! }).on('line', (line) => {
      const report = JSON.parse(line) as AgentReport;
      onReport(report);
      const waiters = this.#waiters.get(report.kind);
      this.#waiters.delete(report.kind);
      for (const resolve of waiters ?? []) resolve(report);
    });
    this.#child.on('error', () => {});
    void this.#closed.then(() => {
      if (!this.#isEnding) onCrash(`exit code ${this.#child.exitCode}, ${this.#child.signalCode}: ${this.#stderr}`);
    });
    this.tell({ do: 'run', config });
  }

  tell(command: AgentCommand<Config>): void {
    if (this.#child.connected) this.#child.send(command, () => {});
  }

  /** Resolves with the next report of this kind, or with undefined if there is none within the deadline. */
  next<Kind extends AgentReport['kind']>(
    kind: Kind,
    deadlineMs: number,
  ): Promise<(AgentReport & { readonly kind: Kind }) | undefined> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(undefined), deadlineMs);
      const waiters = this.#waiters.get(kind) ?? [];
      this.#waiters.set(kind, [
        ...waiters,
        (report) => {
          clearTimeout(timer);
          resolve(report as AgentReport & { readonly kind: Kind });
        },
      ]);
    });
  }

  /** Stops the process with SIGSTOP, or lets it continue with SIGCONT. */
  signal(signal: 'SIGSTOP' | 'SIGCONT'): void {
    this.#child.kill(signal);
  }

  /** Ends it like a power cut or the OOM killer. Reports that it has sent before still arrive. */
  async kill(): Promise<void> {
    this.#isEnding = true;
    this.#child.kill('SIGKILL');
    await this.#closed;
  }

  /** Stops it gracefully, and checks that it exits as it should. */
  async stop(drain: boolean, deadlineMs = stopDeadlineMs): Promise<AgentEnd> {
    this.#isEnding = true;
    const stopping = this.next('stopped', deadlineMs);
    this.tell({ do: 'stop', drain });
    const stopped = await Promise.race([stopping, this.#closed.then(() => undefined)]);
    let problem = stopped === undefined ? 'did not stop in time' : undefined;
    if (stopped !== undefined && !(await this.#exitsOnItsOwn()))
      problem = 'did not exit on its own after it had stopped';
    if (this.#child.exitCode === null) await this.kill();
    if (problem === undefined && this.#child.exitCode !== 0) problem = `ended with ${this.#child.exitCode}`;
    if (problem !== undefined) problem = `${problem} ${this.#stderr}`.trim();
    return { left: [], outcomes: {}, broken: [], thrown: 0, ...stopped, problem };
  }

  async #exitsOnItsOwn(): Promise<boolean> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => resolve(false), endDeadlineMs);
    });
    const inTime = await Promise.race([this.#closed.then(() => true), late]);
    clearTimeout(timer);
    return inTime;
  }
}
