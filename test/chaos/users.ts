import type { Json, KubeHTTP } from '../support/kube-http.ts';
import type { Random } from './random.ts';

/** The node of all pods. */
export const nodeName = 'node-a';

const podsPath = '/api/v1/namespaces/default/pods';
const strategicMergePatch = 'application/strategic-merge-patch+json';
const mergePatch = 'application/merge-patch+json';
/** Delays the removal of a pod until the users remove it. */
export const finalizer = 'chaos.example.com/hold';
/** A condition that others than the agent write into every pod's status. */
export const foreignConditionType = 'chaos.example.com/gate';

const goneWithinMs = 4_000;
const pollMs = 100;

export function podNames(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `pod-${i}`);
}

/** A pod whose containers nobody runs. */
export function makePod(name: string, random: Random): Json {
  const containers = Array.from({ length: random.integer(1, 3) }, (_, i) => ({ name: `c${i}`, image: 'i' }));
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...(random.chance(0.25) && { finalizers: [finalizer] }) },
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      containers,
      restartPolicy: random.pick(['Always', 'Always', 'OnFailure', 'Never']),
      terminationGracePeriodSeconds: random.pick([1, 5, 30]),
      ...(random.chance(0.3) && { readinessGates: [{ conditionType: foreignConditionType }] }),
    },
  };
}

/**
 * Users and controllers. They create pods, delete them, delay their removal with finalizers, write
 * their own conditions and the agent's, and create pods again under the same name. There is one
 * sequence of actions for each name. A request that fails is not repeated.
 */
export class Users {
  /** The number of successful actions, by kind. */
  readonly actions: Record<string, number> = {};
  readonly #http: KubeHTTP;
  readonly #random: Random;
  readonly #makePod: (name: string, random: Random) => Json;
  readonly #pace: number;
  readonly #foreignVersions = new Map<string, number>();
  #running: Promise<unknown> = Promise.resolve();
  #isStopped = false;
  #wake: (() => void)[] = [];

  /**
   * @param makePod the pod that is created next under this name
   * @param pace how many times longer all pauses are
   */
  constructor(http: KubeHTTP, random: Random, makePod: (name: string, random: Random) => Json, pace = 1) {
    this.#pace = pace;
    this.#http = http;
    this.#random = random;
    this.#makePod = makePod;
  }

  start(names: readonly string[]): void {
    this.#running = Promise.all(names.map((name) => this.#live(name, this.#random.fork(name))));
  }

  /** Stops all actions. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const wake of this.#wake) wake();
    await this.#running;
  }

  /** Removes the finalizers of pods for whose name `mayBeReleased` is true. */
  async release(mayBeReleased: (name: string) => boolean): Promise<void> {
    const pods: Json[] = (await this.#http.request('GET', podsPath)).body.items;
    for (const { metadata } of pods) if (mayBeReleased(metadata.name)) await this.#removeFinalizers(metadata.name);
  }

  async #live(name: string, random: Random): Promise<void> {
    await this.#pause(random.integer(0, 1_500));
    while (!this.#isStopped) {
      const pod = this.#makePod(name, random);
      if (await this.#attempt('create', () => this.#send('POST', podsPath, 'application/json', pod)))
        await this.#use(name, random, pod.metadata.finalizers !== undefined);
      await this.#pause(random.integer(50, 800));
    }
  }

  async #use(name: string, random: Random, hasFinalizers: boolean): Promise<void> {
    for (let actions = random.integer(1, 12); actions > 0 && !this.#isStopped; actions--) {
      await this.#pause(random.integer(150, 900));
      switch (random.weighted({ condition: 5, ready: 1, label: 2, nothing: 3 })) {
        case 'condition':
          await this.#attempt('foreign condition', () => this.#writeForeignCondition(name));
          break;
        case 'ready':
          await this.#attempt('foreign Ready', () => this.#writeReady(name, random.pick(['True', 'False'])));
          break;
        case 'label':
          await this.#attempt('label', () =>
            this.#patch(name, mergePatch, { metadata: { labels: { n: String(actions) } } }),
          );
          break;
        default:
      }
    }
    if (this.#isStopped) return;
    const gracePeriodSeconds = random.pick([undefined, undefined, undefined, 1, 5, 0]);
    await this.#attempt(gracePeriodSeconds === 0 ? 'force delete' : 'delete', () =>
      this.#delete(name, gracePeriodSeconds),
    );
    // Sometimes a user deletes it a second time, with a shorter grace period.
    if (random.chance(0.2)) await this.#attempt('delete', () => this.#delete(name, 2));
    const releaseAtMs = Date.now() + random.integer(500, goneWithinMs);
    while (!this.#isStopped && (await this.#exists(name))) {
      await this.#pause(pollMs);
      if (hasFinalizers && Date.now() >= releaseAtMs)
        await this.#attempt('release', () => this.#removeFinalizers(name));
    }
  }

  #writeForeignCondition(name: string): Promise<boolean> {
    const version = (this.#foreignVersions.get(name) ?? 0) + 1;
    this.#foreignVersions.set(name, version);
    const condition = {
      type: foreignConditionType,
      status: version % 3 === 0 ? 'False' : 'True',
      message: `f${version}`,
    };
    return this.#patch(`${name}/status`, strategicMergePatch, { status: { conditions: [condition] } });
  }

  #writeReady(name: string, status: string): Promise<boolean> {
    const condition = { type: 'Ready', status, reason: 'Foreign' };
    return this.#patch(`${name}/status`, strategicMergePatch, { status: { conditions: [condition] } });
  }

  #delete(name: string, gracePeriodSeconds: number | undefined): Promise<boolean> {
    const options = {
      apiVersion: 'v1',
      kind: 'DeleteOptions',
      ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    };
    return this.#send('DELETE', `${podsPath}/${name}`, 'application/json', options);
  }

  #removeFinalizers(name: string): Promise<boolean> {
    return this.#patch(name, mergePatch, { metadata: { finalizers: null } });
  }

  #patch(path: string, contentType: string, body: Json): Promise<boolean> {
    return this.#send('PATCH', `${podsPath}/${path}`, contentType, body);
  }

  async #send(method: string, path: string, contentType: string, body: Json): Promise<boolean> {
    const { status } = await this.#http.request(method, path, { contentType, body });
    return status < 300;
  }

  async #exists(name: string): Promise<boolean> {
    try {
      return (await this.#http.request('GET', `${podsPath}/${name}`)).status !== 404;
    } catch {
      return true;
    }
  }

  async #attempt(deed: string, run: () => Promise<boolean>): Promise<boolean> {
    if (this.#isStopped) return false;
    const isDone = await run().catch(() => false);
    if (isDone) this.actions[deed] = (this.actions[deed] ?? 0) + 1;
    return isDone;
  }

  #pause(ms: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms * this.#pace);
      this.#wake.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
