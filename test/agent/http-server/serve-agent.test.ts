import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type AgentServer,
  createNodeAgent,
  fileSource,
  type NodeAgent,
  serveAgent,
  type ServeAgentOptions,
} from 'kubelet-status-manager/agent';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { fault, FakeContainerRuntime, FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import { TestCluster } from '../node-agent/test-cluster.ts';
import { linesAtInfo } from '../../support/log-lines.ts';

let cluster: TestCluster;
let server: AgentServer | undefined;

beforeEach(async () => {
  cluster = await TestCluster.start();
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  await cluster[Symbol.asyncDispose]();
});

async function serve(options: ServeAgentOptions = {}): Promise<void> {
  const { agent, clock, logger } = cluster;
  server = await serveAgent(agent, { port: 0, clock, logger, ...options });
}

interface Got {
  readonly status: number | undefined;
  readonly type: string | undefined;
  readonly text: string;
}

function get(path: string, { method = 'GET', host = 'localhost' } = {}): Promise<Got> {
  return new Promise((resolve, reject) => {
    const sent = request(`${server!.url}${path}`, { method, headers: { host }, agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode, type: response.headers['content-type'], text }));
    });
    sent.on('error', reject).end();
  });
}

describe('/readyz', () => {
  it('fails until the agent knows its pods and the Node is registered, and says what is missing', async () => {
    cluster.createAgent();
    await serve();
    expect(await get('/readyz')).toMatchObject({
      status: 500,
      text: [
        '[-]running failed: the agent is created',
        '[-]sources failed: no pods yet from: api',
        '[-]node failed: the Node is not registered',
        '[+]runtime ok',
        '[+]lease ok',
        'readyz check failed\n',
      ].join('\n'),
    });
    cluster.agent.start();
    await cluster.advance(500);
    expect(await get('/readyz')).toMatchObject({ status: 200, text: 'ok' });
    expect((await get('/readyz?verbose')).text).toBe(
      '[+]running ok\n[+]sources ok\n[+]node ok\n[+]runtime ok\n[+]lease ok\nreadyz check passed\n',
    );
    await cluster.stopAgent();
    expect(await get('/readyz')).toMatchObject({ status: 500 });
  });
});

describe('a Node that cannot be registered', () => {
  it('fails /readyz with the reason and since when', async () => {
    cluster.createAgent();
    await serve();
    cluster.server.faults.next({ resource: 'nodes', count: Number.POSITIVE_INFINITY }, fault.status(403));
    cluster.agent.start();
    await cluster.advance(500);
    expect((await get('/readyz')).text).toMatch(
      /\[-\]node failed: the Node cannot be registered since 03:04:0\dZ: 403 Forbidden/,
    );
    await cluster.stopAgent();
  });
});

describe('a runtime that hangs', () => {
  it('fails /readyz after 30 s, and shows a banner and a metric, until the runtime responds', async () => {
    const register = new Registry();
    await cluster.startAgent({ metrics: createPrometheusMetrics({ register }) });
    await serve({ register });
    cluster.runtime.delay({ method: 'listPods' }, 60_000, 1);
    await cluster.clock.advanceAsync(35_000);
    const problem = 'the runtime fails since 03:04:06Z: listPods has not returned for 30000 ms';
    expect((await get('/readyz')).text).toContain(`[-]runtime failed: ${problem}\n`);
    const { problems } = JSON.parse((await get('/statusz/pods.json')).text) as { problems: string[] };
    expect(problems).toContainEqual(`T${problem.slice(1)}.`);
    expect((await get('/metrics')).text).toMatch(/^kubelet_node_agent_relist_age_seconds 3\d/m);
    expect(cluster.logger.errors).toMatchObject([{ message: 'GenericPLEG: unable to retrieve pods' }]);
    await cluster.clock.advanceAsync(40_000);
    expect((await get('/readyz?verbose')).text).toContain('[+]runtime ok');
    expect((await get('/metrics')).text).toMatch(/^kubelet_node_agent_relist_age_seconds [01]/m);
    expect(linesAtInfo(cluster.logger).at(-1)).toMatchObject({ message: 'GenericPLEG: able to retrieve pods again' });
  });
});

