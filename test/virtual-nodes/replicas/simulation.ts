import { NodeOwnership } from '../../../src/virtual-nodes/replicas/node-ownership.ts';
import type {
  NodeOwnershipOptions,
  OwnedNode,
  OwnershipEnd,
} from '../../../src/virtual-nodes/replicas/node-ownership-options.ts';
import { APIStatusError } from '../../../src/api-server/api-status.ts';
import { Mutations } from '../../../src/api-server/storage/mutations.ts';
import { directRequest, Registry } from '../../../src/api-server/registry.ts';
import { resourceNamed } from '../../../src/api-server/resources/resources.ts';
import { ObjectStore } from '../../../src/api-server/storage/store.ts';
import type { Target } from '../../../src/api-server/http/target.ts';
import { APIError } from '../../../src/kube/client/api-error.ts';
import type { JSONObject } from '../../../src/kube/objects/json-object.ts';
import type { KubeRequestOptions, KubeResponse } from '../../../src/kube/http/kube-transport.ts';
import type { Clock } from '../../../src/shared/clock.ts';
import { FakeClock, type RecordingLogger, recordingLogger } from '../../../src/testing/index.ts';
import { Random } from '../../chaos/random.ts';

const namespace = 'kube-system';
const leases = resourceNamed('coordination.k8s.io', 'v1', 'leases')!;

/** A call to the cloud for one node, from its start to its end in true time. */
interface CloudCall {
  readonly replica: string;
  readonly epoch: number;
  readonly startMs: number;
  endMs: number;
}

/**
 * Replicas on one simulated network, on the API server's own code without HTTP. All time is that of `clock`, the true time;
 * each replica sees it through a clock of its own. Everything follows from the seed.
 */
export class Simulation {
  readonly clock = new FakeClock('2026-01-02T03:04:05Z');
  readonly nodeNames: readonly string[];
  readonly replicas: SimulatedReplica[] = [];
  readonly violations: string[] = [];
  readonly random: Random;
  readonly store = new ObjectStore(100);
  readonly #registry: Registry;
  readonly #calls = new Map<string, CloudCall[]>();
  readonly #highestEpoch = new Map<string, number>();
  /** Requests are refused. */
  isServerDown = false;
  /** Delay of each way of a request. */
  delaysMs: readonly [min: number, max: number] = [1, 30];
  /** Probability that a request is lost, or its response. */
  loss = 0;

  constructor(seed: string, nodeCount: number) {
    this.random = new Random(seed);
    this.nodeNames = Array.from({ length: nodeCount }, (_, i) => `node-${i}`);
    this.#registry = new Registry(this.store, this.clock, new Mutations());
    const namespaces = { definition: resourceNamed('', 'v1', 'namespaces')!, namespace: '', name: '', subresource: '' };
    this.#registry.create(namespaces as Target, { metadata: { name: namespace } }, directRequest('create', 'admin'));
  }

  add(options: Partial<NodeOwnershipOptions> = {}, rate = 1): SimulatedReplica {
    const replica = new SimulatedReplica(this, `replica-${this.replicas.length}`, options, rate);
    this.replicas.push(replica);
    replica.ownership.start();
    return replica;
  }

  /** Replicas that are neither killed nor stopping. */
  get active(): SimulatedReplica[] {
    return this.replicas.filter(({ state }) => state === 'running');
  }

  /** Lets true time pass, and checks the invariants after each event. */
  async pass(ms: number): Promise<void> {
    await this.clock.advanceAsync(ms, async () => {
      await this.clock.yieldToEventLoop();
      this.#check();
    });
  }

  /** Who owns the node; the first if there are several. */
  ownerOf(nodeName: string): SimulatedReplica | undefined {
    return this.replicas.find(
      (replica) => replica.state !== 'killed' && replica.owned.get(nodeName)?.isOwned() === true,
    );
  }

  get nodesWithoutOwner(): string[] {
    return this.nodeNames.filter((nodeName) => this.ownerOf(nodeName) === undefined);
  }

  ownedCounts(): number[] {
    return this.active.map((replica) => [...replica.owned.values()].filter((node) => node.isOwned()).length);
  }

