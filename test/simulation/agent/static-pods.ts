import type { PodSink, PodSource, PodSourceContext } from '../../../src/agent/index.ts';
import type { Random } from '../../chaos/random.ts';
import type { Json } from '../../support/kube-http.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';

/** The manifests of a node, which its owner changes; agents read them a little later. */
export class StaticPods {
  readonly #world: World;
  readonly #random: Random;
  readonly #makePod: (name: string, random: Random) => Json;
  readonly #manifests = new Map<string, Json>();
  readonly #readers = new Set<() => void>();
  #isStopped = false;

  constructor(world: World, makePod: (name: string, random: Random) => Json) {
    this.#world = world;
    this.#random = world.random.fork('static pods');
    this.#makePod = makePod;
  }

  /** The names of the pods that should run. */
  get names(): readonly string[] {
    return [...this.#manifests.keys()];
  }

  start(names: readonly string[]): void {
    for (const name of names) void this.#live(name, this.#random.fork(name));
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** All manifests are removed. */
  clear(): void {
    this.#manifests.clear();
    for (const read of this.#readers) read();
  }

  source(process: SimulatedProcess): PodSource {
    const random = this.#random.fork(process.name);
    let read: (() => void) | undefined;
    return {
      name: 'file',
      start: (sink: PodSink, context: PodSourceContext) => {
        const deliver = (): void => {
          const pods = [...this.#manifests].flatMap(([name, manifest]) =>
            context.staticPods(manifest, `/${name}.json`),
          );
          sink(pods);
        };
        read = () => void process.receive(random.integer(1, 2_000), () => read !== undefined && deliver());
        this.#readers.add(read);
        read();
      },
      stop: async () => {
        if (read !== undefined) this.#readers.delete(read);
        read = undefined;
      },
    };
  }

  async #live(name: string, random: Random): Promise<void> {
    for (let round = 1; ; round++) {
      const ofRound = random.fork(String(round));
      await this.#world.sleep(ofRound.integer(0, 8_000) * this.#world.size.pace);
      const isRemoval = this.#manifests.has(name) && ofRound.chance(0.4);
      if (this.#isStopped) return;
      if (!this.#world.happens(`${name}: ${isRemoval ? 'remove' : 'write'} the manifest`)) continue;
      this.#world.count(isRemoval ? 'manifest removed' : 'manifest written');
      this.#world.note('manifests', isRemoval ? 'remove' : 'write', name);
      if (isRemoval) this.#manifests.delete(name);
      else this.#manifests.set(name, this.#makePod(name, ofRound));
      for (const read of this.#readers) read();
    }
  }
}
