import { describe, expect, it } from 'vitest';
import { ConnectionQueue } from '../../../src/kube/http/connection-queue.ts';
import type { RequestOptions } from '../../../src/kube/client/pod-client.ts';
import { sleep } from '../../../src/shared/clock.ts';
import { StatusManager } from '../../../src/status-manager/status-manager.ts';
import { BasicPodManager } from '../../../src/kube/pod-manager/basic-pod-manager.ts';
import { RequestLimiter } from '../../../src/status-manager/sync/request-limiter.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { FakePodClient } from '../../../src/testing/fake-pod-client.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';

const second = 1_000;
const responseMs = 1_500;

/** An API server whose every response is late, behind a client with few connections. */
class SlowClient extends FakePodClient {
  readonly #queue: ConnectionQueue;
  sent = 0;
  mostInFlight = 0;
  timeouts = 0;

  constructor(connections: number, clock: FakeClock, logger: ReturnType<typeof recordingLogger>) {
    super();
    this.#queue = new ConnectionQueue({ connections, waitTimeoutMs: 60_000, clock, logger });
    this.react(
      {},
      async (_action, signal) => {
        this.mostInFlight = Math.max(this.mostInFlight, ++this.sent);
        await sleep(clock, responseMs, signal);
        this.sent--;
        if (signal.aborted) this.timeouts++;
        signal.throwIfAborted();
      },
      Number.POSITIVE_INFINITY,
    );
  }

  override getPod(...[pod, options]: Parameters<FakePodClient['getPod']>): Promise<Pod> {
    return this.#send(options, () => super.getPod(pod, options));
  }

  override patchPodStatus(...[pod, patch, options]: Parameters<FakePodClient['patchPodStatus']>): Promise<Pod> {
    return this.#send(options, () => super.patchPodStatus(pod, patch, options));
  }

  async #send(options: RequestOptions, send: () => Promise<Pod>): Promise<Pod> {
    await this.#queue.enter(options);
    try {
      return await send();
    } finally {
      this.#queue.leave();
    }
  }
}

describe('200 nodes of 20 pods on one client, every response 1.5 s late', () => {
  it.each([
    ['64 connections', false],
    ['a shared limiter, as for a CoreV1Api', true],
  ])(
    'with %s, all 4,000 statuses are written at the rate of the connections, in equal shares, and no request times out',
    async (_what, isLimited) => {
      const clock = new FakeClock();
      const logger = recordingLogger();
      const connections = 64;
      const client = new SlowClient(isLimited ? Number.POSITIVE_INFINITY : connections, clock, logger);
      const limiter = isLimited ? new RequestLimiter({ maxInFlight: connections, clock, logger }) : undefined;
      const managers = Array.from({ length: 200 }, (_, node) => {
        const podManager = new BasicPodManager();
        const manager = new StatusManager({
          client,
          limiter,
          podManager,
          podCouldHaveRunningContainers: () => false,
          clock,
          logger,
        });
        for (let i = 0; i < 20; i++) {
          const name = `n${node}-p${i}`;
          const pod = { metadata: { namespace: 'default', name, uid: name }, spec: { containers: [{ name: 'app' }] } };
          client.put(pod);
          podManager.addPod(pod);
          manager.setPodStatus(pod, { phase: 'Running' });
        }
        manager.start();
        return manager;
      });
      const written = (node: number): number =>
        Array.from(
          { length: 20 },
          (_, i) => client.pod('default', `n${node}-p${i}`)?.status?.phase === 'Running',
        ).filter(Boolean).length;

      // Each node renews its Lease every 10 s, over connections of their own.
      const heartbeats = new ConnectionQueue({ connections, waitTimeoutMs: 60_000, clock, logger });
      const leaseGaps: number[] = [];
      const stopped = new AbortController();
      const renewLease = async (): Promise<void> => {
        for (let renewedMs = clock.monotonicMs(); !stopped.signal.aborted; renewedMs = clock.monotonicMs()) {
          await heartbeats.enter({});
          await sleep(clock, responseMs, stopped.signal);
          heartbeats.leave();
          leaseGaps.push(clock.monotonicMs() - renewedMs);
          await sleep(clock, 10 * second - responseMs, stopped.signal);
        }
      };
      const renewals = managers.map(() => renewLease());

      // 8,000 requests over 64 connections take 187.5 s; half of them take half of that.
      await clock.advanceAsync(95 * second);
      const half = managers.map((_, node) => written(node));
      expect(half.reduce((sum, count) => sum + count)).toBeGreaterThan(1_900);
      expect(Math.max(...half) - Math.min(...half)).toBeLessThanOrEqual(4);
      await clock.advanceAsync(115 * second);
      expect(managers.every((_, node) => written(node) === 20)).toBe(true);
      expect([client.timeouts, client.mostInFlight]).toEqual([0, connections]);
      stopped.abort();
      await Promise.all(renewals);
      // At the start, all 200 renew theirs in the same moment.
      expect(Math.max(...leaseGaps)).toBeLessThan(20 * second);
      for (const manager of managers) await manager.stop();
      expect(clock.pendingTimers).toBe(0);
    },
    60_000,
  );
});
