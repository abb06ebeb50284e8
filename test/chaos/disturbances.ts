import type { FaultyProxy } from './faulty-proxy.ts';
import type { Random } from './random.ts';
import type { ChaosServer, ServerKind } from './servers.ts';

/** The time in which agents are disturbed. When it is over, all pauses end. */
export class ChaosTime {
  readonly #wakes: (() => void)[] = [];
  #isOver = false;

  get isOver(): boolean {
    return this.#isOver;
  }

  end(): void {
    this.#isOver = true;
    for (const wake of this.#wakes) wake();
  }

  pause(ms: number): Promise<void> {
    if (this.#isOver) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wakes.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

/** Stops, kills and restarts the API server. @param pausesMs the shortest and the longest time between two disturbances */
export async function disturbServer(
  time: ChaosTime,
  server: ChaosServer,
  random: Random,
  pausesMs: readonly [number, number],
  onFault: (fault: string) => void,
): Promise<void> {
  for (;;) {
    await time.pause(random.integer(...pausesMs));
    if (time.isOver) return;
    if (server.compact !== undefined && random.chance(0.5)) {
      server.compact();
      onFault('server compacts');
      continue;
    }
    await server.down(random.pick(['kill', 'kill', 'stop']));
    onFault('server down');
    await new Promise((resolve) => setTimeout(resolve, random.integer(100, 1_200)));
    await server.up();
  }
}

/** Interrupts the network between the agents and the API server. */
export async function disturbNetwork(time: ChaosTime, proxy: FaultyProxy, random: Random): Promise<void> {
  for (;;) {
    await time.pause(random.integer(2_000, 7_000));
    if (time.isOver) return;
    proxy.goDown(random.integer(100, 1_500));
  }
}

/** The pauses of `disturbServer`: a real API server takes some seconds to restart. */
export function serverPausesMs(kind: ServerKind, forMs: number): readonly [number, number] {
  return kind === 'memory' ? [2_500, 6_000] : [Math.round(0.1 * forMs), Math.round(0.35 * forMs)];
}
