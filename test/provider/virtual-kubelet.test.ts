import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { PodProvider } from 'kubelet-status-manager/provider';
import { TestServer } from '../kubelet-api/test-server.ts';
import { WebSocketClient } from '../kubelet-api/web-socket-client.ts';
import { podOf, TestNodes } from './test-nodes.ts';

let test: TestNodes;
let server: TestServer;
beforeEach(async () => {
  test = await TestNodes.start();
});
afterEach(async () => {
  await server?.close();
  await test[Symbol.asyncDispose]();
});

/** Serves the nodes as one kubelet, to everybody. */
async function serve(methods: Partial<PodProvider>): Promise<void> {
  const nodes = await test.startNodes(['node-a', 'node-b'], { provider: test.cloud.asProvider(methods) });
  server = await TestServer.start(
    {
      runtime: nodes.kubelet,
      authentication: { anonymous: true, webhook: false },
      authorization: { mode: 'AlwaysAllow' },
    },
    { served: nodes.kubelet },
  );
  await test.create(podOf('a'), 'node-a');
  await test.create(podOf('b'), 'node-b');
  await test.advance(10_000);
}

/** Each line says what was asked for. */
const logs: PodProvider['logs'] = async ({ uid: _uid, ...pod }, container, log) =>
  linesOf(JSON.stringify({ ...pod, container, ...log }));

async function* linesOf(...lines: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const line of lines) yield Buffer.from(`${line}\n`);
}

describe('virtual-kubelet #1142, interLink #447: one port for all nodes', () => {
  it('serves the logs of the pods of all nodes, and each Node shows the port', async () => {
    await serve({ logs });
    const options = { tailLines: 3, follow: false, timestamps: true, previous: false };
    for (const name of ['a', 'b']) {
      const { status, text } = await server.get(`/containerLogs/default/${name}/app?tailLines=3&timestamps=true`);
      expect([status, JSON.parse(text)]).toEqual([
        200,
        { namespace: 'default', name, nodeName: `node-${name}`, container: 'app', ...options },
      ]);
      await test.advance(300_000);
      const node = (await test.nodes.kubelet.apiRequests.request('GET', `/api/v1/nodes/node-${name}`)).json();
      expect(node).toMatchObject({ status: { daemonEndpoints: { kubeletEndpoint: { Port: server.port } } } });
    }
  });

  it('serves the log of the new pod when one with the same name has another UID', async () => {
    const uids: string[] = [];
    await serve({
      logs: async ({ uid }) => {
        uids.push(uid);
        return linesOf();
      },
    });
    test.server.pods.delete('default', 'a', { gracePeriodSeconds: 0 });
    await test.advance(10_000);
    const uid = await test.create(podOf('a'), 'node-b');
    await test.advance(10_000);
    expect(await server.get('/containerLogs/default/a/app')).toMatchObject({ status: 200 });
    expect(uids).toEqual([uid]);
  });

  it('asks for the run before a restart with previous', async () => {
    await serve({ logs });
    test.cloud.report('a', { containers: [{ name: 'app', restartCount: 1 }] });
    await test.advance(10_000);
    const { text } = await server.get('/containerLogs/default/a/app?previous=true');
    expect(JSON.parse(text)).toMatchObject({ previous: true });
  });

  it('ends what the provider yields when the client is gone, though it yields nothing any more', async () => {
    let signal: AbortSignal | undefined;
    await serve({
      logs: async (_pod, _container, _log, options) => {
        signal = options.signal;
        return (async function* () {
          yield Buffer.from('first\n');
          await new Promise(() => {});
        })();
      },
    });
    const request = server.request('/containerLogs/default/a/app?follow=true', {});
    await new Promise((resolve) =>
      request
        .once('response', (response) => response.once('data', resolve))
        .once('error', () => {})
        .end(),
    );
    expect(signal?.aborted).toBe(false);
    request.destroy();
    await expect.poll(() => signal?.aborted).toBe(true);
  });

  it('reads no more than limitBytes of an endless log', async () => {
    let read = 0;
    await serve({
      logs: async () =>
        (async function* () {
          for (;;) {
            read++;
            yield Buffer.from('0123456789');
          }
        })(),
    });
    const { text } = await server.get('/containerLogs/default/a/app?limitBytes=25');
    expect([text, read]).toEqual(['0123456789012345678901234', 3]);
  });

  it('says why the provider has no log, also if it throws at once', async () => {
    await serve({
      logs: () => {
        throw new Error('the cloud keeps logs for a day');
      },
    });
    expect(await server.get('/containerLogs/default/a/app')).toMatchObject({
      status: 500,
      text: 'the cloud keeps logs for a day',
    });
  });

  it('runs commands with the streams of the client, and shows their exit code', async () => {
    await serve({
      exec: async ({ name, nodeName }, container, command, io) => {
        for await (const chunk of io.stdin!)
          io.stdout!.write(`${nodeName} ${name} ${container} ${command.join(' ')}: ${chunk}`);
        return 3;
      },
    });
    const client = await new WebSocketClient(server, '/exec/default/b/app?command=cat&input=1&output=1').open();
    client.send(0, 'hello');
    client.send(255, Buffer.from([0]));
    expect(await client.status()).toMatchObject({ reason: 'NonZeroExitCode', message: expect.stringContaining('3') });
    expect(client.text(1)).toBe('node-b b app cat: hello');
  });

  it('connects a client to the main process', async () => {
    await serve({
      attach: async ({ name }, container, io) => {
        io.stdout!.write(`${name} ${container}`);
      },
    });
    const client = await new WebSocketClient(server, '/attach/default/a/app?output=1').open();
    expect(await client.status()).toMatchObject({ status: 'Success' });
    expect(client.text(1)).toBe('a app');
  });

  it('tells the client what the provider cannot do', async () => {
    await serve({});
    expect(await server.get('/containerLogs/default/a/app')).toMatchObject({ status: 501 });
    expect(await server.get('/stats/summary')).toMatchObject({
      status: 501,
      text: 'There are several nodes behind this port: no statistics',
    });
    expect(await server.get('/healthz')).toMatchObject({ status: 200, text: 'ok' });
    const { items } = JSON.parse((await server.get('/runningpods/')).text) as { items: object[] };
    expect(items).toMatchObject([{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }]);
  });
});

it('refuses to be served before a node was added: the certificate needs a name', async () => {
  const nodes = await test.startNodes([]);
  await expect(TestServer.start({ runtime: nodes.kubelet }, { served: nodes.kubelet })).rejects.toMatchObject({
    code: 'INVALID_STATE',
  });
});
