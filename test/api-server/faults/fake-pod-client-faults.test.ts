import { describe, expect, it } from 'vitest';
import { BasicPodManager, type Pod, StatusManager } from 'kubelet-status-manager';
import { FakeClock, FakePodClient, fault, silentLogger } from 'kubelet-status-manager/testing';

const pod: Pod = { metadata: { namespace: 'ns', name: 'p', uid: 'u' }, spec: { containers: [{ name: 'c' }] } };
const reference = { namespace: 'ns', name: 'p' };
const { signal } = new AbortController();

function startManager(): { clock: FakeClock; client: FakePodClient; manager: StatusManager } {
  const clock = new FakeClock();
  const client = new FakePodClient([pod], { clock });
  const podManager = new BasicPodManager();
  podManager.setPods([pod]);
  const manager = new StatusManager({
    client,
    podManager,
    podCouldHaveRunningContainers: () => false,
    clock,
    logger: silentLogger,
    random: () => 0,
  });
  manager.start();
  return { clock, client, manager };
}

describe('FakePodClient.faults', () => {
  it('status: the manager waits as long as a 429 says', async () => {
    const { clock, client, manager } = startManager();
    const throttled = client.faults.next({ verb: 'patch', name: 'p' }, fault.status(429, { retryAfterMs: 4_200 }));
    manager.setPodStatus(pod, { phase: 'Running' });
    await clock.advanceAsync(4_900);
    expect(client.pod('ns', 'p')?.status?.phase).toBeUndefined();
    expect(throttled.requests).toEqual([{ verb: 'patch', resource: 'pods', subresource: 'status', ...reference }]);
    await clock.advanceAsync(100);
    expect(client.pod('ns', 'p')?.status?.phase).toBe('Running');
    expect(client.faults.pending).toEqual([]);
    await manager.stop();
  });

  it('hang: the request ends at the manager’s own deadline, and the next one succeeds', async () => {
    const { clock, client, manager } = startManager();
    client.faults.next({ verb: 'get' }, fault.hang());
    manager.setPodStatus(pod, { phase: 'Running' });
    await clock.advanceAsync(0);
    expect(client.inFlight).toMatchObject({ requests: 1, held: 1 });
    await clock.advanceAsync(60_000);
    expect(client.inFlight).toMatchObject({ requests: 0, held: 0 });
    expect(client.pod('ns', 'p')?.status?.phase).toBe('Running');
    await manager.stop();
  });

  it('delay: on the client’s clock, and then the next fault', async () => {
    const clock = new FakeClock();
    const client = new FakePodClient([pod], { clock });
    client.faults.next({ verb: 'get' }, fault.delay(1_000));
    client.faults.next({ verb: 'get' }, fault.delay(1_000, fault.status(503)));
    const first = client.getPod(reference, { signal });
    const second = client.getPod(reference, { signal });
    second.catch(() => {});
    await clock.advanceAsync(999);
    expect(client.inFlight.held).toBe(2);
    await clock.advanceAsync(1);
    expect(await first).toEqual(pod);
    await expect(second).rejects.toMatchObject({ statusCode: 503, reason: 'ServiceUnavailable' });
  });

  it('cut: before the request is processed, or after it', async () => {
    const client = new FakePodClient([pod]);
    const patch = {
      type: 'application/strategic-merge-patch+json',
      body: { metadata: { uid: 'u' }, status: {} },
    } as const;
    const status = (message: string): object => ({ ...patch, body: { ...patch.body, status: { message } } });
    client.faults.next({ verb: 'patch' }, fault.cut());
    await expect(client.patchPodStatus(reference, status('lost') as never, { signal })).rejects.toMatchObject({
      kind: 'network',
    });
    expect(client.pod('ns', 'p')?.status).toBeUndefined();
    client.faults.next({ verb: 'patch' }, fault.cut({ afterBytes: 0 }));
    await expect(client.patchPodStatus(reference, status('stored') as never, { signal })).rejects.toMatchObject({
      kind: 'network',
    });
    expect(client.pod('ns', 'p')?.status?.message).toBe('stored');
  });

  it.each([
    ['expire', fault.expire(), { kind: 'http', statusCode: 410, reason: 'Expired' }],
    ['body', fault.body('<html>'), { kind: 'invalid-response' }],
    [
      'status with causes',
      fault.status(422, { causes: [{ field: 'metadata.uid' }] }),
      { statusCode: 422, reason: 'Invalid', causes: [{ field: 'metadata.uid' }] },
    ],
  ])('%s', async (_name, asked, expected) => {
    const client = new FakePodClient([pod]);
    client.faults.next({}, asked);
    await expect(client.getPod(reference, { signal })).rejects.toMatchObject(expected);
    expect(await client.getPod(reference, { signal })).toEqual(pod);
  });

  it('now: cuts a request that hangs; nothing else can happen to it', async () => {
    const client = new FakePodClient([pod]);
    client.faults.next({ verb: 'delete' }, fault.hang({ isProcessed: true }));
    const deleted = client.deletePod(reference, { uid: 'u', gracePeriodSeconds: 0 }, { signal });
    deleted.catch(() => {});
    await new FakeClock().yieldToEventLoop();
    expect(client.pods.size).toBe(0);
    expect(() => client.faults.now({ name: 'p' }, fault.expire())).toThrow('can only be cut');
    expect(client.faults.now({ name: 'other' }, fault.cut())).toBe(0);
    expect(client.faults.now({ name: 'p' }, fault.cut())).toBe(1);
    await expect(deleted).rejects.toMatchObject({ kind: 'network' });
    expect(client.faults.used.map(({ fault: { kind } }) => kind)).toEqual(['hang', 'cut']);
    expect(client.faults.now({}, fault.cut())).toBe(0);
  });
});
