import type { RuntimeContainerStatus } from '../../agent/runtime/runtime-pod-status.ts';
import type { Clock, Timer } from '../../shared/clock.ts';

/** How one run of a container goes. */
export interface FakeRun {
  /** When it exits on its own, counted from its start. Default: never. */
  readonly exitAfterMs?: number;
  /** Of the exit on its own. Default 0. */
  readonly exitCode?: number;
  /** Of the exit on its own. Default `Completed` for exit code 0, else `Error`. */
  readonly reason?: string;
  /** Of the exit on its own. Default: none. */
  readonly message?: string;
  /** How long it takes to end when it is asked to; Infinity: it has to be killed. Default 0. */
  readonly stopMs?: number;
  /** With which exit code it ends when it is asked to. Default 143; when it is killed, 137. */
  readonly stopExitCode?: number;
}

/** How a container ends. */
export interface FakeExit {
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
}

const killedExitCode = 137;
const terminatedExitCode = 143;

/** One run of a container in the fake runtime: a status that changes, and the timer of its script. */
export class FakeContainer {
  status: RuntimeContainerStatus;
  readonly podUID: string;
  readonly #clock: Clock;
  readonly #run: FakeRun;
  readonly #onExit: () => void;
  readonly #waiting = new Set<() => void>();
  #timer: Timer | undefined;

  constructor(podUID: string, status: RuntimeContainerStatus, run: FakeRun, clock: Clock, onExit: () => void) {
    this.podUID = podUID;
    this.status = status;
    this.#run = run;
    this.#clock = clock;
    this.#onExit = onExit;
  }

  start(): void {
    if (this.status.state === 'running') return;
    this.status = { ...this.status, state: 'running', startedAtMs: this.#clock.now() };
    const { exitAfterMs, exitCode, reason, message } = this.#run;
    if (exitAfterMs === undefined) return;
    const exit = { exitCode, reason, message } as FakeExit;
    this.#timer = this.#clock.afterFunc(exitAfterMs, () => this.exit(exit));
  }

  exit({ exitCode = 0, reason = exitCode === 0 ? 'Completed' : 'Error', message }: FakeExit = {}): void {
    if (this.status.state === 'exited') return;
    this.#timer?.stop();
    const { startedAtMs = this.#clock.now() } = this.status;
    this.status = {
      ...this.status,
      state: 'exited',
      startedAtMs,
      finishedAtMs: this.#clock.now(),
      exitCode,
      reason,
      ...(message !== undefined && { message }),
    };
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    this.#onExit();
  }

  kill(): void {
    if (this.status.state === 'running') this.exit({ exitCode: killedExitCode });
  }

  /** Resolves when the container has exited, or is not running anyway. */
  stop(gracePeriodSeconds: number): Promise<void> {
    if (this.status.state !== 'running') return Promise.resolve();
    const { stopMs = 0, stopExitCode = terminatedExitCode } = this.#run;
    const graceMs = gracePeriodSeconds * 1000;
    const isKilled = stopMs > graceMs || graceMs === 0;
    const end = (): void => this.exit({ exitCode: isKilled ? killedExitCode : stopExitCode });
    const delayMs = Math.min(stopMs, graceMs);
    if (delayMs === 0) {
      end();
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const timer = this.#clock.afterFunc(delayMs, end);
      this.#waiting.add(() => {
        timer.stop();
        resolve();
      });
    });
  }
}
