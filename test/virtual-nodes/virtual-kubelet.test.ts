import { once } from 'node:events';
import { type AddressInfo, connect, createServer } from 'node:net';
import { pipeline } from 'node:stream/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createVirtualNodes, type PodProvider, type VirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { APIServer, settle } from 'kubelet-status-manager/testing';
import { servingHosts } from '../../src/kubelet-api/serving-certificate.ts';
import { SPDYClient } from '../kubelet-api/spdy-client.ts';
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

  it('forwards ports to where the provider connects them, until the pod ends the connection', async () => {
    const app = createServer((socket) => void socket.end('hello from the pod')).listen(0, '127.0.0.1');
    await once(app, 'listening');
    const asked: object[] = [];
    await serve({
      portForward: async ({ uid: _uid, ...pod }, port, stream, { epoch }) => {
        asked.push({ ...pod, port, epoch });
        await pipeline(stream, connect((app.address() as AddressInfo).port, '127.0.0.1'), stream);
      },
    });
    const client = await SPDYClient.connect(server, '/portForward/default/b');
    const { data, errors } = await client.forward(8080);
    await client.data(data, 'hello', true);
    await expect.poll(() => client.stream(errors)).toMatchObject({ text: '', isEnded: true });
    expect(client.stream(data)).toMatchObject({ text: 'hello from the pod', isEnded: true });
    expect(asked).toEqual([{ namespace: 'default', name: 'b', nodeName: 'node-b', port: 8080, epoch: 0 }]);
    client.connection.destroy();
    app.close();
  });

  it('tells the client what the provider cannot do', async () => {
    await serve({});
    expect(await server.get('/containerLogs/default/a/app')).toMatchObject({ status: 501 });
    expect(await server.get('/stats/summary')).toMatchObject({
      status: 501,
      text: 'Several nodes share this port: no statistics',
    });
    expect(await server.get('/healthz')).toMatchObject({ status: 200, text: 'ok' });
    const { items } = JSON.parse((await server.get('/runningpods/')).text) as { items: object[] };
    expect(items).toMatchObject([{ metadata: { name: 'a' } }, { metadata: { name: 'b' } }]);
  });
});

describe('virtual-kubelet GetStatsSummary: kubeletOf, a port for each node', () => {
  const time = '2026-01-02T03:04:05Z';
  const containers = [{ name: 'app', startTime: time, memory: { time, workingSetBytes: 4096 } }];

  async function serveOwn(stats?: PodProvider['stats']): Promise<void> {
    const provider = test.cloud.asProvider(stats === undefined ? {} : { stats });
    const nodes = await test.startNodes(['node-a', 'node-b'], { provider });
    const kubelet = nodes.kubeletOf('node-b');
    server = await TestServer.start(
      {
        runtime: kubelet,
        authentication: { anonymous: true, webhook: false },
        authorization: { mode: 'AlwaysAllow' },
      },
      { served: kubelet },
    );
    await test.create(podOf('a'), 'node-a');
    await test.create(podOf('b'), 'node-b');
    await test.advance(10_000);
  }

  const listed: PodProvider['stats'] = async (options) =>
    (await test.cloud.listPods(options)).map(({ uid }) => ({
      ...{ podRef: { uid, namespace: 'of', name: 'the cloud' }, startTime: time },
      containers: [...containers, { name: 'of"another{pod', startTime: time }],
    }));

  it('serves the statistics of the pods of the node, under the names that the API server has, and none of the machine', async () => {
    await serveOwn(listed);
    const { node, pods } = JSON.parse((await server.get('/stats/summary')).text) as { node: object; pods: object[] };
    expect(node).toEqual({ nodeName: 'node-b', startTime: expect.any(String), systemContainers: [] });
    expect(pods).toEqual([
      { podRef: { uid: expect.any(String), namespace: 'default', name: 'b' }, startTime: time, containers },
    ]);
    const { text } = await server.get('/metrics/resource');
    expect(text).toContain('container_memory_working_set_bytes{container="app",namespace="default",pod="b"} 4096');
    expect(text).not.toMatch(/^node_/m);
  });

  it('shows the port on this Node only, and has no pods of others', async () => {
    await serveOwn(listed);
    await test.advance(300_000);
    const ports = await Promise.all(
      ['node-a', 'node-b'].map(async (name) => {
        const { apiRequests } = test.nodes.kubelet;
        const node = (await apiRequests.request('GET', `/api/v1/nodes/${name}`)).json() as {
          status: { daemonEndpoints?: { kubeletEndpoint: { Port: number } } };
        };
        return node.status.daemonEndpoints?.kubeletEndpoint.Port;
      }),
    );
    expect(ports).toEqual([0, server.port]);
    expect(await server.get('/containerLogs/default/a/app')).toMatchObject({ status: 404 });
  });

  it('asks the provider at most once in 10 s, and again after a failure', async () => {
    let calls = 0;
    let failure: Error | undefined = new Error('the cloud does not measure at night');
    await serveOwn(async () => {
      calls++;
      if (failure !== undefined) throw failure;
      return [];
    });
    expect(await server.get('/stats/summary')).toMatchObject({
      status: 500,
      text: 'failed to list pod stats: the cloud does not measure at night',
    });
    failure = undefined;
    const read = async (): Promise<number> => (await server.get('/stats/summary')).status;
    expect([await read(), await read(), calls]).toEqual([200, 200, 2]);
    await test.advance(10_000);
    expect([await read(), calls]).toEqual([200, 3]);
  });

  it('tells the client that there are none without stats', async () => {
    await serveOwn();
    expect(await server.get('/stats/summary')).toMatchObject({
      status: 501,
      text: 'The provider has no statistics',
    });
  });
});

