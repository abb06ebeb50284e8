import { generateKeyPairSync } from 'node:crypto';
import { APIServerHandler } from '../../src/api-server/api-server-handler.ts';
import { APIStatusError } from '../../src/api-server/api-status.ts';
import type { Random } from '../chaos/random.ts';
import { DirectRequest, DirectResponse } from '../support/direct-exchange.ts';
import type { PodWrite } from './lagging-pods.ts';
import { Network, noFaults, type NetworkFaults } from './network.ts';
import { SimulatedProcess } from './simulated-process.ts';
import type { World } from './world.ts';

/** The signatures of tokens are random, and nothing depends on them. */
const signingKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' });

/** Of a bad network. */
const badNetwork: NetworkFaults = {
  ...{ slow: 0.02, lostBefore: 0.02, lostAfter: 0.02, duplicate: 0.01 },
  ...{ refused: 0.04, failedAfter: 0.01, staleList: 0.5, notFound: 0, late: 0 },
};

interface UnusualFaults extends Partial<NetworkFaults> {
  /** How far the clocks of the API servers may be off. */
  readonly clockSkewMs?: number;
}

/** API servers with one store, and the network to them. */
export class SimulatedCluster {
  readonly server: APIServerHandler;
  readonly network: Network;
  /** Every version of every pod. */
  readonly history: PodWrite[] = [];
  /** The pods that exist, by name. */
  readonly pods = new Map<string, PodWrite['pod']>();
  /** When which pod was removed, by UID. */
  readonly removedMs = new Map<string, number>();
  /** Called with each version of each pod. */
  onWrite: ((pod: PodWrite['pod']) => void) | undefined;
  readonly #world: World;
  /** When the network was down. */
  readonly partitions: { readonly fromMs: number; readonly toMs: number }[] = [];
  readonly #process: SimulatedProcess;
  #isDisturbed = false;
  #clockSkewMs = 0;

  /** @param nodeUsers the nodes that have a user of their own */
  constructor(world: World, nodeUsers: readonly string[]) {
    this.#world = world;
    this.#process = new SimulatedProcess(world, 'api-server');
    const { clock } = this.#process;
    this.server = new APIServerHandler({ clock, entropy: world.entropy, nodeUsers, signingKeys });
    this.server.pods.subscribe(({ type, pod }) => {
      const { uid = '', name = '', resourceVersion } = pod.metadata ?? {};
      this.history.push({ type, resourceVersion: Number(resourceVersion), pod, atMs: world.nowMs });
      if (type === 'DELETED') {
        this.removedMs.set(uid, world.nowMs);
        this.pods.delete(name);
      } else this.pods.set(name, pod);
      world.note('store', type, `${name}@${resourceVersion ?? ''}`, uid, pod.status?.message ?? '');
      this.onWrite?.(pod);
    });
    this.network = new Network(world, this.server, this.history);
  }

