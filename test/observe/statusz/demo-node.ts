import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Pod, type PodStatusInput, StatusManager, type StatusManagerOptions } from 'kubelet-status-manager';
import { createStatusPage, type StatusPage, type StatusPageOptions } from 'kubelet-status-manager/statusz';
import { BasicPodManager } from '../../../src/kube/pod-manager/basic-pod-manager.ts';
import { fault, FakeClock, FakePodClient, recordingLogger, settle } from '../../../src/testing/index.ts';

const always = Number.POSITIVE_INFINITY;
const namespaces = ['default', 'monitoring', 'payments', 'shop'] as const;
const apps = ['api', 'cache', 'checkout', 'exporter', 'frontend', 'ledger', 'search', 'worker'] as const;

export interface PodState {
  readonly phase?: string;
  readonly isReady?: boolean;
  readonly reason?: string;
  readonly message?: string;
}

/** A node with a status page; its time stands still until a test moves it. */
export class DemoNode {
  readonly clock = new FakeClock('2026-11-22T11:58:00Z');
  readonly client = new FakePodClient([], { clock: this.clock });
  readonly podManager = new BasicPodManager();
  readonly logger = recordingLogger();
  readonly manager: StatusManager;
  readonly page: StatusPage;
  /** UIDs of pods with containers that could be running. */
  readonly running = new Set<string>();

  constructor(options: StatusPageOptions = {}, managerOptions: Partial<StatusManagerOptions> = {}) {
    const { clock, logger } = this;
    this.manager = new StatusManager({
      client: this.client,
      podManager: this.podManager,
      podCouldHaveRunningContainers: (pod) => this.running.has(pod.metadata!.uid!),
      clock,
      logger,
      random: () => 0,
      ...managerOptions,
    });
    this.page = createStatusPage(this.manager, { clock, logger, nodeName: 'worker-1', ...options });
    this.client.subscribe(({ type, pod }) => {
      if (type === 'DELETED') this.podManager.removePod(pod);
      else this.podManager.updatePod(pod);
    });
  }

  add(name: string, { namespace = 'default', ...metadata }: NonNullable<Pod['metadata']> = {}): Pod {
    const pod: Pod = {
      metadata: { uid: `uid-${name}`, name, namespace, ...metadata },
      spec: { containers: [{ name: 'app' }] },
    };
    this.podManager.addPod(pod);
    this.client.put(pod);
    return pod;
  }

  set(pod: Pod, state: PodState = {}): void {
    this.manager.setPodStatus(pod, statusOf(pod, state, new Date(this.clock.now())));
  }

  /** Time passes, and everything that is due is done. */
  async pass(seconds: number): Promise<void> {
    await this.clock.advanceAsync(seconds * 1_000);
    await this.settled();
  }

  settled(): Promise<void> {
    return settle(this.clock, this.client, this.manager);
  }
}

function statusOf(pod: Pod, state: PodState, now: Date): PodStatusInput {
  const { phase = 'Running', isReady = phase === 'Running', reason = '', message = '' } = state;
  const hasEnded = phase === 'Succeeded' || phase === 'Failed';
  const ready = {
    status: isReady ? 'True' : 'False',
    reason: isReady ? '' : hasEnded ? 'PodCompleted' : 'ContainersNotReady',
    message: isReady || hasEnded ? '' : 'containers with unready status: [app]',
  };
  return {
    phase,
    reason,
    message,
    qosClass: 'BestEffort',
    podIPs: [{ ip: '10.0.0.7' }],
    conditions: [
      { type: 'PodReadyToStartContainers', status: hasEnded ? 'False' : 'True' },
      { type: 'Initialized', status: 'True' },
      { type: 'Ready', ...ready },
      { type: 'ContainersReady', ...ready },
      { type: 'PodScheduled', status: 'True' },
    ].map((condition) => ({ lastProbeTime: null, lastTransitionTime: now, ...condition })),
    containerStatuses: [
      {
        name: 'app',
        image: 'app:1',
        imageID: 'app:1',
        restartCount: 0,
        containerID: `demo://${pod.metadata!.uid}`,
        ready: isReady,
        started: !hasEnded,
        state: hasEnded
          ? { terminated: { exitCode: phase === 'Failed' ? 1 : 0, startedAt: now, finishedAt: now } }
          : { running: { startedAt: now } },
      },
    ],
  };
}

/** Two thousand pods on one node; a dozen of them have what an operator looks for. */
export async function fillNode(node: DemoNode, count = 2_000): Promise<void> {
  node.manager.start();
  const pods = Array.from({ length: count }, (_, i) => {
    const app = apps[i % apps.length]!;
    const suffix = (i * 7919 + 4099).toString(36).padStart(4, '0');
    return node.add(`${app}-6c9d7f5b8-${suffix}`, { namespace: namespaces[(i >> 3) % namespaces.length]! });
  });
  for (const [i, pod] of pods.entries()) {
    if (i % 40 === 7) node.set(pod, { phase: 'Succeeded' });
    else if (i % 97 === 3) node.set(pod, { phase: 'Pending', isReady: false });
    else node.set(pod, { isReady: i % 53 !== 1 });
  }
  await node.settled();
  await node.pass(75);
  const pod = (i: number): Pod => pods[i]!;
  const nameOf = (i: number): string => pod(i).metadata!.name!;

  // One is forbidden, one is refused, one hangs, one is held back, one keeps a finalizer.
  node.client.faults.next(
    { verb: 'patch', name: nameOf(2), count: always },
    fault.status(403, {
      message: `pods "${nameOf(2)}" is forbidden: User "system:node:worker-1" cannot patch resource "pods/status"`,
    }),
  );
  node.client.faults.next(
    { verb: 'patch', name: nameOf(10), count: always },
    fault.status(422, { message: 'Pod is invalid: status.podIPs[0]: Invalid value: "10.0.0.7"' }),
  );
  node.set(pod(2), { isReady: false });
  node.set(pod(10), { isReady: false });
  node.running.add(pod(12).metadata!.uid!);
  node.set(pod(12), { phase: 'Succeeded' });
  const doomed = node.add('ledger-migration', {
    namespace: 'payments',
    finalizers: ['example.com/backup'],
    deletionTimestamp: '2026-11-22T11:59:00Z' as never,
  });
  node.set(doomed);
  node.manager.terminatePod(doomed);
  await node.pass(41);
  node.client.faults.next({ verb: 'patch', name: nameOf(5), count: always }, fault.hang());
  node.set(pod(5), { isReady: false });
  node.set(pod(20), { isReady: false });
  await node.pass(4);
  node.set(pod(20), { isReady: true });
  await node.pass(3);
}

/** A server for the page, on a port of this machine. */
export async function serve(
  page: StatusPage,
): Promise<{ readonly url: string; readonly server: Server } & AsyncDisposable> {
  const server = createServer(page);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    server,
    async [Symbol.asyncDispose]() {
      page.close();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
