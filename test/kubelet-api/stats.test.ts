import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import type { PodStats } from '../../src/node/runtime/pod-stats.ts';
import { timeFromEpochMs } from '../../src/shared/time.ts';
import { TestServer } from './test-server.ts';

const time = '2026-01-02T03:04:05Z';

function podStats(nanoseconds: number, startTime = time, measuredAt = time): PodStats {
  const usage = {
    cpu: { time: measuredAt, usageCoreNanoSeconds: nanoseconds },
    memory: { time, workingSetBytes: 4096 },
  };
  return {
    podRef: { name: 'web', namespace: 'default', uid: 'u' },
    startTime: time,
    ...usage,
    containers: [{ name: 'app', startTime, ...usage, swap: { time, swapUsageBytes: 1, swapAvailableBytes: 2 } }],
  };
}

async function usageOf(server: TestServer): Promise<number | undefined> {
  return JSON.parse((await server.get('/stats/summary')).text).pods[0].containers[0].cpu.usageNanoCores;
}

async function serverWith(listPodStats: () => Promise<readonly PodStats[]>): Promise<TestServer> {
  const runtime = { listPods: async () => [], getPod: async () => undefined, execSync: async () => null as never };
  return TestServer.start({ runtime: { ...runtime, listPodStats } });
}

it('/stats/summary has the average CPU usage since the sample before, at least 10 s ago', async () => {
  let nanoseconds = 1e9;
  let startTime = time;
  await using server = await serverWith(async () => [
    podStats(nanoseconds, startTime, timeFromEpochMs(server.clock.now())),
  ]);
  const usageNanoCores = (): Promise<number | undefined> => usageOf(server);
  expect(await usageNanoCores()).toBeUndefined();
  server.clock.advance(10_000);
  nanoseconds = 3e9;
  expect(await usageNanoCores()).toBe(2e8);
  server.clock.advance(1000);
  nanoseconds = 4e9;
  expect(await usageNanoCores()).toBe(2e8);
  server.clock.advance(9000);
  expect(await usageNanoCores()).toBe(1e8);
  // Another run of the container.
  server.clock.advance(10_000);
  startTime = '2026-01-02T03:04:35Z';
  expect(await usageNanoCores()).toBeUndefined();
});

it('/stats/summary has the average CPU usage between the times at which values were measured that a cloud has kept', async () => {
  let stats = podStats(1e9, time, '2026-01-02T03:03:50Z');
  await using server = await serverWith(async () => [stats]);
  expect(await usageOf(server)).toBeUndefined();
  server.clock.advance(15_000);
  expect(await usageOf(server)).toBeUndefined();
  stats = podStats(7e9, time, '2026-01-02T03:04:20Z');
  expect(await usageOf(server)).toBe(2e8);
  server.clock.advance(15_000);
  expect(await usageOf(server)).toBe(2e8);
  stats = podStats(10e9, time, '2026-01-02T03:04:50Z');
  expect(await usageOf(server)).toBe(1e8);
});

it('/stats/summary has the average CPU usage again soon after the clock was set back', async () => {
  let stats = podStats(1e9, time, '2026-01-02T04:00:00Z');
  await using server = await serverWith(async () => [stats]);
  expect(await usageOf(server)).toBeUndefined();
  stats = podStats(2e9, time, '2026-01-02T03:00:00Z');
  expect(await usageOf(server)).toBeUndefined();
  stats = podStats(3e9, time, '2026-01-02T03:00:10Z');
  expect(await usageOf(server)).toBe(1e8);
});

it('/stats/summary has the average CPU usage of a pod that one response of the runtime lacked, for ten minutes', async () => {
  let listed = [podStats(1e9)];
  await using server = await serverWith(async () => listed);
  /** The usage when the pod is listed again, after it was not for the time. */
  const usageAfter = async (unlistedMs: number): Promise<number | undefined> => {
    await server.get('/stats/summary');
    listed = [];
    await server.get('/stats/summary');
    server.clock.advance(unlistedMs);
    await server.get('/stats/summary');
    listed = [podStats(7e9, time, timeFromEpochMs(server.clock.now()))];
    return usageOf(server);
  };
  expect(await usageAfter(600_000)).toBe(1e7);
  expect(await usageAfter(601_000)).toBeUndefined();
});

