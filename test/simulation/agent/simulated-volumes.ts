import type { CallOptions, VolumeManager } from '../../../src/agent/index.ts';
import type { ValidPod } from '../../../src/kube/objects/types.ts';
import type { Random } from '../../chaos/random.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';
import type { Machine } from './node-runtime.ts';

/** The folders of pods on a machine, which outlive the agents. */
export class SimulatedVolumes {
  /** The pods that have a folder, by UID. */
  readonly mounted = new Set<string>();
  readonly #machine: Machine;
  readonly #world: World;
  readonly #random: Random;
  /** What share of the usual faults happens. */
  #faults = 0;

  constructor(machine: Machine) {
    this.#machine = machine;
    this.#world = machine.world;
    this.#random = machine.world.random.fork('volumes');
  }

  /** Calls fail, take long and hang from now on. */
  disturb(share: number): void {
    this.#faults = share;
  }

  heal(): void {
    this.#faults = 0;
  }

  for(process: SimulatedProcess): VolumeManager {
    return {
      waitForAttachAndMount: ({ metadata: { uid } }: ValidPod, options) =>
        this.#call(process, ['mount', uid], options, () => void this.mounted.add(uid)),
      waitForUnmount: ({ metadata: { uid } }: ValidPod, options) =>
        this.#call(process, ['unmount', uid], options, () => this.#remove(uid)),
      cleanupOrphanedPodDirs: (podUIDs, options) =>
        this.#call(process, ['remove folders'], options, () => {
          for (const uid of this.mounted) if (!podUIDs.has(uid)) this.#remove(uid);
        }),
    };
  }

  #remove(uid: string): void {
    const running = this.#machine.runs.running(uid).map(({ identity }) => identity.id);
    if (running.length > 0)
      this.#world.violate('volumes are unmounted after the containers have ended', `${uid}: ${running.join(', ')}`);
    this.mounted.delete(uid);
  }

  #strikes(kind: string, probability: number): boolean {
    if (this.#faults === 0 || !this.#random.chance(probability * this.#faults)) return false;
    if (!this.#world.happens(`volumes: ${kind}`)) return false;
    this.#world.count(`volumes: ${kind}`);
    return true;
  }

  #call(
    process: SimulatedProcess,
    what: readonly string[],
    { signal }: CallOptions,
    effect: () => void,
  ): Promise<void> {
    this.#world.note(process.name, '→ volumes', ...what);
    const latencyMs = 1 + this.#random.next() * 50 + (this.#strikes('slow', 0.03) ? this.#random.next() * 20_000 : 0);
    const isFailed = this.#strikes('failed', 0.03);
    const isHanging = this.#strikes('hangs', 0.005);
    return new Promise((resolve, reject) => {
      const onAbort = (): void => reject(signal?.reason as Error);
      if (signal?.aborted === true) return onAbort();
      signal?.addEventListener('abort', onAbort);
      if (isHanging) return;
      process.receive(latencyMs, () => {
        signal?.removeEventListener('abort', onAbort);
        if (signal?.aborted === true) return;
        if (isFailed) return reject(new Error(`${what.join(' ')} failed (simulated)`));
        effect();
        resolve();
      });
    });
  }
}
