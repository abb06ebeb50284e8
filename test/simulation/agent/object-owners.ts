import type { Random } from '../../chaos/random.ts';
import type { SimulatedCluster } from '../simulated-cluster.ts';
import type { World } from '../world.ts';
import { objectNames } from './simulated-volumes.ts';

const namespace = 'default';

/** Those who create the Secrets and ConfigMaps that pods use, often late, and change and remove them. */
export class ObjectOwners {
  readonly #world: World;
  readonly #cluster: SimulatedCluster;
  readonly #random: Random;
  #isStopped = false;

  constructor(world: World, cluster: SimulatedCluster) {
    this.#world = world;
    this.#cluster = cluster;
    this.#random = world.random.fork('objects');
  }

  start(): void {
    for (const name of objectNames) void this.#live(name, this.#random.fork(name));
  }

  /** Nothing changes any more, and all objects are there. */
  stop(): void {
    this.#isStopped = true;
    for (const name of objectNames) this.#write(name, 'last');
  }

  async #live(name: string, random: Random): Promise<void> {
    for (let version = 1; ; version++) {
      await this.#world.sleep(random.integer(0, 6_000) * this.#world.size.pace);
      const isRemoval = random.chance(0.2);
      if (this.#isStopped) return;
      if (!this.#world.happens(`${name}: ${isRemoval ? 'remove' : 'write'}`)) continue;
      this.#world.count(isRemoval ? 'objects removed' : 'objects written');
      if (!isRemoval) this.#write(name, `v${version}`);
      else for (const access of this.#accesses()) this.#cluster.attempt(() => access.delete(namespace, name));
    }
  }

  #write(name: string, text: string): void {
    const [secrets, configMaps] = this.#accesses();
    const [data, encoded] = [{ a: text, [`only-${text}`]: text }, { a: Buffer.from(text).toString('base64') }];
    for (const [access, content] of [
      [secrets!, encoded],
      [configMaps!, data],
    ] as const) {
      this.#cluster.attempt(() => access.delete(namespace, name));
      this.#cluster.attempt(() => void access.create({ metadata: { name, namespace }, data: content }));
    }
  }

  #accesses(): SimulatedCluster['server']['secrets'][] {
    const { secrets, configMaps } = this.#cluster.server;
    return [secrets, configMaps];
  }
}
