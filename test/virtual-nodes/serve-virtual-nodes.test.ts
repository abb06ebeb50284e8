import { request } from 'node:http';
import { Registry } from 'prom-client';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { fault } from 'kubelet-status-manager/testing';
import { ProviderError, serveVirtualNodes, type VirtualNodesOptions } from 'kubelet-status-manager/virtual-nodes';
import { podOf, TestNodes } from './test-nodes.ts';

const always = Number.POSITIVE_INFINITY;

let test: TestNodes;
let server: Awaited<ReturnType<typeof serveVirtualNodes>> | undefined;
let register: Registry;

beforeEach(async () => {
  test = await TestNodes.start();
  register = new Registry();
});

afterEach(async () => {
  await server?.close();
  server = undefined;
  await test[Symbol.asyncDispose]();
});

async function start(names = ['node-a', 'node-b'], options: Partial<VirtualNodesOptions> = {}): Promise<void> {
  await test.startNodes(names, { metrics: createPrometheusMetrics({ register }), ...options });
  await serve();
}

async function serve(): Promise<void> {
  const { nodes, clock, logger } = test;
  server = await serveVirtualNodes(nodes, { port: 0, register, clock, logger });
}

function get(path: string): Promise<{ readonly status: number | undefined; readonly text: string }> {
  return new Promise((resolve, reject) => {
    request(`${server!.url}${path}`, { agent: false }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () => resolve({ status: response.statusCode, text }));
    })
      .on('error', reject)
      .end();
  });
}

interface Page {
  readonly problems: readonly string[];
  readonly nodes: readonly unknown[];
  readonly pods: readonly unknown[];
}

async function page(): Promise<Page> {
  return JSON.parse((await get('/statusz/pods.json')).text) as Page;
}