  /** One request on the server, now. */
  serve(method: string, name: string, body: unknown): unknown {
    const target: Target = { definition: leases, namespace, name, subresource: '' };
    const request = directRequest(method, 'replica');
    // As over HTTP.
    const json = (body === undefined ? {} : JSON.parse(JSON.stringify(body))) as JSONObject;
    switch (method) {
      case 'POST':
        return this.#registry.create({ ...target, name: '' }, json, request);
      case 'PUT':
        return this.#registry.replace(target, json, request).object;
      case 'DELETE':
        return this.#registry.delete(target, { preconditions: json['preconditions'] } as never, request).object;
      default:
        return name === '' ? { items: this.store.list(leases.resource, namespace) } : this.#registry.get(target);
    }
  }

  get leaseNames(): string[] {
    return this.store.list(leases.resource, namespace).map(({ metadata }) => metadata.name);
  }

  /** The cloud begins work for a node, which ends after some time. */
  call(replica: SimulatedReplica, { nodeName, epoch }: OwnedNode, durationMs: number): CloudCall {
    const startMs = this.clock.monotonicMs();
    const call = { replica: replica.name, epoch, startMs, endMs: startMs + durationMs };
    const calls = this.#calls.get(nodeName) ?? [];
    const other = calls.find(({ replica, endMs }) => replica !== call.replica && endMs > startMs);
    if (other !== undefined) this.#violate(`${nodeName}: a call of ${call.replica} during one of ${other.replica}`);
    const newer = calls.find((one) => one.epoch > epoch);
    if (newer !== undefined) this.#violate(`${nodeName}: a call with epoch ${epoch} after one with ${newer.epoch}`);
    this.#calls.set(nodeName, [...calls.filter(({ endMs }) => endMs > startMs - 60_000), call]);
    return call;
  }

  took({ nodeName, epoch }: OwnedNode): void {
    const highest = this.#highestEpoch.get(nodeName) ?? 0;
    if (epoch <= highest) this.#violate(`${nodeName}: epoch ${epoch} after ${highest}`);
    this.#highestEpoch.set(nodeName, Math.max(highest, epoch));
  }

  #check(): void {
    const owners = new Map<string, string>();
    for (const { name, owned, state, isBehind } of this.replicas) {
      if (state === 'killed') continue;
      for (const node of owned.values()) {
        // What is stopped cannot abort a signal, but cannot use the node either.
        const uses = isBehind ? node.isOwned() : !node.signal.aborted;
        if (!uses) continue;
        const other = owners.get(node.nodeName);
        if (other !== undefined) this.#violate(`${node.nodeName} is owned by ${other} and ${name}`);
        owners.set(node.nodeName, name);
      }
    }
  }

  #violate(what: string): void {
    this.violations.push(`at ${this.clock.monotonicMs()} ms: ${what}`);
  }
}

/** One process: its clock, its network, and the calls that it makes for its nodes. */
export class SimulatedReplica {
  readonly name: string;
  readonly ownership: NodeOwnership;
  readonly logger: RecordingLogger = recordingLogger();
  /** Nodes from `onOwned` until `onLost` has ended. */
  readonly owned = new Map<string, OwnedNode>();
  readonly ends: OwnershipEnd[] = [];
  state: 'running' | 'paused' | 'stopping' | 'killed' = 'running';
  /** These requests get no response, and may still arrive. */
  cutOff: 'nothing' | 'lists' | 'all' = 'nothing';
  wallOffsetMs = 0;
  readonly #ending = new Set<OwnedNode>();
  readonly #world: Simulation;
  readonly #rate: number;
  readonly #random: Random;
  /** What happens to a process that is paused, happens when it continues. */
  readonly #pending: (() => void)[] = [];