  /**
   * Requests, watches and servers fail from now on.
   * @param share of the usual faults that happen to requests
   * @param others faults that are not usual
   */
  disturb(random: Random, share = 1, { clockSkewMs = 0, ...faults }: UnusualFaults = {}): void {
    this.#isDisturbed = true;
    this.#clockSkewMs = clockSkewMs;
    this.network.faults = Object.fromEntries(
      Object.entries({ ...badNetwork, ...faults }).map(([fault, probability]) => [fault, probability * share]),
    ) as unknown as NetworkFaults;
    for (const disturb of [this.#partitions, this.#cutWatches, this.#serverFailures]) {
      void disturb.call(this, random.fork(disturb.name));
    }
  }

  /** Every request is refused for a while. @param meanwhile is called every now and then */
  async outage(lastsMs: number, meanwhile: () => void): Promise<void> {
    this.#world.note('network', 'outage', lastsMs);
    Object.assign(this.network, { isDown: true, isRefusing: true });
    const fromMs = this.#world.nowMs;
    for (const stream of this.network.streams) stream.cut();
    // A partition that ends ends it, too.
    for (const endMs = fromMs + lastsMs; this.#world.nowMs < endMs && this.network.isDown; await this.#world.sleep(100))
      meanwhile();
    this.partitions.push({ fromMs, toMs: this.#world.nowMs - 100 });
    this.network.isDown = false;
  }

  /** Everything works again, and stays so. */
  heal(): void {
    this.#isDisturbed = false;
    this.network.faults = noFaults;
    this.network.slowPaths = undefined;
    this.network.isDown = false;
    this.network.busyShare = 0;
    this.#startServer();
  }

  /** Does something as the admin. @returns whether the API server accepted it */
  attempt(act: () => void): boolean {
    try {
      act();
      return true;
    } catch (error) {
      if (error instanceof APIStatusError) return false;
      throw error;
    }
  }

  /** A user changes the resources of a container. */
  resize(name: string, container: string, resources: object): void {
    const headers = {
      ...{ host: '127.0.0.1', accept: 'application/json', authorization: `Bearer ${this.server.token}` },
      'content-type': 'application/strategic-merge-patch+json',
    };
    const body = JSON.stringify({ spec: { containers: [{ name: container, resources }] } });
    const onEnd = (_: boolean, { statusCode }: { readonly statusCode: number }): void =>
      this.#world.count(`resize: ${statusCode}`);
    const response = new DirectResponse({ onHead() {}, onChunk() {}, onEnd });
    const path = `/api/v1/namespaces/default/pods/${name}/resize`;
    void this.server.serve(new DirectRequest('PATCH', path, headers, body), response);
  }

  async #partitions(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(5_000, 20_000));
      const lastsMs = random.integer(100, random.chance(0.2) ? 40_000 : 3_000);
      const isRefusing = random.chance(0.5);
      if (!this.#isDisturbed) return;
      if (!this.#world.happens('partition')) continue;
      this.#world.count('partition');
      this.#world.note('network', 'down', lastsMs);
      this.network.isDown = true;
      this.network.isRefusing = isRefusing;
      const fromMs = this.#world.nowMs;
      this.#breakStreams(random, 1, 0.5);
      await this.#world.sleep(lastsMs);
      if (this.#isDisturbed) this.partitions.push({ fromMs, toMs: this.#world.nowMs });
      this.network.isDown = false;
    }
  }

  async #cutWatches(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(1_000, 12_000));
      if (!this.#isDisturbed) return;
      if (this.#world.happens('watches break')) this.#breakStreams(random, 0.5, 0.8);
    }
  }

  #breakStreams(random: Random, share: number, cut: number): void {
    for (const stream of this.network.streams) {
      const isChosen = random.chance(share);
      const isCut = random.chance(cut);
      if (!isChosen) continue;
      this.#world.count(isCut ? 'watch cut' : 'watch stalls');
      if (isCut) stream.cut();
      else stream.stall();
    }
  }

  async #serverFailures(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(8_000, 25_000));
      const isCompaction = random.chance(0.4);
      const lastsMs = random.integer(100, 4_000);
      // From now on, another server with another clock answers.
      const wallOffsetMs = random.integer(-this.#clockSkewMs, this.#clockSkewMs);
      if (!this.#isDisturbed) return;
      this.#process.wallOffsetMs = wallOffsetMs;
      if (!this.#world.happens(isCompaction ? 'compaction' : 'the API server restarts')) continue;
      this.#world.count(isCompaction ? 'compaction' : 'restart of the API server');
      if (isCompaction) {
        this.server.compact();
        continue;
      }
      this.#world.note('server', 'stops');
      this.network.isServerUp = false;
      this.server.close();
      await this.#world.sleep(lastsMs);
      this.#startServer();
    }
  }

  #startServer(): void {
    if (this.network.isServerUp) return;
    this.#world.note('server', 'starts');
    // As the watch cache of a server that has just started.
    this.server.compact();
    this.network.isServerUp = true;
  }
}
