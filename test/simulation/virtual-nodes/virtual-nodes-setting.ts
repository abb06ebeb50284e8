import { podHash } from '../../../src/virtual-nodes/pods/pod-hash.ts';
import type { ValidPod } from '../../../src/kube/objects/types.ts';
import type { VirtualNode } from '../../../src/virtual-nodes/index.ts';
import { checkTerminalIsFinal, differenceTo } from '../../chaos/invariants.ts';
import type { Random } from '../../chaos/random.ts';
import { finalizer, podNames } from '../../chaos/users.ts';
import type { Json } from '../../support/kube-http.ts';
import type { Call } from '../network.ts';
import { PodUsers } from '../pod-users.ts';
import type { Setting } from '../setting.ts';
import { SignalListeners } from '../signal-listeners.ts';
import { SimulatedCluster } from '../simulated-cluster.ts';
import { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';
import {
  checkCreations,
  checkDeadlines,
  checkDeletes,
  checkEpochs,
  checkLost,
  checkTurns,
  checkVersions,
  checkWriters,
  isTerminal,
  uidOf,
  versionOf,
} from './check-replicas.ts';
import { askKubelet, readPages } from './kubelet-clients.ts';
import { isMemberLease, ServedLeases } from './served-leases.ts';
import { ProbeChecks } from './check-probes.ts';
import { checkRestartCounts, RestartChecks } from './check-restarts.ts';
import { ReplicaProcess, type ReplicaOptions } from './replica-process.ts';
import { type CloudFaults, noCloudFaults, SimulatedCloud } from './simulated-cloud.ts';
import { probeCommand, probeTypes } from './simulated-probes.ts';

const namespace = 'default';
/** Of a bad cloud. */
const badCloud: CloudFaults = {
  ...{ slow: 0.02, incomplete: 0.05, lostBefore: 0.02, lostAfter: 0.02, duplicate: 0.01 },
  ...{ refused: 0.04, permanent: 0.01, wrong: 0.1 },
};
const maxWallOffsetMs = 4_000_000;
/** The longest back-off of a call, with its jitter, and what it then takes until all is as it should be. */
const settleMs = 600_000;
/** How long nodes may have no owner, or two replicas may take to notice each other, beside the duration of a Lease. */
const takeoverMs = 45_000;
const stopMs = 60_000;
/** Probes that fail, and a container that is killed, and starts; a node may be taken by another replica besides. */
const probedMs = 150_000;
const ownersCheckMs = 250;
/** Of the duration of a Lease. */
const renewDeadline = 2 / 3;
const margin = 1 / 3;
const slowestClock = 1.005;
const maxSendingTries = 2_500;
/** How long a watch may be silent, and a list that follows. */
const stalledMs = 220_000;

/** `createVirtualNodes`, as one process or shared out between several, with a cloud. */
export const virtualNodesSetting: Setting = {
  name: 'virtual-nodes',
  run: async (world) => {
    const listeners = new SignalListeners();
    try {
      await new VirtualNodesSimulation(world, listeners).run();
    } finally {
      listeners.restore();
    }
  },
};

class VirtualNodesSimulation {
  readonly #world: World;
  readonly #random: Random;
  readonly #cluster: SimulatedCluster;
  readonly #cloud: SimulatedCloud;
  readonly #users: PodUsers;
  readonly #served: ServedLeases;
  readonly #listeners: SignalListeners;
  readonly #probeChecks: ProbeChecks;
  readonly #nodeNames: readonly string[];
  readonly #options: ReplicaOptions;
  /** How many replicas run at a time. */
  readonly #count: number;
  #replicas: ReplicaProcess[] = [];
  /** All that there were. */
  readonly #started: ReplicaProcess[] = [];
  #isDisturbed = true;
  readonly #stopping = new Set<Promise<void>>();
  /** By UID, the node of each pod that there was. */
  readonly #nodeOf = new Map<string, string>();

  constructor(world: World, listeners: SignalListeners) {
    this.#world = world;
    this.#listeners = listeners;
    this.#probeChecks = new ProbeChecks(world);
    this.#random = world.random.fork('virtual nodes setting');
    const random = this.#random;
    this.#nodeNames = Array.from({ length: random.pick([1, 2, 3, 5]) }, (_, i) => `vn-${i}`);
    this.#cluster = new SimulatedCluster(world, []);
    this.#cluster.network.watchesLag = true;
    this.#served = new ServedLeases(this.#cluster.network.served);
    this.#cluster.server.pods.subscribe(({ pod: { metadata, spec } }) =>
      this.#nodeOf.set(metadata!.uid!, spec?.nodeName ?? ''),
    );
    const kind = {
      updates: random.chance(0.8),
      gets: random.chance(0.5),
      notifies: random.chance(0.4),
      reportsHash: random.chance(0.7),
      losesPods: random.chance(0.3),
      restarts: random.fork('restarts').chance(0.4) ? ('node' as const) : undefined,
      lagMs: random.chance(0.3) ? random.integer(100, 1_500) : 0,
      heedsSignals: random.chance(0.7),
      needsMaterials: random.chance(0.5),
      streams: random.chance(0.5),
    } as const;
    // It runs commands.
    const probes = kind.streams && random.fork('probes').chance(0.5);
    this.#cloud = new SimulatedCloud(world, { ...kind, probes });
    const hasReplicas = random.chance(0.85);
    this.#count = hasReplicas ? random.pick([1, 2, 3, 3]) : 1;
    this.#options = {
      leaseDurationSeconds: hasReplicas ? random.pick([5, 10, 15, 15]) : undefined,
      drainTimeoutMs: random.pick([2_000, 10_000, 30_000]),
      lost: random.pick(['fail', 'fail', 'recreate']),
      listPeriodMs: random.pick([undefined, undefined, 1_000, 20_000]),
      callTimeoutMs: random.pick([3_000, 10_000, 60_000]),
      concurrency: random.pick([1, 2, 10]),
    };
    this.#users = new PodUsers(world, this.#cluster, {
      names: podNames(world.size.pods),
      makePod: (name, ofPod) => this.#makePod(name, ofPod),
      change: (name, ofPod) => this.#changePod(name, ofPod),
    });
  }

  async run(): Promise<void> {
    const world = this.#world;
    const random = this.#random;
    world.note('world', 'options', { ...this.#options, ...this.#cloud.kind, nodes: this.#nodeNames.length });
    const { configMaps, secrets } = this.#cluster.server;
    configMaps.create({ metadata: { name: 'config' }, data: { key: 'a' } });
    secrets.create({ metadata: { name: 'secret' }, data: { key: 'YQ==' } });
    this.#cloud.isOver = (process, uid) => this.#isOver(process, uid);
    this.#cloud.onMaterials = ({ name }, uid, isOver) => {
      if (isOver) world.violate('no materials after the end of a pod', `${uid}, which is gone, read by ${name}`);
    };
    const { cloudPods, kind } = this.#cloud;
    const exists = ({ metadata: { name, uid } }: ValidPod): boolean =>
      this.#cluster.pods.get(name)?.metadata.uid === uid;
    const restartChecks = new RestartChecks(world, cloudPods.runs, exists);
    const nodeOf = (process: SimulatedProcess, nodeName: string): VirtualNode | undefined =>
      this.#started.find((replica) => replica.process === process)?.nodes.node(nodeName);
    this.#cloud.probes.onProbe = (call) => this.#probeChecks.sent(nodeOf(call.process, call.pod.nodeName), call);
    this.#cloud.onKill = (process, call, name, restartCount) =>
      this.#probeChecks.killed(nodeOf(process, call.nodeName!), name, restartCount, call);
    if (kind.restarts === 'node') {
      this.#cloud.onCreateCall = (process, pod, restartCount) => {
        const node = nodeOf(process, pod.spec!.nodeName!);
        if (node !== undefined) restartChecks.attempted(node, pod, restartCount);
      };
      this.#cloud.onCreate = (process, pod, restartCount) => {
        const node = nodeOf(process, pod.spec!.nodeName!);
        if (node !== undefined) restartChecks.check(node, pod, restartCount);
      };
      this.#cloud.onList = (process) => {
        for (const nodeName of this.#nodeNames) {
          const node = nodeOf(process, nodeName);
          if (node !== undefined) restartChecks.checkStatuses(node);
        }
      };
    }
    this.#cloud.onDelete = (process, uid, pod) => {
      if (pod?.state !== 'stopped') this.#checkDeletion(process, uid);
    };
    for (let i = 0; i < this.#count; i++) this.#start();
    this.#users.start();
    if (kind.restarts === 'node')
      for (const name of ['long-0', 'long-1']) void this.#longLived(name, random.fork(name));
    if (this.#options.leaseDurationSeconds !== undefined) void this.#watchOwners();
    if (random.chance(0.9)) {
      const share = random.pick([0.5, 1, 1, 3]);
      this.#cluster.disturb(random.fork('cluster'), share);
      this.#cloud.faults = Object.fromEntries(
        Object.entries(badCloud).map(([fault, probability]) => [fault, probability * share]),
      ) as unknown as CloudFaults;
    }
    for (const disturb of [
      this.#restarts,
      this.#pauses,
      this.#partitions,
      this.#clockJumps,
      this.#nodes,
      this.#admin,
      this.#clients,
      this.#leases,
    ])
      if (random.chance(0.8)) void disturb.call(this, random.fork(disturb.name));
    if (random.fork('renewals').chance(0.5)) void this.#lostRenewals(random.fork('lost renewals'));
    await world.sleep(world.size.forMs);

    await this.#heal();
    await this.#checkOwners();
    this.#users.stop();
    this.#users.release(random.fork('release'));
    this.#cloud.cloudPods.isQuiet = true;
    await world.until('everything settles', settleMs, () => this.#difference(), 1_000);
    if (kind.probes) await this.#checkProbes(random.fork('unhealthy'));
    await this.#checkQuiet();
    await Promise.all(this.#replicas.map((replica) => this.#stop(replica, true)));
    this.#checkHistory();
  }

  #start(): ReplicaProcess {
    const number = this.#started.length + 1;
    const random = this.#random.fork(`replica ${number}`);
    const started = new ReplicaProcess(this.#world, this.#cluster, this.#cloud, {
      ...this.#options,
      number,
      // Clocks of machines differ by less.
      rate: random.pick([1, 1, 1.002, 0.998]),
      nodeNames: this.#nodeNames,
      onLog: (level, message, fields) => this.#onLog(started, level, message, fields),
      onStatus: (...change) => this.#probeChecks.changed(...change),
    });
    started.process.wallOffsetMs = random.chance(0.5) ? random.integer(-maxWallOffsetMs, maxWallOffsetMs) : 0;
    this.#replicas.push(started);
    this.#started.push(started);
    this.#world.count('start');
    this.#world.note(started.process.name, 'start');
    started.start();
    return started;
  }

  #kill(replica: ReplicaProcess): void {
    const { process } = replica;
    this.#replicas = this.#replicas.filter((other) => other !== replica);
    if (!process.isAlive) return;
    this.#world.note(process.name, 'killed');
    process.kill();
    this.#cluster.network.killed(process);
  }

  async #stop(replica: ReplicaProcess, drain: boolean): Promise<void> {
    const { process } = replica;
    this.#replicas = this.#replicas.filter((other) => other !== replica);
    process.resume();
    this.#world.note(process.name, 'stop', { drain });
    let isStopped = false;
    const stopped = replica.stop(drain).then(
      () => void (isStopped = true),
      (error: unknown) => this.#world.violate('replicas stop', (error as Error).stack ?? String(error)),
    );
    const { leaseDurationSeconds = 0, drainTimeoutMs } = this.#options;
    await Promise.race([stopped, this.#world.sleep(stopMs + drainTimeoutMs + 2_000 * leaseDurationSeconds)]);
    if (!isStopped && process.isAlive && !process.isPaused)
      this.#world.violate('replicas stop', `${process.name} does not`);
    this.#world.note(process.name, 'stopped');
    process.kill();
    this.#cluster.network.killed(process);
  }

  /** All faults end. */
  async #heal(): Promise<void> {
    this.#isDisturbed = false;
    this.#world.note('world', 'all faults end');
    this.#cluster.heal();
    this.#cluster.network.cutOff.clear();
    this.#cluster.network.isLost = undefined;
    this.#cloud.cutOff.clear();
    this.#cloud.faults = noCloudFaults;
    // Those that stall are noticed after minutes.
    if (this.#random.chance(0.8))
      for (const stream of this.#cluster.network.streams) if (stream.isStalled) stream.cut();
    for (const { process } of this.#replicas) process.resume();
    await Promise.all(this.#stopping);
    while (this.#replicas.length < this.#count) this.#start();
    for (const replica of this.#replicas) for (const nodeName of this.#nodeNames) this.#addNode(replica, nodeName);
  }

  // What happens to replicas

  async #restarts(random: Random): Promise<void> {
    const world = this.#world;
    for (;;) {
      await world.sleep(random.integer(3_000, 25_000));
      const how = random.weighted({ kill: 5, stop: 4 });
      const drain = random.chance(0.6);
      const index = random.integer(0, 10);
      const downMs = random.integer(10, random.chance(0.3) ? 40_000 : 4_000);
      if (!this.#isDisturbed) return;
      const replica = this.#replicas[index % this.#replicas.length];
      if (replica === undefined || !world.happens(how)) continue;
      world.count(how);
      if (how === 'kill') this.#kill(replica);
      else {
        const stopping = this.#stop(replica, drain);
        this.#stopping.add(stopping);
        const over = stopping.finally(() => this.#stopping.delete(stopping));
        // Without Leases, one process at a time.
        if (this.#options.leaseDurationSeconds === undefined || random.chance(0.5)) await over;
      }
      await world.sleep(downMs);
      if (!this.#isDisturbed) return;
      this.#start();
    }
  }

  async #pauses(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(5_000, 25_000));
      const lastsMs = random.integer(100, random.chance(0.6) ? 40_000 : 4_000);
      const index = random.integer(0, 10);
      if (!this.#isDisturbed) return;
      const replica = this.#replicas[index % this.#replicas.length];
      const whileSending = random.chance(0.5);
      if (replica === undefined || !this.#world.happens('pause')) continue;
      if (whileSending) await this.#untilSending(replica);
      this.#world.count('pause');
      this.#world.note(replica.process.name, 'paused');
      replica.process.pause();
      await this.#world.sleep(lastsMs);
      this.#world.note(replica.process.name, 'continues');
      replica.process.resume();
    }
  }

  /** Until it has sent a status that has not arrived, or made a call for a pod. */
  async #untilSending({ process }: ReplicaProcess): Promise<void> {
    const { network } = this.#cluster;
    for (let tries = 0; tries < maxSendingTries; tries++) {
      const isSending = [
        ...network.calls.slice(-10).filter(({ method, path }) => method === 'PATCH' && path.endsWith('/status')),
        ...this.#cloud.calls.slice(-10).filter(({ uid }) => uid !== undefined),
      ].some(
        (call) => call.process === process && call.processedMs === undefined && call.sentMs > this.#world.nowMs - 20,
      );
      if (isSending) return;
      await this.#world.sleep(2);
    }
  }

  /** One replica does not reach the API server, or the cloud, or both. */
  async #partitions(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(5_000, 25_000));
      const lastsMs = random.integer(100, random.chance(0.5) ? 40_000 : 4_000);
      const index = random.integer(0, 10);
      const from = random.pick(['server', 'cloud', 'both']);
      if (!this.#isDisturbed) return;
      const replica = this.#replicas[index % this.#replicas.length];
      if (replica === undefined || !this.#world.happens('partition of a replica')) continue;
      this.#world.count(`partition from ${from}`);
      const { process } = replica;
      this.#world.note(process.name, 'cut off from', from);
      if (from !== 'cloud') {
        this.#cluster.network.cutOff.add(process);
        for (const stream of this.#cluster.network.streams) if (stream.process === process) stream.stall();
      }
      if (from !== 'server') this.#cloud.cutOff.add(process);
      await this.#world.sleep(lastsMs);
      this.#cluster.network.cutOff.delete(process);
      this.#cloud.cutOff.delete(process);
      this.#world.note(process.name, 'connected');
    }
  }

  /** A replica reads the Leases, but cannot renew its own. */
  async #lostRenewals(random: Random): Promise<void> {
    const { leaseDurationSeconds = 0 } = this.#options;
    for (;;) {
      await this.#world.sleep(random.integer(3_000, 20_000));
      const lastsMs = random.integer(500, 2_000) * leaseDurationSeconds;
      const index = random.integer(0, 10);
      if (!this.#isDisturbed) return;
      const replica = this.#replicas[index % this.#replicas.length];
      if (replica === undefined || !this.#world.happens('renewals are lost')) continue;
      this.#world.count('renewals lost');
      const { process } = replica;
      this.#world.note(process.name, 'renewals are lost', lastsMs);
      this.#cluster.network.isLost = (call) => call.process === process && isMemberLease(call.body);
      await this.#world.sleep(lastsMs);
      this.#cluster.network.isLost = undefined;
    }
  }

  async #clockJumps(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(4_000, 20_000));
      const offsetMs = random.integer(-maxWallOffsetMs, maxWallOffsetMs);
      const index = random.integer(0, 10);
      if (!this.#isDisturbed) return;
      const replica = this.#replicas[index % this.#replicas.length];
      if (replica === undefined || !this.#world.happens('clock jump')) continue;
      this.#world.count('clock jump');
      replica.process.wallOffsetMs = offsetMs;
    }
  }

  /** Nodes are removed and added, in each replica at another time. */
  async #nodes(random: Random): Promise<void> {
    for (;;) {
      await this.#world.sleep(random.integer(5_000, 30_000));
      const nodeName = random.pick(this.#nodeNames);
      const awayMs = random.integer(0, random.chance(0.5) ? 30_000 : 500);
      const index = random.integer(0, 10);
      const ofAll = random.chance(0.5);
      if (!this.#isDisturbed) return;
      if (this.#replicas.length === 0 || !this.#world.happens('a node is removed')) continue;
      this.#world.count('node removed');
      const chosen = ofAll ? [...this.#replicas] : [this.#replicas[index % this.#replicas.length]!];
      const removed: Promise<void>[] = [];
      for (const replica of chosen) {
        if (replica.isStopped || !replica.process.isAlive) continue;
        this.#world.note(replica.process.name, 'removes', nodeName);
        removed.push(replica.nodes.remove(nodeName, { drain: random.chance(0.5), deadlineMs: 2_000 }));
        await this.#world.sleep(random.integer(0, 1_000));
      }
      await Promise.race([Promise.all(removed), this.#world.sleep(60_000)]);
      await this.#world.sleep(awayMs);
      for (const replica of chosen) {
        this.#addNode(replica, nodeName);
        await this.#world.sleep(random.integer(0, 1_000));
      }
    }
  }

  #addNode(replica: ReplicaProcess, nodeName: string): void {
    if (replica.isStopped || !replica.process.isAlive) return;
    try {
      replica.add(nodeName);
      this.#world.note(replica.process.name, 'adds', nodeName);
    } catch (error) {
      if ((error as { readonly path?: string }).path !== 'nodeName') throw error;
    }
  }

  /** Administrators and controllers change what nodes and pods need. */
  async #admin(random: Random): Promise<void> {
    const { configMaps, secrets, nodes } = this.#cluster.server;
    for (let n = 1; ; n++) {
      await this.#world.sleep(random.integer(1_000, 10_000));
      const what = random.weighted({ config: 4, secret: 2, 'no secret': 2, node: 1, taint: 1 });
      const nodeName = random.pick(this.#nodeNames);
      if (!this.#isDisturbed) break;
      if (!this.#world.happens(`admin: ${what}`)) continue;
      const deeds: Readonly<Record<typeof what, () => unknown>> = {
        config: () => configMaps.patch(namespace, 'config', { data: { key: `a${n}` } }),
        secret: () => secrets.create({ metadata: { name: 'secret' }, data: { key: 'Yg==' } }),
        'no secret': () => secrets.delete(namespace, 'secret'),
        node: () => nodes.delete(nodeName),
        taint: () => nodes.patch(nodeName, { spec: { unschedulable: n % 2 === 0 } }),
      };
      if (this.#cluster.attempt(() => void deeds[what]())) this.#world.count(`admin: ${what}`);
    }
    this.#cluster.attempt(() => void secrets.create({ metadata: { name: 'secret' }, data: { key: 'YQ==' } }));
  }

  /** Clients of the kubelet's API, and those who read the inspection. */
  async #clients(random: Random): Promise<void> {
    while (this.#isDisturbed) {
      await this.#world.sleep(random.integer(2_000, 10_000));
      const index = random.integer(0, 10);
      const replica = this.#replicas[index % this.#replicas.length];
      if (replica === undefined || replica.isStopped || replica.process.isPaused) continue;
      readPages(replica.nodes, replica.process.clock.now());
      await askKubelet(replica.nodes, random);
    }
  }

  /** Somebody deletes Leases of replicas, or creates some that no replica has. */
  async #leases(random: Random): Promise<void> {
    const { server, network } = this.#cluster;
    const admin = network.transport(new SimulatedProcess(this.#world, 'admin'), server.token);
    const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
    for (let n = 1; ; n++) {
      await this.#world.sleep(random.integer(10_000, 40_000));
      const nodeName = random.pick(this.#nodeNames);
      const index = random.integer(0, 10);
      const what = random.pick(['node', 'member', 'stranger', 'nonsense']);
      if (!this.#isDisturbed) return;
      const replica = this.#replicas[index % this.#replicas.length];
      if (replica === undefined || !this.#world.happens(`a Lease: ${what}`)) continue;
      this.#world.count(`Lease: ${what}`);
      const { replicas } = replica.nodes.inspect();
      const labels = { 'kubelet-status-manager/replicas': 'virtual-nodes' };
      const create = (name: string, spec: object): Promise<unknown> =>
        admin.request('POST', path, { body: { metadata: { name: `virtual-nodes.${name}`, labels }, spec } });
      const deeds: Readonly<Record<string, () => Promise<unknown>>> = {
        node: () => admin.request('DELETE', `${path}/virtual-nodes.node.${nodeName}`),
        member: () => admin.request('DELETE', `${path}/virtual-nodes.member.${replicas?.identity}`),
        stranger: () => create(`member.stranger-${n}`, { holderIdentity: `stranger-${n}`, leaseDurationSeconds: 5 }),
        nonsense: () => create(`node.vn-${90 + n}`, { holderIdentity: 'nobody', leaseDurationSeconds: 1 }),
      };
      await Promise.race([deeds[what]!().catch(() => {}), this.#world.sleep(20_000)]);
    }
  }

  // Users

  #makePod(name: string, random: Random): Json {
    const probes = this.#cloud.kind.probes ? random.fork('probes') : undefined;
    const containers = Array.from({ length: random.integer(1, 3) }, (_, i) => ({
      name: `c${i}`,
      image: 'i:1',
      ...(probes !== undefined && makeProbes(probes)),
      ...(i === 0 &&
        random.chance(0.3) && { env: [{ name: 'KEY', valueFrom: { secretKeyRef: { name: 'secret', key: 'key' } } }] }),
    }));
    const volumes = random.weighted({ none: 5, config: 2, token: 2 });
    const sources = {
      none: undefined,
      config: [{ name: 'v', configMap: { name: 'config' } }],
      token: [
        {
          name: 'v',
          projected: {
            sources: [
              { serviceAccountToken: { path: 'token', expirationSeconds: 600 } },
              { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
            ],
          },
        },
      ],
    };
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name,
        namespace,
        ...(random.chance(0.2) && { finalizers: [finalizer] }),
        ...(random.chance(0.05) && { annotations: { 'simulation/refused': 'true' } }),
      },
      spec: {
        nodeName: random.pick(this.#nodeNames),
        automountServiceAccountToken: false,
        containers,
        ...(random.chance(0.2) && { initContainers: [{ name: 'init', image: 'i:1' }] }),
        ...(sources[volumes] !== undefined && { volumes: sources[volumes] }),
        restartPolicy: random.pick(['Always', 'Always', 'OnFailure', 'Never']),
        terminationGracePeriodSeconds: random.pick([1, 5, 30]),
        ...(random.chance(0.1) && { activeDeadlineSeconds: random.integer(5, 40) }),
        tolerations: [{ operator: 'Exists' }],
      },
    };
  }

  /** Pods that live long enough to be started again several times. */
  async #longLived(name: string, random: Random): Promise<void> {
    const { pods } = this.#cluster.server;
    for (let round = 1; this.#isDisturbed; round++) {
      const ofRound = random.fork(String(round));
      const pod = this.#makePod(name, ofRound);
      const isCreated = this.#world.happens(`${name}: create`) && this.#cluster.attempt(() => void pods.create(pod));
      for (let changes = ofRound.integer(1, 4); changes > 0; changes--) {
        await this.#world.sleep(ofRound.integer(5_000, 40_000));
        if (!this.#isDisturbed) return;
        if (isCreated && ofRound.chance(0.3)) this.#changePod(name, ofRound);
      }
      const deletion = ofRound.pick([{}, {}, { gracePeriodSeconds: 0 }]);
      if (!this.#world.happens(`${name}: delete`)) continue;
      this.#cluster.attempt(() => pods.delete(namespace, name, deletion));
      const patch = { metadata: { finalizers: null } };
      for (; this.#isDisturbed && this.#cluster.pods.has(name); await this.#world.sleep(1_000))
        if (ofRound.chance(0.1)) this.#cluster.attempt(() => void pods.patch(namespace, name, patch));
    }
  }

  #changePod(name: string, random: Random): void {
    const image = `i:${random.integer(1, 5)}`;
    const { pods } = this.#cluster.server;
    if (!this.#world.happens(`${name}: image`)) return;
    const change = { spec: { containers: [{ name: 'c0', image }] } };
    if (this.#cluster.attempt(() => void pods.patch(namespace, name, change))) this.#world.count('image');
  }

  // Invariants

  #onLog({ process }: ReplicaProcess, level: 'warn' | 'error', message: string, fields: object): void {
    if (level !== 'error' || !process.isAlive) return;
    const { err, reason } = fields as { readonly err?: unknown; readonly reason?: unknown };
    const why = err instanceof Error ? err.stack : JSON.stringify(reason ?? fields);
    // As the kubelet, which tries again.
    if (message === 'Failed to sync pod; it will be retried' || /simulated/.test(String(why))) return;
    // A list that lags behind a notification shows a container as running that has ended.
    const { lagMs, notifies } = this.#cloud.kind;
    const isAborted = message === 'Status update on pod aborted';
    if (isAborted && ((lagMs > 0 && notifies) || this.#runsAfterItsEnd(fields))) return;
    this.#world.violate('no error is logged', `${process.name}: ${message} ${why ?? ''}`);
  }

  /**
   * Whether the cloud has created a pod in the same run whose container had been shown as ended: because it had lost the pod, or
   * late, after it was deleted.
   */
  #runsAfterItsEnd({ podUID, container }: { readonly podUID?: string; readonly container?: string }): boolean {
    const run = this.#cloud.cloudPods.runs.get(podUID ?? '')?.at(-1);
    return this.#cluster.history.some(
      ({ pod, atMs }) =>
        run !== undefined &&
        pod.metadata.uid === podUID &&
        atMs < run.fromMs &&
        pod.status?.containerStatuses?.some(
          ({ name, state, restartCount }: Json) =>
            name === container && state.terminated != null && restartCount >= run.restartCount,
        ),
    );
  }

  /** When all works, each node gets one owner. */
  async #checkOwners(): Promise<void> {
    const { leaseDurationSeconds = 0, drainTimeoutMs } = this.#options;
    const withinMs = takeoverMs + drainTimeoutMs + 3_000 * leaseDurationSeconds;
    await this.#world.until('each node is owned soon after all works', withinMs, () => {
      for (const nodeName of this.#nodeNames) {
        const owners = this.#ownersOf(nodeName);
        if (owners.length !== 1) return `${nodeName} is owned by ${owners.length} replicas`;
      }
      return undefined;
    });
  }

  /** No replica takes a node while another one that runs believes that it has it. */
  async #watchOwners(): Promise<void> {
    let before = new Map<string, string>();
    let late = new Set<SimulatedProcess>();
    for (; this.#isDisturbed; await this.#world.sleep(ownersCheckMs)) {
      const running = this.#replicas.filter(({ process }) => !process.isPaused);
      const lateNow = running.filter((replica) => this.#isLate(replica)).map(({ process }) => process);
      for (const process of lateNow)
        if (late.has(process))
          this.#world.violate('an owner has renewed its Lease, and listed all, in time', process.name);
      late = new Set(lateNow);
      const owners = new Map<string, string[]>();
      for (const { owned, process } of running)
        for (const nodeName of owned) owners.set(nodeName, [...(owners.get(nodeName) ?? []), process.name]);
      const several = [...owners]
        .filter(([, names]) => names.length > 1)
        .map(([name, of]) => [name, of.join()] as const);
      for (const [nodeName, names] of several)
        if (before.get(nodeName) === names && !this.#mayHaveTwoOwners(nodeName))
          this.#world.violate('a node has one owner', `${nodeName}: ${names}`);
      before = new Map(several);
    }
  }

  /** Whether a replica uses nodes although it has not done in time what keeps them. */
  #isLate({ owned, process }: ReplicaProcess): boolean {
    return owned.length > 0 && this.#world.nowMs - this.#served.sentMs(process) > this.#membershipMs;
  }

  /** Others may not have seen a new Lease before it was deleted; its owner notices that by its next list. */
  #mayHaveTwoOwners(nodeName: string): boolean {
    const deletion = this.#served.deletionOf(nodeName);
    if (deletion === undefined || deletion.ageMs > 1_000 * this.#options.leaseDurationSeconds! * margin) return false;
    return this.#world.nowMs < deletion.atMs + this.#membershipMs;
  }

  /** How long a replica may use its nodes without having renewed its Lease, and listed all. */
  get #membershipMs(): number {
    return 1_000 * this.#options.leaseDurationSeconds! * renewDeadline * slowestClock;
  }

  /** A pod is gone, and no worker has it any more. */
  #isOver(process: SimulatedProcess, uid: string): boolean {
    const replica = this.#replicas.find((one) => one.process === process);
    if (replica === undefined || !this.#cluster.removedMs.has(uid)) return false;
    return !replica.nodes.inspect().nodes.some(({ podWorkers }) => podWorkers.some((worker) => worker.uid === uid));
  }

  /** A pod that is to run is not deleted in the cloud. */
  #checkDeletion(process: SimulatedProcess, uid: string): void {
    const pod = [...this.#cluster.pods.values()].find(({ metadata }) => metadata.uid === uid);
    if (pod === undefined || pod.metadata.deletionTimestamp != null || isTerminal(pod.status?.phase)) return;
    // It has ended on its node, which the API server may not have been told.
    const { nodes } = this.#replicas.find((replica) => replica.process === process) ?? {};
    const node = nodes?.node(pod.spec.nodeName);
    const cached = node?.statusManager.getPodStatus(uid);
    if (isTerminal(cached?.phase) || pod.spec.activeDeadlineSeconds !== undefined || node === undefined) return;
    this.#world.violate(
      'a pod that is to run is not deleted in the cloud',
      `${pod.metadata.name} ${uid} by ${process.name}`,
    );
  }

  #ownersOf(nodeName: string): ReplicaProcess[] {
    return this.#replicas.filter(({ owned }) => owned.includes(nodeName));
  }

  /** How the API server and the cloud differ from each other, and from what they should be. */
  #difference(): string | undefined {
    const { pods: inCloud } = this.#cloud.cloudPods;
    for (const { metadata, spec, status = {} } of this.#cluster.pods.values()) {
      const { uid, name, deletionTimestamp, finalizers = [] } = metadata;
      const [owner] = this.#ownersOf(spec.nodeName);
      const node = owner?.nodes.node(spec.nodeName);
      if (node === undefined) return `${spec.nodeName} of ${name} has no owner`;
      if (deletionTimestamp != null && (finalizers?.length ?? 0) === 0) return `${name} ${uid} still exists`;
      const cloudPod = inCloud.get(uid);
      const reported = cloudPod?.reported;
      const where = `${name} ${uid}: ${JSON.stringify({ status, reported })}`;
      if (isTerminal(status.phase)) {
        if (reported !== undefined && reported.state !== 'stopped') return `${where} has ended, and runs in the cloud`;
        continue;
      }
      if (deletionTimestamp != null) return `${where} is deleted, and has not ended`;
      if (reported === undefined) return `${where} is not in the cloud`;
      if (reported.state !== 'running') return `${where} does not run`;
      if (versionOf(status.message) !== cloudPod!.version) return `${where} is at v${cloudPod!.version}`;
      const unlike = this.#unlikeItsProbes(node, spec, uid, status);
      if (unlike !== undefined) return `${where}: ${unlike}`;
      const { restartCount = 0 } = reported;
      if (
        status.containerStatuses.some(
          (container: Json) => container.state.running && container.restartCount < restartCount,
        )
      )
        return `${where}: it has been started again ${restartCount} times`;
      const cached = node.statusManager.getPodStatus(uid);
      const difference = cached === undefined ? 'nothing is cached' : differenceTo(cached, status);
      if (difference !== undefined) return `${where}: ${difference}`;
      const { updates, reportsHash } = this.#cloud.kind;
      if (!updates || !reportsHash || this.#cloud.refusedForGood.has(uid)) continue;
      const pod = this.#cluster.pods.get(name)!;
      if (reported.podHash !== podHash(pod as never)) return `${where}: the cloud has another version of its spec`;
    }
    for (const { reported } of inCloud.values()) {
      const exists = this.#cluster.pods.get(reported.name)?.metadata.uid === reported.uid;
      if (!exists && reported.state !== 'stopped') return `${reported.name} ${reported.uid} is in the cloud only`;
    }
    return undefined;
  }

  /** Whether a status that the API server shows differs from what the probes of a pod must have shown by now. */
  #unlikeItsProbes(node: VirtualNode, spec: Json, uid: string, { containerStatuses }: Json): string | undefined {
    const { cloudPods, kind, probes } = this.#cloud;
    if (!kind.probes) return undefined;
    for (const status of containerStatuses ?? []) {
      const { name, state, started, ready } = status;
      const run = cloudPods.runOf(uid, name);
      if (run === undefined || state.running === undefined) continue;
      if (this.#probeChecks.mustKill(node, uid, status) || probes.isUnhealthy(run, 'liveness'))
        return `${name} is to be killed`;
      if (started !== true) return `${name} has not started`;
      const isProbed = spec.containers.find((container: Json) => container.name === name)?.readinessProbe != null;
      if (isProbed && ready === probes.isUnhealthy(run, 'readiness')) return `${name} is ${ready ? '' : 'not '}ready`;
    }
    return undefined;
  }

  /** While all else works, some containers become unready, and ready again, and others are killed and run again. */
  async #checkProbes(random: Random): Promise<void> {
    const { cloudPods, probes } = this.#cloud;
    const unready: string[] = [];
    for (const { metadata, spec } of this.#cluster.pods.values()) {
      for (const { name, readinessProbe, livenessProbe } of spec.containers) {
        const run = cloudPods.runOf(metadata.uid, name);
        const health = random.pick(['fails', 'hangs'] as const);
        const types = { readiness: random.chance(0.7), liveness: random.chance(0.3) };
        if (run === undefined || !this.#world.happens('a container is unhealthy')) continue;
        if (readinessProbe != null && types.readiness) {
          probes.setUnhealthy(run, 'readiness', health);
          unready.push(run);
        }
        if (livenessProbe != null && types.liveness) probes.setUnhealthy(run, 'liveness', health);
      }
    }
    const follow = (): Promise<boolean> =>
      this.#world.until('the API server shows what the probes have shown', probedMs, () => {
        for (const { metadata, spec, status = {} } of this.#cluster.pods.values()) {
          const node = this.#ownersOf(spec.nodeName)[0]?.nodes.node(spec.nodeName);
          const unlike = node && this.#unlikeItsProbes(node, spec, metadata.uid, status);
          if (unlike !== undefined) return `${metadata.name} ${metadata.uid}: ${unlike}: ${JSON.stringify(status)}`;
        }
        return undefined;
      });
    await follow();
    for (const run of unready) probes.setUnhealthy(run, 'readiness', undefined);
    await follow();
    await this.#world.until('everything settles', settleMs, () => this.#difference(), 1_000);
  }

  async #checkQuiet(): Promise<void> {
    const isAnyStalled = [...this.#cluster.network.streams].some(({ isStalled }) => isStalled);
    await this.#world.sleep(isAnyStalled ? stalledMs : 60_000);
    // A node that another replica did not take in time is offered to it again after ten times the duration of a Lease.
    for (let tries = 0; tries < 6; tries++) {
      const noise = await this.#noise();
      if (noise === undefined) return this.#checkNothingLeft();
      if (tries === 5) this.#world.violate('nothing is sent when all is quiet', noise);
    }
  }

  /** What is sent in a minute, and should not be. */
  async #noise(): Promise<string | undefined> {
    const { calls } = this.#cluster.network;
    const epochs = (): string =>
      JSON.stringify(this.#replicas.map(({ nodes, owned }) => owned.map((name) => nodes.node(name)?.epoch)));
    const before = { requests: calls.length, cloudCalls: this.#cloud.calls.length, epochs: epochs() };
    await this.#world.sleep(60_000);
    if (epochs() !== before.epochs) return 'nodes change their owners';
    const isExpected = ({ path, method }: Call): boolean =>
      path.includes('/leases') || /^\/api\/v1\/nodes\/[^/]+\/status$/.test(path) || method === 'GET';
    const noise = [
      ...calls
        .slice(before.requests)
        .filter((call) => !isExpected(call))
        .map(({ process, method, path, body }) => `${process.name} ${method} ${path} ${JSON.stringify(body ?? '')}`),
      ...this.#cloud.calls
        .slice(before.cloudCalls)
        .filter(({ method }) => method !== 'listPods')
        .map(({ process, method, uid }) => `${process.name} ${method} ${uid}`),
    ];
    return noise.length === 0 ? undefined : noise.slice(0, 3).join('; ');
  }

  #checkNothingLeft(): void {
    const untilMs = this.#world.nowMs - this.#options.callTimeoutMs * slowestClock - ownersCheckMs;
    for (const { invariant, details } of checkDeadlines(this.#cloud.calls, untilMs))
      this.#world.violate(invariant, details);
    const { removedMs } = this.#cluster;
    const maxListeners = 10 + 2 * this.#nodeNames.length + 2 * this.#world.size.pods;
    const { most } = this.#listeners;
    this.#world.count(`listeners of a signal: up to ${Math.ceil(most / 10) * 10}`);
    if (most > maxListeners)
      this.#world.violate('nothing is left when all is quiet', `${most} listeners of one signal, of ${maxListeners}`);
    for (const { nodes, process } of this.#replicas) {
      const left: string[] = [];
      const isGone = (uid: string): boolean =>
        (removedMs.get(uid) ?? Number.POSITIVE_INFINITY) < this.#world.nowMs - 60_000;
      const { nodes: inspected, callsInProgress } = nodes.inspect();
      for (const { podWorkers, statusManager } of inspected) {
        left.push(...podWorkers.filter(({ uid }) => isGone(uid)).map(({ uid }) => `worker of ${uid}`));
        left.push(
          ...statusManager.pods.filter(({ podUID }) => isGone(podUID)).map(({ podUID }) => `status of ${podUID}`),
        );
        for (const { podUID, unsentSince, lastError } of statusManager.pods) {
          if (unsentSince !== undefined) left.push(`unsent status of ${podUID}`);
          if (lastError !== undefined) left.push(`back-off of ${podUID}: ${lastError}`);
        }
      }
      if (callsInProgress > 0) left.push(`${callsInProgress} calls`);
      if (left.length > 0)
        this.#world.violate('nothing is left when all is quiet', `${process.name}: ${left.join('; ')}`);
    }
  }

  #checkHistory(): void {
    const { history, network, server } = this.#cluster;
    const nodeOf = (_name: string, uid: string | undefined): string | undefined => this.#nodeOf.get(uid ?? '');
    const { lagMs, restarts } = this.#cloud.kind;
    const violations = [
      ...checkTerminalIsFinal(history),
      ...checkCreations(this.#cloud.calls, history, {
        lost: this.#cloud.cloudPods.lost,
        refused: this.#cloud.refusedForGood,
      }),
      ...checkEpochs(this.#cloud.calls),
      ...checkTurns(this.#cloud.calls, this.#options.callTimeoutMs),
      ...checkDeletes(network.calls, this.#cloud.calls, this.#cloud.cloudPods.runs),
      ...checkWriters(network.served, nodeOf),
      ...checkLost(history, this.#cloud.calls, this.#cloud.cloudPods.runs),
      ...(restarts === 'node' ? checkRestartCounts(history, this.#cloud.cloudPods.runs) : []),
      // What a list shows that is behind is older than what something else has shown.
      ...(lagMs === 0 ? checkVersions(history) : []),
      ...this.#checkTokens(),
    ];
    for (const { invariant, details } of violations) this.#world.violate(invariant, details);
    const { requests, watches } = server.faults.inFlight.counts;
    if (requests + watches + network.streams.size > 0)
      this.#world.violate('stop() leaves nothing', `${requests} requests, ${watches} watches`);
    if (this.#cloud.listeners > 0) this.#world.violate('stop() leaves nothing', `${this.#cloud.listeners} listeners`);
  }

  /** No token is asked for after the end of a pod. */
  #checkTokens() {
    return this.#cluster.network.calls
      .filter(({ path }) => path.endsWith('/token'))
      .flatMap(({ process, body, sentMs }) => {
        const { boundObjectRef } = ((body ?? {}) as { spec?: { boundObjectRef?: { uid?: string } } }).spec ?? {};
        const uid = boundObjectRef?.uid ?? uidOf(body) ?? '';
        const removedMs = this.#cluster.removedMs.get(uid) ?? Number.POSITIVE_INFINITY;
        if (sentMs <= removedMs + noticedMs) return [];
        return [{ invariant: 'no token after the end of a pod', details: `${uid} by ${process.name} at ${sentMs}` }];
      });
  }
}

function makeProbes(random: Random): Json {
  const types = probeTypes.filter(() => random.chance(0.5));
  const probe = (type: (typeof types)[number]): Json => {
    const timeoutSeconds = random.integer(1, 3);
    return {
      exec: { command: probeCommand(type, timeoutSeconds) },
      timeoutSeconds,
      periodSeconds: random.integer(1, 5),
      failureThreshold: random.integer(1, 3),
      ...(type === 'readiness' && { successThreshold: random.integer(1, 2) }),
      ...(random.chance(0.3) && { initialDelaySeconds: random.integer(1, 5) }),
      ...(type !== 'readiness' && random.chance(0.3) && { terminationGracePeriodSeconds: random.integer(1, 5) }),
    };
  };
  return Object.fromEntries(types.map((type) => [`${type}Probe`, probe(type)]));
}

/** By then, a process has noticed that a pod is gone, unless its watch is stalled. */
const noticedMs = 90_000;