it('wants a serving certificate for the addresses of all nodes, and, if they have host names, the names of all', async () => {
  const addressesOfB = [
    { type: 'InternalIP', address: '10.4.5.6' },
    { type: 'Hostname', address: 'node-b' },
  ];
  const nodeStatus = () => ({ addresses: addressesOfB });
  const nodes = await test.startNodes([test.node('node-a'), { ...test.node('node-b'), nodeStatus }]);
  await test.advance(1000);
  const addresses = (kubelet: VirtualNodes['kubelet']): string[] =>
    servingHosts(kubelet.getNode()?.status?.addresses ?? []) ?? [];
  expect(addresses(nodes.kubelet)).toEqual(['node-a', 'node-b', '10.1.2.3', '10.4.5.6']);
  expect(addresses(nodes.kubeletOf('node-a'))).toEqual(['10.1.2.3']);
  expect(addresses(nodes.kubeletOf('node-b'))).toEqual(['node-b', '10.4.5.6']);
});

it('refuses to be served before a node was added: the certificate needs a name', async () => {
  const nodes = await test.startNodes([]);
  await expect(TestServer.start({ runtime: nodes.kubelet }, { served: nodes.kubelet })).rejects.toMatchObject({
    code: 'INVALID_STATE',
  });
});

it('the check of permissions at start covers those of a kubelet API that is served', async () => {
  const reviewed: string[] = [];
  await using api = await APIServer.start({
    clock: test.clock,
    onRequest: ({ path, body }) => {
      if (path.endsWith('/selfsubjectaccessreviews')) reviewed.push(JSON.parse(body).spec.resourceAttributes.resource);
    },
  });
  const options = { client: api.kubeconfig(), provider: test.cloud, clock: test.clock, logger: test.logger };
  for (const isServed of [false, true]) {
    reviewed.length = 0;
    const nodes = createVirtualNodes(options);
    nodes.add(test.node('node-a'));
    if (isServed) nodes.kubelet.setKubeletEndpoint(10_250);
    nodes.start();
    await test.clock.advanceAsync(500, () => settle(test.clock, api));
    await nodes.stop();
    expect(reviewed.includes('pods')).toBe(true);
    for (const resource of ['tokenreviews', 'subjectaccessreviews'])
      expect({ resource, isReviewed: reviewed.includes(resource) }).toEqual({ resource, isReviewed: isServed });
  }
});
