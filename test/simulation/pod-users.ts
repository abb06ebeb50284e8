import type { Random } from '../chaos/random.ts';
import { finalizer, foreignConditionType, makePod } from '../chaos/users.ts';
import type { Json } from '../support/kube-http.ts';
import type { SimulatedCluster } from './simulated-cluster.ts';
import type { World } from './world.ts';

const namespace = 'default';
const pollMs = 100;

export interface PodUsersOptions {
  readonly names: readonly string[];
  /** The pod that is created next under this name. Default: as in `npm run chaos`. */
  readonly makePod?: ((name: string, random: Random) => Json) | undefined;
  /** What is done to a pod beside its creation and deletion. Default: conditions of others, and labels. */
  readonly change?: ((name: string, random: Random) => void) | undefined;
}

/**
 * Users and controllers, as those of `npm run chaos`: one sequence of actions for each name. They create pods, write
 * conditions, delete them with any grace period, delay their removal with finalizers, and create them again.
 */
export class PodUsers {
  readonly #world: World;
  readonly #cluster: SimulatedCluster;
  readonly #options: PodUsersOptions;
  #isStopped = false;

  constructor(world: World, cluster: SimulatedCluster, options: PodUsersOptions) {
    this.#world = world;
    this.#cluster = cluster;
    this.#options = options;
  }

  start(): void {
    const random = this.#world.random.fork('users');
    for (const name of this.#options.names) void this.#live(name, random.fork(name));
  }

  /** No action begins any more. */
  stop(): void {
    this.#isStopped = true;
  }

  /** Removes the finalizers of some pods, so that they can go. */
  release(random: Random): void {
    for (const name of this.#options.names) {
      if (random.chance(0.5)) this.#do(name, 'release', () => this.#removeFinalizers(name));
    }
  }

  async #live(name: string, random: Random): Promise<void> {
    const { makePod: make = makePod } = this.#options;
    await this.#pause(random, 0, 1_500);
    for (let round = 1; !this.#isStopped; round++) {
      const ofRound = random.fork(String(round));
      const pod = make(name, ofRound);
      if (this.#do(name, 'create', () => void this.#cluster.server.pods.create(pod)))
        await this.#use(name, ofRound, pod.metadata.finalizers !== undefined);
      await this.#pause(ofRound, 50, 800);
    }
  }

  async #use(name: string, random: Random, hasFinalizers: boolean): Promise<void> {
    let foreignVersion = 0;
    for (let actions = random.integer(1, 12); actions > 0; actions--) {
      await this.#pause(random, 150, 900);
      if (this.#isStopped) return;
      switch (random.weighted({ condition: 5, ready: 1, label: 2, other: 3 })) {
        case 'condition':
          foreignVersion++;
          this.#writeCondition(name, {
            type: foreignConditionType,
            status: foreignVersion % 3 === 0 ? 'False' : 'True',
            message: `f${foreignVersion}`,
          });
          break;
        case 'ready':
          this.#writeCondition(name, { type: 'Ready', status: random.pick(['True', 'False']), reason: 'Foreign' });
          break;
        case 'label':
          this.#do(name, 'label', () => this.#patch(name, { metadata: { labels: { n: String(actions) } } }));
          break;
        default:
          this.#options.change?.(name, random);
      }
    }
    if (this.#isStopped) return;
    const gracePeriodSeconds = random.pick([undefined, undefined, undefined, 1, 5, 0]);
    this.#delete(name, gracePeriodSeconds);
    // Sometimes a user deletes it a second time, with a shorter grace period.
    if (random.chance(0.2)) {
      await this.#pause(random, 10, 500);
      this.#delete(name, 2);
    }
    const releaseAtMs = this.#world.nowMs + random.integer(500, 4_000) * this.#world.size.pace;
    while (!this.#isStopped && this.#cluster.pods.has(name)) {
      await this.#world.sleep(pollMs * this.#world.size.pace);
      if (hasFinalizers && this.#world.nowMs >= releaseAtMs)
        this.#do(name, 'release', () => this.#removeFinalizers(name));
    }
  }

  #writeCondition(name: string, condition: object): void {
    const status = { conditions: [condition] };
    this.#do(name, 'condition', () => void this.#cluster.server.pods.patchStatus(namespace, name, { status }));
  }

  #delete(name: string, gracePeriodSeconds: number | undefined): void {
    const deletion = gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds };
    const deed = gracePeriodSeconds === 0 ? 'force delete' : 'delete';
    this.#do(name, deed, () => this.#cluster.server.pods.delete(namespace, name, deletion));
  }

  #removeFinalizers(name: string): void {
    const finalizers = this.#cluster.pods.get(name)?.metadata.finalizers as string[] | undefined;
    if (finalizers?.includes(finalizer) === true) this.#patch(name, { metadata: { finalizers: null } });
  }

  #patch(name: string, patch: object): void {
    this.#cluster.server.pods.patch(namespace, name, patch);
  }

  #do(name: string, deed: string, act: () => void): boolean {
    if (this.#isStopped && deed !== 'release') return false;
    if (!this.#world.happens(`${name}: ${deed}`)) return false;
    const isDone = this.#cluster.attempt(act);
    if (isDone) this.#world.count(deed);
    return isDone;
  }

  #pause(random: Random, minMs: number, maxMs: number): Promise<void> {
    return this.#world.sleep(random.integer(minMs, maxMs) * this.#world.size.pace);
  }
}
