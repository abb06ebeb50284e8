import { afterEach, describe, expect, it, vi } from 'vitest';
import { BasicPodManager, type Pod, StatusManager } from 'kubelet-status-manager';
import { createPodClient, type HTTPPodClient } from 'kubelet-status-manager/http';
import type { ManagerInspection } from '../../src/status-manager/inspection.ts';
import { settleWithin } from '../../src/testing/settle.ts';
import { APIServer, FakeClock, FakePodClient, fault, settle, silentLogger } from 'kubelet-status-manager/testing';

const podNamed = (name: string): object => ({
  metadata: { name },
  spec: { nodeName: 'node-a', containers: [{ name: 'c', image: 'i' }] },
});

describe('settle, with an APIServer', () => {
  let server: APIServer;
  let client: HTTPPodClient;
  let manager: StatusManager;
  let pods: Pod[];
  const clock = new FakeClock();

  async function start(count: number): Promise<void> {
    server = await APIServer.start({ clock });
    client = createPodClient(server.kubeconfig());
    pods = Array.from({ length: count }, (_, index) => server.pods.create(podNamed(`p-${index}`)));
    const podManager = new BasicPodManager();
    podManager.setPods(pods);
    const options = {
      client,
      podManager,
      podCouldHaveRunningContainers: () => false,
      clock,
      logger: silentLogger,
      random: () => 0,
    };
    manager = new StatusManager(options);
    manager.start();
  }

  const phases = (): string[] => server.pods.list().map(({ status }) => status?.phase ?? '');

  afterEach(async () => {
    vi.useRealTimers();
    await manager.stop();
    await client.transport.close();
    await server.close();
  });

  it('waits for HTTP requests that advanceAsync alone would time out', async () => {
    await start(20);
    for (const pod of pods) manager.setPodStatus(pod, { phase: 'Running' });
    await settle(clock, manager, server);
    expect(new Set(phases())).toEqual(new Set(['Running']));
    expect(manager.inspect().pods.every(({ sentVersion }) => sentVersion === 1)).toBe(true);

    for (const pod of pods) manager.setPodStatus(pod, { phase: 'Succeeded' });
    await clock.advanceAsync(120_000, () => settle(manager, server));
    expect(new Set(phases())).toEqual(new Set(['Succeeded']));
    expect(new Set(server.requests.map(({ status }) => status))).toEqual(new Set([200]));
  });

  it('works under fake timers', async () => {
    await start(1);
    manager.setPodStatus(pods[0]!, { phase: 'Running' });
    // Without setTimeout: undici keeps time by it.
    vi.useFakeTimers({ toFake: ['setImmediate', 'Date', 'performance', 'hrtime'] });
    await settle(clock, manager, server);
    expect(phases()).toEqual(['Running']);
  });

  it('does not wait for held requests', async () => {
    await start(2);
    server.faults.next({ verb: 'get', name: 'p-0' }, fault.hang());
    server.faults.next({ verb: 'get', name: 'p-1' }, fault.delay(5_000));
    for (const pod of pods) manager.setPodStatus(pod, { phase: 'Running' });
    await settle(clock, manager, server);
    expect(server.inFlight).toEqual({ requests: 2, held: 2, watches: 0 });
    await clock.advanceAsync(5_000, () => settle(clock, manager, server));
    expect(phases().toSorted()).toEqual(['Pending', 'Running']);
  });
});

describe('settle, without HTTP', () => {
  const pod: Pod = { metadata: { namespace: 'ns', name: 'p', uid: 'u' }, spec: { containers: [{ name: 'c' }] } };

  it('fires due timers, and the timers that they set', async () => {
    const clock = new FakeClock();
    const fired: string[] = [];
    clock.afterFunc(0, () => {
      fired.push('first');
      void Promise.resolve().then(() => clock.afterFunc(0, () => fired.push('second')));
    });
    clock.afterFunc(1, () => fired.push('not due'));
    await settle(clock);
    expect(fired).toEqual(['first', 'second']);
    expect(clock.monotonicMs()).toBe(0);
  });

  it('waits for a manager behind a FakePodClient', async () => {
    const client = new FakePodClient([pod]);
    const clock = new FakeClock();
    const manager = new StatusManager({
      client,
      podCouldHaveRunningContainers: () => false,
      clock,
      logger: silentLogger,
    });
    manager.start();
    manager.setPodStatus(pod, { phase: 'Running' });
    await settle(clock, manager, client);
    expect(client.pod('ns', 'p')?.status?.phase).toBe('Running');
    await manager.stop();
  });

  it.each([
    ['a node agent', (statusManager: ManagerInspection) => ({ statusManager })],
    ['virtual nodes', (statusManager: ManagerInspection) => ({ nodes: [{ statusManager }] })],
  ])('waits for the managers of %s', async (_, inspectionOf) => {
    const manager = new StatusManager({ podCouldHaveRunningContainers: () => false });
    let isWaiting = true;
    const owner = {
      inspect: () =>
        inspectionOf({ ...manager.inspect(), state: isWaiting ? 'running' : 'created', isWakeUpWaiting: true }),
    };
    await expect(settleWithin(1, [owner])).rejects.toThrow('a manager has not processed a new status yet');
    isWaiting = false;
    await settleWithin(1000, [owner]);
  });

  it('rejects at its deadline, and reports the unfinished parts', async () => {
    const server = { inFlight: { requests: 2, held: 1, watches: 0 } };
    await expect(settleWithin(1, [server])).rejects.toThrow('Not settled after 0.001 s: 1 request has no response');
    const inspection = new StatusManager({ podCouldHaveRunningContainers: () => false }).inspect();
    const manager = { inspect: () => ({ ...inspection, state: 'running', isWakeUpWaiting: true }) as const };
    await expect(settleWithin(1, [manager])).rejects.toThrow('a manager has not processed a new status yet');
  });
});
