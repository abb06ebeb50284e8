import type { Clock, Timer } from 'kubelet-status-manager';

/** The server that an outage stops and restarts. */
export interface StoppableServer {
  kill(): Promise<void>;
  startAgain(): Promise<void>;
}

/** Stops the API server for a while like a crash: connections and watches are cut, and the port is closed. */
export class Outage {
  readonly #server: StoppableServer;
  readonly #clock: Clock;
  readonly #durationMs: number;
  readonly #onChange: (isDown: boolean) => void;
  #untilMs: number | undefined;
  #timer: Timer | undefined;
  /** Serializes stops and starts of the server. */
  #lastChange: Promise<void> = Promise.resolve();

  constructor(
    server: StoppableServer,
    { clock, durationMs, onChange }: { clock: Clock; durationMs: number; onChange: (isDown: boolean) => void },
  ) {
    this.#server = server;
    this.#clock = clock;
    this.#durationMs = durationMs;
    this.#onChange = onChange;
  }

  /** Begins an outage, or extends the current one by its duration. */
  begin(): void {
    const now = this.#clock.monotonicMs();
    if (this.#untilMs === undefined) this.#change(true);
    this.#untilMs = (this.#untilMs ?? now) + this.#durationMs;
    this.#timer?.stop();
    this.#timer = this.#clock.afterFunc(this.#untilMs - now, () => this.#end());
  }

  /** Begins the outage after this time. */
  beginAfter(delayMs: number): void {
    this.#timer ??= this.#clock.afterFunc(delayMs, () => this.begin());
  }

  /** Resolves when the server is reachable and stays so. */
  async stop(): Promise<void> {
    this.#timer?.stop();
    if (this.#untilMs !== undefined) this.#end();
    await this.#lastChange;
  }

  /** Seconds until the API server is back; undefined while it is up. */
  get remainingSeconds(): number | undefined {
    return this.#untilMs === undefined ? undefined : Math.ceil((this.#untilMs - this.#clock.monotonicMs()) / 1000);
  }

  #end(): void {
    this.#untilMs = undefined;
    this.#change(false);
  }

  #change(isDown: boolean): void {
    this.#lastChange = this.#lastChange
      .then(() => (isDown ? this.#server.kill() : this.#server.startAgain()))
      .then(() => this.#onChange(isDown));
  }
}