  /** @param rate of its clock in relation to true time */
  constructor(world: Simulation, name: string, options: Partial<NodeOwnershipOptions>, rate: number) {
    this.name = name;
    this.#world = world;
    this.#rate = rate;
    this.#random = world.random.fork(name);
    this.ownership = new NodeOwnership({
      transport: { request: (method, path, options) => this.#request(method, path, options) },
      identity: name,
      namespace,
      nodeNames: world.nodeNames,
      onOwned: (node) => this.#onOwned(node),
      onLost: (node, reason) => this.#onLost(node, reason),
      logger: this.logger,
      clock: this.#clock(),
      random: () => this.#random.next(),
      ...options,
    });
  }

  /** True while it is paused, and until it has done what had been due. */
  get isBehind(): boolean {
    return this.state === 'paused' || this.#pending.length > 0;
  }

  /** SIGKILL */
  kill(): void {
    this.state = 'killed';
    this.#pending.length = 0;
  }

  /** SIGSTOP */
  pause(): void {
    if (this.state === 'running') this.state = 'paused';
  }

  /** SIGCONT */
  continue(): void {
    if (this.state !== 'paused') return;
    this.state = 'running';
    this.#deliverNext();
  }

  async stop(): Promise<void> {
    if (this.state !== 'running') return;
    this.state = 'stopping';
    await this.ownership.stop();
  }

  /** One event of a continued process after the other, each with the microtasks that follow from it. */
  #deliverNext(): void {
    this.#world.clock.afterFunc(0, () => {
      if (this.state === 'paused' || this.state === 'killed') return;
      this.#pending.shift()?.();
      if (this.#pending.length > 0) this.#deliverNext();
    });
  }

  #deliver(event: () => void): void {
    if (this.state === 'killed') return;
    if (this.isBehind) this.#pending.push(event);
    else event();
  }

  #clock(): Clock {
    const { clock } = this.#world;
    return {
      now: () => clock.now() + this.wallOffsetMs,
      monotonicMs: () => clock.monotonicMs() * this.#rate,
      afterFunc: (delayMs, callback) => {
        let isStopped = false;
        const timer = clock.afterFunc(delayMs / this.#rate, () => this.#deliver(() => !isStopped && callback()));
        return {
          stop: () => {
            isStopped = true;
            timer.stop();
          },
        };
      },
      yieldToEventLoop: () => clock.yieldToEventLoop(),
    };
  }

  #request(method: string, path: string, { body, signal }: KubeRequestOptions = {}): Promise<KubeResponse> {
    const { clock } = this.#world;
    const name = path.split('/leases/')[1] ?? '';
    const isCutOff = this.cutOff === 'all' || (this.cutOff === 'lists' && name === '' && method === 'GET');
    return new Promise((resolve, reject) => {
      const respond = (result: () => void): void => {
        if (this.#isLost(isCutOff)) return;
        clock.afterFunc(this.#delayMs(isCutOff), () => this.#deliver(result));
      };
      signal?.addEventListener('abort', () => reject(new APIError('aborted', { kind: 'aborted' })));
      // The process may be killed, or give up; what it has sent arrives nevertheless.
      if (this.#isLost(isCutOff)) return;
      clock.afterFunc(this.#delayMs(isCutOff), () => {
        if (this.#world.isServerDown) {
          return respond(() => reject(new APIError('ECONNREFUSED', { kind: 'network' })));
        }
        try {
          const text = JSON.stringify(this.#world.serve(method, name, body));
          return respond(() =>
            resolve({ statusCode: 200, headers: {}, text, json: () => JSON.parse(text) as unknown }),
          );
        } catch (error) {
          if (!(error instanceof APIStatusError)) throw error;
          const { code: statusCode, message, reason } = error;
          return respond(() => reject(new APIError(message, { kind: 'http', statusCode, reason })));
        }
      });
    });
  }

  #isLost(isCutOff: boolean): boolean {
    return this.#random.chance(isCutOff ? 0.9 : this.#world.loss);
  }

  #delayMs(isCutOff: boolean): number {
    const [min, max] = isCutOff ? [0, 30_000] : this.#world.delaysMs;
    return this.#random.integer(min, max);
  }

  #onOwned(node: OwnedNode): void {
    this.#world.took(node);
    this.owned.set(node.nodeName, node);
    const clock = this.#clock();
    const callAgain = (): void => {
      if (!node.isOwned() || this.#ending.has(node)) return;
      const call = this.#world.call(this, node, this.#random.integer(1, 4_000));
      // It ends early, but not immediately, when the ownership ends.
      node.signal.addEventListener('abort', () => {
        call.endMs = Math.min(call.endMs, this.#world.clock.monotonicMs() + 2_000);
      });
      clock.afterFunc(this.#random.integer(300, 3_000), callAgain);
    };
    callAgain();
  }

  async #onLost(node: OwnedNode, reason: OwnershipEnd): Promise<void> {
    this.ends.push(reason);
    this.#ending.add(node);
    // Calls in flight end.
    const clock = this.#clock();
    await new Promise<void>((resolve) => clock.afterFunc(4_000, resolve));
    if (this.owned.get(node.nodeName) === node) this.owned.delete(node.nodeName);
  }
}
