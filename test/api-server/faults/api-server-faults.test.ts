import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import { createPodClient, type HTTPPodClient } from 'kubelet-status-manager/http';
import { createInformerPodManager, type InformerPodManager } from 'kubelet-status-manager/informer';
import { APIServer, FakeClock, fault, type Fault, settle, silentLogger } from 'kubelet-status-manager/testing';

const reference = { namespace: 'default', name: 'p' };
const { signal } = new AbortController();

let server: APIServer;
let client: HTTPPodClient;
let uid: string;

async function start(clock?: FakeClock): Promise<void> {
  server = await APIServer.start({ tls: false, clock });
  client = createPodClient(server.kubeconfig());
  const pod = server.pods.create({
    metadata: { name: 'p' },
    spec: { nodeName: 'node-a', containers: [{ name: 'c', image: 'i' }] },
  });
  uid = pod.metadata.uid!;
}

afterEach(async () => {
  await client.transport.close();
  await server.close();
});

function patch(message: string): Promise<Pod> {
  const body = { metadata: { uid }, status: { message } };
  return client.patchPodStatus(reference, { type: 'application/strategic-merge-patch+json', body }, { signal });
}

const message = (): string | null | undefined => server.pods.get('default', 'p')?.status?.message;

describe('APIServer.faults', () => {
  beforeEach(() => start());

  it('the next PATCH of a pod gets 409, the one after that 429 with Retry-After, and then it is processed', async () => {
    const match = { verb: 'patch', resource: 'pods', subresource: 'status', ...reference } as const;
    server.faults.next(match, fault.status(409));
    server.faults.next(match, fault.status(429, { retryAfterMs: 1_500 }));
    await expect(patch('a')).rejects.toMatchObject({ statusCode: 409, reason: 'Conflict' });
    expect(await client.getPod(reference, { signal })).toMatchObject({ metadata: { uid } });
    await expect(patch('b')).rejects.toMatchObject({
      statusCode: 429,
      reason: 'TooManyRequests',
      retryAfterMs: 2_000,
    });
    expect(message()).toBeUndefined();
    expect((await patch('c')).status?.message).toBe('c');
    expect(server.faults.pending).toEqual([]);
    expect(server.faults.used.map(({ request }) => request)).toEqual([match, match]);
  });

  it('causes of a 422 arrive', async () => {
    const causes = [{ reason: 'FieldValueInvalid', field: 'status.podIPs[0]', message: 'no' }];
    server.faults.next({ verb: 'patch' }, fault.status(422, { causes }));
    await expect(patch('a')).rejects.toMatchObject({ statusCode: 422, reason: 'Invalid', causes });
  });

  it('the HTML of a proxy is not accepted as a pod', async () => {
    server.faults.next({ verb: 'get', name: 'p' }, fault.body('<html>Please log in</html>'));
    await expect(client.getPod(reference, { signal })).rejects.toMatchObject({ kind: 'invalid-response' });
  });

  it.each([
    ['before it is processed', fault.cut(), undefined, 0],
    ['after it was processed, without a byte of the response', fault.cut({ afterBytes: 0 }), 'new', 0],
    ['in the middle of the response', fault.cut({ afterBytes: 100 }), 'new', 200],
  ])('a PATCH is cut %s', async (_when, cut, stored, status) => {
    server.faults.next({ verb: 'patch' }, cut);
    await expect(patch('new')).rejects.toMatchObject({ kind: 'network' });
    expect(message()).toBe(stored);
    await settle(server);
    expect(server.requests.map((request) => request.status)).toEqual([status]);
    expect(await client.getPod(reference, { signal })).toMatchObject({ metadata: { uid } });
  });

  it('cuts after exactly the given number of bytes; a shorter response arrives complete', async () => {
    const get = async (afterBytes: number): Promise<string> => {
      server.faults.next({ verb: 'get' }, fault.cut({ afterBytes }));
      const response = await fetch(`${server.url}/api/v1/namespaces/default/pods/p`, {
        headers: { authorization: `Bearer ${server.token}` },
      });
      let text = '';
      try {
        const decoder = new TextDecoder();
        for await (const chunk of response.body!) text += decoder.decode(chunk as Uint8Array, { stream: true });
      } catch {
        text += ' …cut';
      }
      return text;
    };
    const complete = await get(1_000_000);
    expect(JSON.parse(complete)).toMatchObject({ metadata: { uid } });
    expect(await get(7)).toBe(`${complete.slice(0, 7)} …cut`);
  });

  it.each([false, true])('a PATCH hangs until the client aborts; processed: %s', async (isProcessed) => {
    server.faults.next({ verb: 'patch' }, fault.hang({ isProcessed }));
    const giveUp = new AbortController();
    const body = { metadata: { uid }, status: { message: 'new' } };
    const patched = client.patchPodStatus(
      reference,
      { type: 'application/strategic-merge-patch+json', body },
      { signal: giveUp.signal },
    );
    await settle(server);
    expect(server.inFlight).toMatchObject({ requests: 1, held: 1 });
    giveUp.abort(new Error('enough'));
    await expect(patched).rejects.toMatchObject({ kind: 'aborted' });
    await settle(server);
    expect(server.inFlight).toMatchObject({ requests: 0, held: 0 });
    expect(message()).toBe(isProcessed ? 'new' : undefined);
    expect(server.requests.map(({ status }) => status)).toEqual([0]);
  });

  it('cuts a request that hangs', async () => {
    server.faults.next({ verb: 'get' }, fault.hang());
    const got = client.getPod(reference, { signal });
    got.catch(() => {});
    await settle(server);
    expect(() => server.faults.now({ verb: 'get' }, fault.end())).toThrow('can only be cut');
    expect(server.faults.now({ verb: 'get' }, fault.cut())).toBe(1);
    await expect(got).rejects.toMatchObject({ kind: 'network' });
  });

  it('records body and content type of each request', async () => {
    await patch('new');
    await client.getPod(reference, { signal });
    await settle(server);
    expect(server.requests).toMatchObject([
      { method: 'PATCH', contentType: 'application/strategic-merge-patch+json' },
      { method: 'GET', contentType: '', body: '' },
    ]);
    expect(JSON.parse(server.requests[0]!.body)).toEqual({ metadata: { uid }, status: { message: 'new' } });
    await patch('x'.repeat(100_000));
    await settle(server);
    expect(server.requests.at(-1)!.body).toHaveLength(65_536);
  });
});