it('/stats/summary keeps at most 10,000 samples of pods that are not listed, the last ones', async () => {
  const pods = Array.from({ length: 10_001 }, (_, i) => ({
    ...podStats(1e9),
    podRef: { name: `p${i}`, namespace: 'default', uid: `u${i}` },
    containers: [],
  }));
  let listed = pods;
  await using server = await serverWith(async () => listed);
  await server.get('/stats/summary');
  listed = [];
  await server.get('/stats/summary');
  server.clock.advance(10_000);
  const measuredAt = timeFromEpochMs(server.clock.now());
  listed = pods.map((pod) => ({ ...pod, cpu: { time: measuredAt, usageCoreNanoSeconds: 2e9 } }));
  const summary = JSON.parse((await server.get('/stats/summary')).text) as { pods: PodStats[] };
  const without = summary.pods.filter(({ cpu }) => cpu?.usageNanoCores === undefined);
  expect(without.map(({ podRef }) => podRef.uid)).toEqual(['u0']);
});

it('/stats/summary has the node', async () => {
  await using server = await serverWith(async () => []);
  const { node } = JSON.parse((await server.get('/stats/summary', { method: 'POST' })).text);
  expect(node).toMatchObject({ nodeName: 'node-a', systemContainers: [{ name: 'kubelet' }] });
  expect(node.memory.availableBytes + node.memory.workingSetBytes).toBeGreaterThan(2 ** 20);
  expect(node.fs.capacityBytes).toBeGreaterThan(node.fs.availableBytes);
});

it('/stats/summary?only_cpu_and_memory=true has nothing else', async () => {
  const fs = { time, usedBytes: 1 };
  const stats = podStats(1e9);
  const containers = stats.containers.map((one) => ({ ...one, rootfs: fs, logs: fs }));
  await using server = await serverWith(async () => [
    { ...stats, containers, network: { name: 'eth0', time }, 'ephemeral-storage': fs },
  ]);
  const { node, pods } = JSON.parse((await server.get('/stats/summary?only_cpu_and_memory=true')).text);
  expect(pods).toEqual([stats]);
  const nodeFields = ['nodeName', 'startTime', 'cpu', 'memory', 'swap', 'systemContainers'];
  expect(Object.keys(node).filter((field) => !nodeFields.includes(field))).toEqual([]);
  for (const query of ['', '?only_cpu_and_memory=yes', '?only_cpu_and_memory=true&only_cpu_and_memory=true'])
    expect(JSON.parse((await server.get(`/stats/summary${query}`)).text).pods[0].network).toEqual({
      name: 'eth0',
      time,
    });
});

it.skipIf(!existsSync('/proc/pressure/cpu'))(
  '/stats/summary has the pressure stall information of the node (skipped without /proc/pressure)',
  async () => {
    await using server = await serverWith(async () => []);
    const { node } = JSON.parse((await server.get('/stats/summary')).text);
    const data = { total: expect.any(Number), avg10: expect.any(Number), avg60: expect.any(Number) };
    for (const { psi } of [node.cpu, node.memory, node.io]) expect(psi).toMatchObject({ full: data, some: data });
  },
);

it('/metrics/resource has the metrics of the kubelet', async () => {
  await using server = await serverWith(async () => [podStats(1.5e9)]);
  const { text, headers } = await server.get('/metrics/resource');
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  const stamp = Date.parse(time);
  const lines = text.split('\n').filter((line) => !line.startsWith('#') && !line.startsWith('node_'));
  expect(lines).toEqual([
    `container_start_time_seconds{container="app",namespace="default",pod="web"} ${stamp / 1000}`,
    `container_cpu_usage_seconds_total{container="app",namespace="default",pod="web"} 1.5 ${stamp}`,
    `container_memory_working_set_bytes{container="app",namespace="default",pod="web"} 4096 ${stamp}`,
    `container_swap_usage_bytes{container="app",namespace="default",pod="web"} 1 ${stamp}`,
    `container_swap_limit_bytes{container="app",namespace="default",pod="web"} 3 ${stamp}`,
    `pod_cpu_usage_seconds_total{namespace="default",pod="web"} 1.5 ${stamp}`,
    `pod_memory_working_set_bytes{namespace="default",pod="web"} 4096 ${stamp}`,
    'resource_scrape_error 0',
    'scrape_error 0',
    '',
  ]);
  expect(text).toMatch(
    /^# HELP node_cpu_usage_seconds_total .+\n# TYPE node_cpu_usage_seconds_total counter\nnode_cpu/,
  );
});

it('while the runtime does not respond, /stats/summary fails, /metrics/resource reports it, and the log says so once', async () => {
  await using server = await serverWith(async () => Promise.reject(new Error('connection refused')));
  expect(await server.get('/stats/summary')).toMatchObject({
    status: 500,
    text: 'failed to list pod stats: connection refused',
  });
  const { text } = await server.get('/metrics/resource');
  expect(text.match(/^[a-z].*$/gm)).toEqual(['resource_scrape_error 1', 'scrape_error 1']);
  expect(server.logger.warnings).toMatchObject([{ message: 'Reading the statistics of the runtime failed' }]);
});
