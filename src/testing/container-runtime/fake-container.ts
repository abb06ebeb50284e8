import type { RuntimeContainerStatus } from '../../node/index.ts';
import type { Clock, Timer } from '../../shared/clock.ts';

/** The script of one run of a container. */
export interface FakeRun {
  /** Time from its start until it exits on its own. Default: never. */
  readonly exitAfterMs?: number;
  /** Exit code when it exits on its own. Default 0. */
  readonly exitCode?: number;
  /** Reason when it exits on its own. Default `Completed` for exit code 0, otherwise `Error`. */
  readonly reason?: string;
  /** Termination message when it exits on its own. Default: none. */
  readonly message?: string;
  /** Time until it exits after it was asked to stop; Infinity: it must be killed. Default 0. */
  readonly stopMs?: number;
  /** Exit code after it was asked to stop. Default 143; 137 if it is killed. */
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

  /** Resolves when the container has exited, or if it is not running. */
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