it('delay: on the server’s clock, and then the next fault', async () => {
  const clock = new FakeClock();
  await start(clock);
  server.faults.next({ verb: 'patch' }, fault.delay(1_000));
  server.faults.next({ verb: 'get' }, fault.delay(2_000, fault.status(503)));
  const patched = patch('late');
  const got = client.getPod(reference, { signal });
  got.catch(() => {});
  await settle(clock, server);
  expect(server.inFlight.held).toBe(2);
  clock.advance(1_000);
  expect((await patched).status?.message).toBe('late');
  clock.advance(1_000);
  await expect(got).rejects.toMatchObject({ statusCode: 503 });
  expect(clock.pendingTimers).toBe(0);
});

describe('APIServer.faults of watches', () => {
  let clock: FakeClock;
  let podManager: InformerPodManager;
  let seen: string[];

  /** An informer that has listed and watches; its first watch meets `first`. */
  async function startInformer(first?: Fault): Promise<void> {
    clock = new FakeClock();
    await start(clock);
    if (first !== undefined) server.faults.next({ verb: 'watch', resource: 'pods' }, first);
    seen = [];
    const options = { client: client, nodeName: 'node-a', logger: silentLogger, clock, random: () => 0 };
    podManager = createInformerPodManager(options);
    podManager.subscribe({ onPodUpdated: (pod) => void seen.push(pod.status?.message ?? '') });
    podManager.start();
    await podManager.whenSynced();
    await settle(clock, server);
  }

  const write = (text: string): object =>
    server.pods.patchStatus('default', 'p', { status: { message: text } }).metadata;
  const lists = (): number => server.requests.filter(({ path }) => !path.includes('watch=')).length;

  afterEach(() => podManager.stop());

  it.each([
    ['is cut', fault.cut(), 1],
    ['ends in good order', fault.end(), 1],
    ['expires, so that the pods are listed again', fault.expire(), 2],
  ])('a watch that runs %s: nothing is missed', async (_what, asked, expectedLists) => {
    await startInformer();
    expect(server.inFlight.watches).toBe(1);
    expect(server.faults.now({ verb: 'watch', resource: 'pods' }, asked)).toBe(1);
    write('in between');
    await clock.advanceAsync(60_000, () => settle(clock, server));
    expect(seen).toEqual(['in between']);
    expect(lists()).toBe(expectedLists);
    expect(server.inFlight.watches).toBe(1);
  });

  it('a running watch goes silent, and no event is lost after it was cut', async () => {
    await startInformer();
    expect(server.faults.now({ verb: 'watch' }, fault.hang())).toBe(1);
    write('into silence');
    await settle(clock, server);
    expect(seen).toEqual([]);
    expect(() => server.faults.now({ verb: 'watch' }, fault.status(500))).toThrow('not fault.status()');
    expect(server.faults.now({ verb: 'watch' }, fault.cut())).toBe(1);
    await clock.advanceAsync(60_000, () => settle(clock, server));
    expect(seen).toEqual(['into silence']);
  });

  it('a running watch is cut in the middle of an event', async () => {
    await startInformer();
    expect(server.faults.now({ verb: 'watch' }, fault.cut({ afterBytes: 20 }))).toBe(1);
    write('half an event');
    await clock.advanceAsync(60_000, () => settle(clock, server));
    expect(seen).toEqual(['half an event']);
  });

  it.each([
    ['410', fault.status(410)],
    ['an expired resourceVersion', fault.expire()],
    ['503', fault.status(503)],
    ['its end', fault.end()],
    ['a cut', fault.cut()],
  ])('the next watch meets %s: nothing is missed', async (_what, asked) => {
    await startInformer(asked);
    write('after');
    await clock.advanceAsync(60_000, () => settle(clock, server));
    expect(seen).toEqual(['after']);
    expect(server.faults.pending).toEqual([]);
  });
});