describe('a Lease that is not renewed', () => {
  it('fails /readyz, is a banner that says that the node becomes NotReady, and a metric', async () => {
    const register = new Registry();
    await cluster.startAgent({ metrics: createPrometheusMetrics({ register }) });
    await serve({ register });
    cluster.server.faults.next({ resource: 'leases', count: Number.POSITIVE_INFINITY }, fault.status(500));
    await cluster.advance(40_000);
    const { text } = await get('/readyz');
    expect(text).toMatch(
      /\[-\]lease failed: the Lease is not renewed since 03:04:0\dZ \(.*500.*\); the node becomes NotReady if this lasts/,
    );
    const { problems } = JSON.parse((await get('/statusz/pods.json')).text) as { problems: string[] };
    expect(problems).toContainEqual(expect.stringMatching(/^The Lease is not renewed since 03:04:0\dZ/));
    expect((await get('/metrics')).text).toMatch(/^kubelet_node_agent_lease_age_seconds [34]\d/m);
    expect(cluster.agent.inspect().node).toMatchObject({ leaseFailureReason: expect.stringContaining('500') });
    cluster.server.faults.clear();
    await cluster.advance(20_000);
    expect((await get('/readyz?verbose')).text).toContain('[+]lease ok');
    expect((await get('/metrics')).text).toMatch(/^kubelet_node_agent_lease_age_seconds \d(\.|$)/m);
  });
});

describe('/healthz', () => {
  it('passes before the agent starts and while it works', async () => {
    cluster.createAgent();
    await serve();
    expect(await get('/healthz')).toMatchObject({ status: 200, text: 'ok' });
    cluster.agent.start();
    await cluster.advance(500);
    expect((await get('/healthz?verbose')).text).toBe('[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n');
  });

  it('fails when the sync loop has been stuck for more than 5 minutes, here by a runtime that hangs', async () => {
    await cluster.startAgent();
    await serve();
    cluster.runtime.delay({ method: 'listPods' }, 3_600_000, Number.POSITIVE_INFINITY);
    // Requests need not end in this time, and waiting for each of them takes seconds.
    await cluster.clock.advanceAsync(280_000);
    expect((await get('/healthz')).status).toBe(200);
    await cluster.clock.advanceAsync(240_000);
    const { status, text } = await get('/healthz');
    expect(status).toBe(500);
    expect(text).toMatch(
      /^\[\+\]ping ok\n\[\+\]log ok\n\[-\]syncloop failed: sync loop took longer than expected: its last iteration began [3-5]\d\d s ago\n/,
    );
  });

  it('fails when the agent has stopped', async () => {
    await cluster.startAgent();
    await serve();
    await cluster.stopAgent();
    expect((await get('/healthz')).text).toContain('[-]syncloop failed: the sync loop is stopped');
  });
});

describe('/metrics', () => {
  it('shows the registry', async () => {
    const register = new Registry();
    await cluster.startAgent({ metrics: createPrometheusMetrics({ register }) });
    await serve({ register });
    const { status, type, text } = await get('/metrics');
    expect([status, type]).toEqual([200, register.contentType]);
    expect(text).toContain('kubelet_status_manager_cached_statuses 0');
  });

  it('responds 500 without details if the registry fails, and logs the reason', async () => {
    await cluster.startAgent();
    await serve({ register: { contentType: 'text/plain', metrics: () => Promise.reject(new Error('a bad gauge')) } });
    expect(await get('/metrics')).toMatchObject({ status: 500, text: 'Internal Server Error\n' });
    expect(cluster.logger.errors).toEqual([
      expect.objectContaining({ fields: expect.objectContaining({ reason: 'a bad gauge', path: '/metrics' }) }),
    ]);
  });

  it('does not exist without a registry; the response lists the existing paths', async () => {
    await cluster.startAgent();
    await serve();
    expect(await get('/metrics')).toMatchObject({
      status: 404,
      text: 'Not found. There are: /healthz, /livez, /readyz, /statusz/\n',
    });
  });
});

describe('/statusz/', () => {
  it('is the page of the agent, with its pods and the name of its Node', async () => {
    await cluster.startAgent();
    await cluster.create({ metadata: { name: 'web' }, spec: { containers: [{ name: 'app', image: 'app:1' }] } });
    await cluster.advance(1_000);
    await serve();
    expect(await get('/statusz/')).toMatchObject({ status: 200, type: 'text/html; charset=utf-8' });
    expect(JSON.parse((await get('/statusz/pods.json')).text)).toMatchObject({
      nodeName: 'node-a',
      pods: [{ podName: 'web', phase: 'Running' }],
    });
  });

  it('can be left out', async () => {
    cluster.createAgent();
    await serve({ statusPage: false });
    expect((await get('/statusz/')).status).toBe(404);
  });
});