async function metric(series: string): Promise<number | undefined> {
  const line = (await register.metrics()).split('\n').find((each) => each.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

it('many nodes are inspected at most a tenth of the time, however often clients ask', async () => {
  await start();
  const { nodes, clock, logger } = test;
  let inspections = 0;
  const slow = Object.create(nodes, {
    inspect: {
      value: () => {
        inspections += 1;
        clock.advance(400);
        return nodes.inspect();
      },
    },
    forEachNode: { value: nodes.forEachNode.bind(nodes) },
    node: { value: nodes.node.bind(nodes) },
  }) as typeof nodes;
  await server?.close();
  server = await serveVirtualNodes(slow, { port: 0, clock, logger });
  clock.advance(10_000);
  inspections = 0;
  for (let i = 0; i < 10; i++) for (const path of ['/readyz', '/statusz/pods.json']) await get(path);
  expect(inspections).toBe(1);
});

describe('/readyz of virtual nodes', () => {
  it('fails until the Nodes are registered and the provider has listed its pods, and when they stop', async () => {
    test.server.faults.next({ resource: 'nodes', count: always }, fault.status(403));
    test.cloud.react('listPods', () => new Error('the cloud is gone'));
    await start();
    const { status, text } = await get('/readyz');
    expect(status).toBe(500);
    expect(text).toMatch(
      /^\[\+\]running ok\n\[-\]list failed: the pods of the provider cannot be listed since 03:04:05Z: the cloud is gone\n\[-\]nodes failed: node node-a and 1 other node: the Node cannot be registered since 03:04:0\dZ: 403 Forbidden.*\n\[\+\]lease ok\nreadyz check failed\n$/,
    );
    test.server.faults.clear();
    test.cloud.react('listPods');
    await test.advance(20_000);
    expect((await get('/readyz?verbose')).text).toBe(
      '[+]running ok\n[+]list ok\n[+]nodes ok\n[+]lease ok\nreadyz check passed\n',
    );
    await test.stopNodes();
    expect((await get('/readyz')).text).toContain('[-]running failed: the virtual nodes are stopped\n');
  });

  it('fails while a Lease is late, which is a problem on the page and a metric', async () => {
    await start();
    await test.advance(5000);
    test.server.faults.next({ resource: 'leases', count: always }, fault.status(500));
    await test.advance(40_000);
    const late = /node-a and 1 other node: the Lease is not renewed since 03:04:\d\dZ \(.*500.*\)/;
    expect((await get('/readyz')).text).toMatch(late);
    expect((await page()).problems).toContainEqual(expect.stringMatching(new RegExp(late.source, 'i')));
    expect(await metric('kubelet_node_agent_lease_age_seconds')).toBeGreaterThan(30);
  });

  it('fails while this process may not own nodes', async () => {
    test.server.faults.next({ resource: 'leases', count: always }, fault.status(403));
    await start(['node-a'], { replicas: { identity: 'a', namespace: 'default' } });
    await test.advance(5000);
    expect((await get('/readyz')).text).toMatch(
      /\[-\]replicas failed: this process may not own nodes; its Leases fail since 03:04:0\dZ: .*403/,
    );
    expect((await page()).nodes).toEqual([{ nodeName: 'node-a', state: 'notOwned', pods: 0, failingPods: 0 }]);
    test.server.faults.clear();
    await test.advance(30_000);
    expect((await get('/readyz')).text).toBe('ok');
    expect((await page()).nodes).toMatchObject([
      { nodeName: 'node-a', state: 'running', owner: expect.stringMatching(/^a-/) },
    ]);
  });

  it('says so if the namespace of the Leases does not exist', async () => {
    await start(['node-a'], { replicas: { identity: 'a', namespace: 'nowhere' } });
    await test.advance(5000);
    expect((await get('/readyz')).text).toMatch(
      /\[-\]replicas failed: this process may not own nodes; its Leases fail since 03:04:0\dZ: .*404.*nowhere/,
    );
  });
});

describe.each(['/healthz', '/livez'])('%s of virtual nodes', (path) => {
  it('passes while they run, during an outage, too, and fails when they have stopped', async () => {
    await start();
    test.cloud.react('listPods', () => new Error('the cloud is gone'));
    test.server.faults.next({ count: always }, fault.status(500));
    await test.advance(60_000);
    expect((await get(`${path}?verbose`)).text).toBe(
      `[+]ping ok\n[+]log ok\n[+]syncloop ok\n${path.slice(1)} check passed\n`,
    );
    test.server.faults.clear();
    await test.stopNodes();
    expect(await get(path)).toMatchObject({ status: 500 });
  });
});

describe('/statusz/ of virtual nodes', () => {
  it('shows all nodes with their pods, and which calls of the provider fail since when', async () => {
    await start();
    test.cloud.react('createPod', (pod) =>
      pod?.name === 'b' ? new ProviderError('no quota', { reason: 'NoQuota' }) : undefined,
    );
    await test.create(podOf('a'), 'node-a');
    const uid = await test.create(podOf('b'), 'node-b');
    await test.advance(10_000);
    expect(await page()).toMatchObject({
      problems: [
        expect.stringMatching(
          /^Calls of the provider or syncs fail for a pod, since 03:04:0\dZ for b_default.*no quota/,
        ),
      ],
      nodes: [
        {
          ...{ nodeName: 'node-b', state: 'running', pods: 1, failingPods: 1 },
          problem: expect.stringMatching(/for a pod, since 03:04:0\dZ for b_default: no quota$/),
        },
        { nodeName: 'node-a', state: 'running', pods: 1, failingPods: 0 },
      ],
      pods: [
        { podName: 'a', nodeName: 'node-a', phase: 'Running' },
        {
          ...{ podName: 'b', nodeName: 'node-b', phase: 'Pending', lastError: expect.stringContaining('no quota') },
          waitingFor: { kind: 'provider', since: expect.stringMatching(/^2026-01-02T03:04:0\dZ$/) },
        },
      ],
    });
    const { text } = await get(`/statusz/pods/${uid}.json`);
    expect(JSON.parse(text)).toMatchObject({ explanation: { podName: 'b' }, timeline: expect.any(Array) });
    expect((await get('/statusz/pods/unknown.json')).status).toBe(404);
  });

  it('records what happens to pods of nodes that are added later, and forgets those that are removed', async () => {
    await start(['node-a']);
    test.nodes.add(test.node('node-c'));
    await test.advance(500);
    const uid = await test.create(podOf('c'), 'node-c');
    await test.advance(10_000);
    const { timeline } = JSON.parse((await get(`/statusz/pods/${uid}.json`)).text) as {
      readonly timeline: readonly { readonly kind: string; readonly to?: string }[];
    };
    expect(timeline).toContainEqual(expect.objectContaining({ kind: 'phase', to: 'Running' }));
    await test.nodes.remove('node-c');
    await test.advance(2000);
    expect((await page()).nodes).toMatchObject([{ nodeName: 'node-a' }]);
  });

  it('never shows what is in a Secret, nor do health checks and metrics', async () => {
    const secret = 'hunter2-of-the-secret';
    test.server.secrets.create({
      metadata: { name: 'login', namespace: 'default' },
      data: { password: Buffer.from(secret).toString('base64') },
    });
    const seen: unknown[] = [];
    await start(['node-a'], {
      provider: test.cloud.asProvider({
        createPod: async (pod, options) => {
          const { containers } = await options.materials();
          seen.push([...containers.values()].flatMap(({ env }) => env));
          await test.cloud.createPod(pod, options);
        },
      }),
    });
    const env = [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } }];
    const uid = await test.create(podOf('web', { containers: [{ name: 'app', image: 'app:1', env }] }));
    await test.advance(10_000);
    expect(JSON.stringify(seen)).toContain(secret);
    for (const path of ['/statusz/pods.json', `/statusz/pods/${uid}.json`, '/metrics', '/readyz?verbose'])
      expect((await get(path)).text).not.toContain(secret);
  });
});

