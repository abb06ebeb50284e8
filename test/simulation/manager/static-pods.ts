import { configHashAnnotation, configMirrorAnnotation } from '../../../src/kube/pods/static-pods.ts';
import type { Pod } from '../../../src/status-manager/index.ts';
import type { Random } from '../../chaos/random.ts';
import { makePod, nodeName } from '../../chaos/users.ts';
import type { PodWrite } from '../lagging-pods.ts';
import type { SimulatedCluster } from '../simulated-cluster.ts';
import type { World } from '../world.ts';

const namespace = 'default';

/** The UID of the pod of an API object: for a mirror pod that of its static pod, which is also its hash. */
export function podUIDOf({ metadata }: PodWrite['pod']): string {
  return metadata.annotations?.[configMirrorAnnotation] ?? metadata.uid;
}

export function isMirror({ metadata }: PodWrite['pod']): boolean {
  return metadata.annotations?.[configMirrorAnnotation] !== undefined;
}

/** The static pods of a node, and somebody who creates their mirror pods, and deletes them at times. */
export class StaticPods {
  readonly pods: readonly Pod[];
  readonly #world: World;
  readonly #cluster: SimulatedCluster;
  #isStopped = false;

  constructor(world: World, cluster: SimulatedCluster, count: number) {
    this.#world = world;
    this.#cluster = cluster;
    const random = world.random.fork('static pods');
    this.pods = Array.from({ length: count }, (_, i) => {
      const { spec } = makePod(`static-${i}`, random);
      const uid = world.entropy.uuid();
      return {
        ...{ apiVersion: 'v1', kind: 'Pod', spec },
        metadata: {
          ...{ name: `static-${i}-${nodeName}`, namespace, uid },
          annotations: { 'kubernetes.io/config.source': 'file', [configHashAnnotation]: uid },
        },
      };
    });
  }

  start(random: Random): void {
    for (const pod of this.pods) void this.#mirror(pod, random.fork(pod.metadata!.name!));
  }

  /** From now on, each mirror pod stays. */
  stop(): void {
    this.#isStopped = true;
    for (const pod of this.pods) this.#create(pod);
  }

  async #mirror(pod: Pod, random: Random): Promise<void> {
    for (let wait = 2_000; !this.#isStopped; wait = 800) {
      await this.#world.sleep(random.integer(0, wait));
      if (this.#isStopped) return;
      this.#create(pod);
      await this.#world.sleep(random.integer(1_000, 20_000));
      const name = pod.metadata!.name!;
      if (this.#isStopped || !this.#world.happens(`${name}: delete its mirror`)) continue;
      const remove = (options: { readonly gracePeriodSeconds?: number }): boolean =>
        this.#cluster.attempt(() => this.#cluster.server.pods.delete(namespace, name, options));
      if (random.chance(0.5)) {
        remove({});
        await this.#world.sleep(random.integer(500, 5_000));
      }
      if (remove({ gracePeriodSeconds: 0 })) this.#world.count('delete a mirror pod');
      if (this.#isStopped) this.#create(pod);
    }
  }

  /** Each mirror pod is replaced by a new one. */
  renew(): void {
    for (const pod of this.pods) {
      const name = pod.metadata!.name!;
      this.#cluster.attempt(() => this.#cluster.server.pods.delete(namespace, name, { gracePeriodSeconds: 0 }));
      this.#create(pod);
    }
  }

  #create({ metadata, ...pod }: Pod): void {
    const { uid, annotations, name } = metadata!;
    const mirror = {
      ...pod,
      metadata: { name, namespace, annotations: { ...annotations, [configMirrorAnnotation]: uid } },
    };
    this.#cluster.attempt(() => void this.#cluster.server.pods.create(mirror));
  }
}