describe('every path', () => {
  it.each(['/healthz', '/livez', '/readyz', '/metrics', '/statusz/', '/'])(
    '%s only reads, and checks the Host',
    async (path) => {
      cluster.createAgent();
      await serve({ register: new Registry() });
      expect((await get(path, { method: 'POST' })).status).toBe(405);
      expect((await get(path, { host: 'evil.example' })).status).toBe(403);
    },
  );
});

describe('idle connections', () => {
  it('do not keep probes from being served: those that were used least recently are closed', async () => {
    await cluster.startAgent();
    await serve();
    const sockets: Socket[] = [];
    for (let i = 0; i < 100; i++) {
      const socket = connect(Number(new URL(server!.url).port), '127.0.0.1').resume();
      sockets.push(socket);
      await once(socket, 'connect');
    }
    expect((await get('/healthz')).status).toBe(200);
    expect(sockets[0]!.closed).toBe(true);
    expect(cluster.logger.warnings.at(-1)).toMatchObject({
      message: 'Too many connections: those that were used least recently are closed',
      fields: { port: Number(new URL(server!.url).port), maxConnections: 64 },
    });
    for (const socket of sockets) socket.destroy();
  });
});

it('an agent with many pods and its metrics are read at most a tenth of the time each, however often clients ask', async () => {
  const agent = cluster.createAgent();
  const { clock, logger } = cluster;
  const reads = { inspect: 0, metrics: 0 };
  const slowly = <T>(read: keyof typeof reads, result: T): T => {
    reads[read] += 1;
    clock.advance(100);
    return result;
  };
  const slow = {
    ...{ nodeName: agent.nodeName, statusManager: agent.statusManager },
    inspect: () => slowly('inspect', agent.inspect()),
  };
  const register = { contentType: 'text/plain', metrics: async () => slowly('metrics', 'a 1\n') };
  server = await serveAgent(slow as NodeAgent, { port: 0, clock, logger, register });
  for (let i = 0; i < 20; i++) {
    for (const path of ['/healthz', '/readyz', '/metrics']) await get(path);
    clock.advance(100);
  }
  expect((await get('/metrics')).text).toBe('a 1\n');
  // In 2.6 s.
  expect(reads).toEqual({ inspect: 3, metrics: 3 });
});

it('a client that sends many requests without waiting for responses makes one read of the metrics at a time', async () => {
  cluster.createAgent();
  let inProgress = 0;
  let most = 0;
  const metrics = async (): Promise<string> => {
    most = Math.max(most, ++inProgress);
    await new Promise((resolve) => setImmediate(resolve));
    inProgress -= 1;
    return 'a 1\n';
  };
  await serve({ register: { contentType: 'text/plain', metrics } });
  const socket = connect(Number(new URL(server!.url).port), '127.0.0.1')
    .on('error', () => {})
    .resume();
  const closed = once(socket, 'close');
  socket.write('GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1000));
  await closed;
  expect(most).toBe(1);
});

describe('listening', () => {
  it('rejects with the address and what to do if the port is taken, and leaves no subscription behind', async () => {
    cluster.createAgent();
    await serve();
    const port = Number(new URL(server!.url).port);
    await expect(serveAgent(cluster.agent, { port })).rejects.toThrow(
      expect.objectContaining({
        code: 'INVALID_STATE',
        message: expect.stringMatching(
          `^Cannot listen on 127.0.0.1:${port}: listen EADDRINUSE.*; choose another port, or stop what uses it`,
        ),
      }),
    );
  });

  it('close() frees the port, and can be called again', async () => {
    cluster.createAgent();
    await serve();
    const { url } = server!;
    await server!.close();
    await server!.close();
    await serve({ port: Number(new URL(url).port) });
    expect((await get('/healthz')).status).toBe(200);
  });

  const agent = createNodeAgent({
    nodeName: 'a',
    runtime: new FakeContainerRuntime({ clock: new FakeClock() }),
    logger: silentLogger,
    sources: [fileSource({ path: '/nowhere', parse: JSON.parse })],
  });
  it.each<[string, unknown, unknown, string]>([
    ['no agent', undefined, {}, 'agent'],
    ['an unknown option', agent, { metrics: 1 }, 'metrics'],
    ['a port out of range', agent, { port: 70_000 }, 'port'],
    ['a host that is empty', agent, { host: '' }, 'host'],
    ['a register without metrics()', agent, { register: {} }, 'register'],
    ['hosts that are not a list', agent, { allowedHosts: 'a' }, 'allowedHosts'],
  ])('%s', async (_case, someAgent, options, path) => {
    await expect(serveAgent(someAgent as never, options as never)).rejects.toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', path }),
    );
  });
});