describe('/metrics of virtual nodes', () => {
  it('counts calls by operation and result', async () => {
    const errors = [
      new Error('broken'),
      new ProviderError('later', { retryAfterMs: 1000 }),
      new ProviderError('never', { permanent: true }),
    ];
    test.cloud.react('createPod', () => errors.shift());
    await start();
    await test.create(podOf('a'));
    await test.advance(20_000);
    await test.create(podOf('b'));
    await test.advance(10_000);
    const calls = (result: string): Promise<number | undefined> =>
      metric(`kubelet_node_agent_provider_calls_total{operation="create_pod",result="${result}"}`);
    expect([await calls('error'), await calls('retry'), await calls('permanent'), await calls('ok')]).toEqual([
      1, 1, 1, 1,
    ]);
    expect(await metric('kubelet_runtime_operations_duration_seconds_count{operation_type="create_pod"}')).toBe(4);
  });

  it('counts a time-out, and shows the queue that a slow cloud causes', async () => {
    await start(['node-a'], { concurrency: 1, callTimeoutMs: 10_000 });
    test.cloud.latencyMs = 60_000;
    for (const name of ['a', 'b', 'c']) await test.create(podOf(name));
    await test.advance(5000);
    expect(await metric('kubelet_node_agent_provider_calls_in_progress')).toBe(1);
    expect(await metric('kubelet_node_agent_provider_queued_calls')).toBe(2);
    expect(await metric('kubelet_node_agent_provider_longest_queued_seconds')).toBeCloseTo(5, 0);
    expect((await page()).problems).toContain(
      'Calls of the provider wait, because `concurrency` others are in progress.',
    );
    await test.advance(10_000);
    expect(await metric('kubelet_node_agent_provider_calls_total{operation="create_pod",result="timeout"}')).toBe(1);
  });

  it('counts lost pods, and shows since when lists fail or are invalid', async () => {
    await start();
    await test.create(podOf('a'));
    await test.advance(10_000);
    test.cloud.lose('a');
    await test.advance(30_000);
    expect(await metric('kubelet_node_agent_lost_pods_total')).toBe(1);
    expect(await metric('kubelet_node_agent_provider_list_failing_seconds')).toBeUndefined();
    test.cloud.react('listPods', () => new Error('the cloud is gone'));
    await test.advance(60_000);
    expect(await metric('kubelet_node_agent_provider_list_failing_seconds')).toBeGreaterThan(50);
    test.cloud.react('listPods');
    test.cloud.add({ uid: '', name: 'x', namespace: 'default', nodeName: 'node-a', state: 'running' });
    await test.advance(20_000);
    expect(await metric('kubelet_node_agent_provider_invalid_list')).toBe(1);
  });

  it('shows since when a pod that was accepted is not listed', async () => {
    await start();
    test.cloud.hidden.add('a');
    await test.create(podOf('a'));
    const age = 'kubelet_node_agent_provider_unlisted_seconds';
    expect(await metric(age)).toBeUndefined();
    await test.advance(100_000);
    expect(await metric(age)).toBeCloseTo(100, -1);
    expect((await page()).problems).toEqual([
      expect.stringMatching(/pod default\/a \(.*\), which createPod accepted at/),
    ]);
    test.cloud.hidden.clear();
    await test.advance(10_000);
    expect(await metric(age)).toBeUndefined();
  });

  it('counts pods that only the cloud had, and the nodes of this process', async () => {
    await start(['node-a', 'node-b']);
    test.cloud.add({ uid: 'x', name: 'x', namespace: 'default', nodeName: 'node-b', state: 'running' });
    await test.advance(30_000);
    expect(test.cloud.names).toEqual([]);
    expect(await metric('kubelet_orphaned_runtime_pods_total')).toBe(1);
    await test.nodes.remove('node-b');
    expect(await metric('kubelet_node_agent_virtual_nodes')).toBe(1);
  });

  it('has as many series with twenty nodes as with two, and none has the name of a node or a pod', async () => {
    const series = async (count: number): Promise<string[]> => {
      await using other = await TestNodes.start();
      const registry = new Registry();
      const names = Array.from({ length: count }, (_, i) => `cloud-${i}`);
      await other.startNodes(names, { metrics: createPrometheusMetrics({ register: registry }) });
      for (const name of names) await other.create(podOf(`pod-on-${name}`), name);
      await other.advance(60_000);
      return (await registry.metrics())
        .split('\n')
        .flatMap((line) => /^[^#\s]+(?=\s)/.exec(line)?.[0] ?? [])
        .toSorted();
    };
    const [few, many] = [await series(2), await series(20)];
    expect(many).toEqual(few);
    expect(many.filter((name) => /cloud-\d|pod-on/.test(name))).toEqual([]);
  });
});

it.each<[string, unknown, unknown, string]>([
  ['no nodes', undefined, {}, 'nodes'],
  ['an unknown option', 'nodes', { metrics: 1 }, 'metrics'],
])('refuses %s', async (_case, nodes, options, path) => {
  await test.startNodes();
  await expect(serveVirtualNodes((nodes && test.nodes) as never, options as never)).rejects.toThrow(
    expect.objectContaining({ code: 'INVALID_OPTION', path }),
  );
});
