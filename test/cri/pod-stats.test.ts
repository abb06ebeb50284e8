import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import { type CRIClient } from '../../src/cri/cri-client.ts';
import { CRIError } from '../../src/cri/cri-error.ts';
import { CRIRuntime, type CRIRuntimeSettings } from '../../src/cri/cri-runtime.ts';
import { listPodStats, type ListPodStatsOptions } from '../../src/cri/list-pod-stats.ts';
import { hostPodFiles } from '../../src/cri/runtime-pod-files.ts';
import { TestDirectories } from '../support/directories.ts';
import { systemFiles } from '../../src/node/host-paths/host-files.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

const timestamp = Date.parse('2026-01-02T03:04:05Z') * 1e6;
const labels = { 'io.kubernetes.pod.uid': 'u' };
const usage = (id: string, cpu: number, memory: number): object => ({
  attributes: { id },
  cpu: { timestamp, usage_core_nano_seconds: { value: cpu }, usage_nano_cores: null },
  memory: { timestamp, working_set_bytes: { value: memory }, available_bytes: { value: 0 } },
  writable_layer: { timestamp, fs_id: { mountpoint: '/' }, used_bytes: { value: 1000 }, inodes_used: { value: 3 } },
  swap: null,
});
const container = (id: string, name: string, state = 'CONTAINER_RUNNING'): object => ({
  ...{ id, state, pod_sandbox_id: 's', metadata: { name }, created_at: timestamp, labels },
});
const responses: Record<string, object | Error> = {
  ListPodSandbox: {
    items: [
      { id: 's', metadata: { name: 'web', namespace: 'default', uid: 'u' }, created_at: timestamp, labels },
      { id: 'foreign', metadata: { name: 'x' }, created_at: timestamp, labels: {} },
    ],
  },
  ListContainers: {
    containers: [container('a', 'app'), container('b', 'log'), container('c', 'old', 'CONTAINER_EXITED')],
  },
  ListContainerStats: { stats: [usage('a', 5e9, 100), usage('b', 1e9, 10), usage('c', 7e9, 1000)] },
};

const hostFiles = (podLogsDirectory: string) =>
  hostPodFiles(systemFiles, { rootDirectory: '/none', podLogsDirectory, logger: silentLogger });
const listStats = (options: Omit<ListPodStatsOptions, 'files'>) =>
  listPodStats({ ...options, files: hostFiles(options.podLogsDirectory) });

function client(sandboxStats: object | Error): Pick<CRIClient, 'call'> {
  return {
    call: (async (method: string) => {
      const response = method === 'ListPodSandboxStats' ? sandboxStats : responses[method]!;
      if (response instanceof Error) throw response;
      return response;
    }) as CRIClient['call'],
  };
}

it('has the usage of running containers, and of the pod as the runtime reports it', async () => {
  const podLogsDirectory = directories.create();
  mkdirSync(join(podLogsDirectory, 'default_web_u', 'app'), { recursive: true });
  writeFileSync(join(podLogsDirectory, 'default_web_u', 'app', '0.log'), 'x'.repeat(5000));
  const network = { name: 'eth0', rx_bytes: { value: 1 }, rx_errors: null, tx_bytes: { value: 2 }, tx_errors: null };
  const linux = {
    cpu: { timestamp, usage_core_nano_seconds: { value: 8e9 }, usage_nano_cores: { value: 7 } },
    memory: { timestamp, working_set_bytes: { value: 200 }, available_bytes: { value: 2 ** 64 } },
    network: { timestamp: 0, default_interface: network, interfaces: [] },
    process: { timestamp, process_count: { value: 4 } },
  };
  const sandboxStats = { stats: [{ attributes: { id: 's' }, linux }] };
  const [pod, ...others] = await listStats({ client: client(sandboxStats), podLogsDirectory, signal: undefined });
  expect(others).toEqual([]);
  const time = '2026-01-02T03:04:05Z';
  expect(pod).toMatchObject({
    podRef: { name: 'web', namespace: 'default', uid: 'u' },
    startTime: time,
    cpu: { time, usageCoreNanoSeconds: 8e9, usageNanoCores: 7 },
    memory: { time, workingSetBytes: 200, availableBytes: undefined },
    network: { time, name: 'eth0', rxBytes: 1, txBytes: 2, interfaces: [{ name: 'eth0' }] },
    process_stats: { process_count: 4 },
  });
  expect(pod!.containers.map(({ name, cpu, rootfs }) => [name, cpu?.usageCoreNanoSeconds, rootfs?.usedBytes])).toEqual([
    ['app', 5e9, 1000],
    ['log', 1e9, 1000],
  ]);
  const logBytes = pod!.containers[0]!.logs!.usedBytes!;
  expect(logBytes).toBeGreaterThanOrEqual(5000);
  expect(pod!['ephemeral-storage']).toMatchObject({ usedBytes: 2000 + logBytes });
});

it('has the pressure stall information of the runtime', async () => {
  const [some, full] = [10, 5].map((Total) => ({ Total, Avg10: 0.5, Avg60: 0.25, Avg300: 0.125 }));
  const psi = { Some: some, Full: full };
  const [cpu, memory, io] = [
    { timestamp, psi },
    { timestamp, psi: null },
    { timestamp, psi },
  ];
  const sandboxStats = { stats: [{ attributes: { id: 's' }, linux: { cpu, memory, io } }] };
  const options = { client: client(sandboxStats), podLogsDirectory: directories.create(), signal: undefined };
  const [pod] = await listStats(options);
  const averages = { avg10: 0.5, avg60: 0.25, avg300: 0.125 };
  const expected = { full: { total: 5, ...averages }, some: { total: 10, ...averages } };
  expect(pod).toMatchObject({ cpu: { psi: expected }, memory: { psi: undefined }, io: { psi: expected } });
});

it('sums the containers of a pod if the runtime has no statistics of sandboxes', async () => {
  const unimplemented = new CRIError({ code: 12, details: 'unknown method', message: '' });
  const options = { client: client(unimplemented), podLogsDirectory: directories.create(), signal: undefined };
  const [pod] = await listStats(options);
  expect(pod).toMatchObject({ cpu: { usageCoreNanoSeconds: 6e9 }, memory: { workingSetBytes: 110 } });
});

it('asks for each sandbox, one after the other, if the runtime cannot list them because one has been stopped', async () => {
  const stopped = new CRIError({ code: 2, details: 'sandbox is not in ready state', message: '' });
  const linux = { cpu: null, memory: { timestamp, working_set_bytes: { value: 300 } }, network: null, process: null };
  const { call } = client(stopped);
  const asked: unknown[] = [];
  const withEach = (async (method: string, request: never) => {
    if (method !== 'PodSandboxStats') return call(method as never, request);
    asked.push(request);
    await Promise.resolve();
    asked.push('responds');
    if ((request as { pod_sandbox_id: string }).pod_sandbox_id !== 's') throw stopped;
    return { stats: { attributes: { id: 's' }, linux } };
  }) as CRIClient['call'];
  const options = { client: { call: withEach }, podLogsDirectory: directories.create(), signal: undefined };
  const [pod] = await listStats(options);
  expect(asked).toEqual([{ pod_sandbox_id: 's' }, 'responds', { pod_sandbox_id: 'foreign' }, 'responds']);
  expect(pod).toMatchObject({ memory: { workingSetBytes: 300 } });
});

it('asks only for ready sandboxes, with the signal of the caller, and each one that ends meanwhile is left out', async () => {
  const stopped = new CRIError({ code: 2, details: 'sandbox is not in ready state', message: '' });
  const { signal } = new AbortController();
  const { call } = client(stopped);
  const calls: unknown[] = [];
  const recording = (async (method: string, request: never, options: { readonly signal?: AbortSignal }) => {
    calls.push([method, request, options.signal === signal]);
    return method === 'PodSandboxStats' ? { stats: null } : call(method as never, request);
  }) as CRIClient['call'];
  const [pod] = await listStats({ client: { call: recording }, podLogsDirectory: directories.create(), signal });
  expect(calls).toEqual([
    ['ListPodSandbox', { filter: { state: { state: 'SANDBOX_READY' } } }, true],
    ['ListContainers', {}, true],
    ['ListContainerStats', {}, true],
    ['ListPodSandboxStats', {}, true],
    ['PodSandboxStats', { pod_sandbox_id: 's' }, true],
    ['PodSandboxStats', { pod_sandbox_id: 'foreign' }, true],
  ]);
  // What containers have is added up.
  expect(pod).toMatchObject({ cpu: { usageCoreNanoSeconds: 6e9 } });
});

it('rejects if the caller no longer waits, or for a failure that is not of the runtime', async () => {
  const stopped = new CRIError({ code: 2, details: 'sandbox is not in ready state', message: '' });
  const failing = (failure: unknown): Pick<CRIClient, 'call'> => ({
    call: async (method: string, request: never) => {
      if (method === 'PodSandboxStats') throw failure;
      return client(stopped).call(method as never, request);
    },
  });
  const podLogsDirectory = directories.create();
  const options = { podLogsDirectory, signal: undefined };
  await expect(listStats({ ...options, client: failing(new Error('bug')) })).rejects.toThrow('bug');
  const signal = AbortSignal.abort(new Error('enough'));
  await expect(listStats({ podLogsDirectory, signal, client: failing(stopped) })).rejects.toThrow('enough');
});

describe('the statistics of a container', () => {
  const uint = (value: number) => ({ value });
  const later = timestamp + 2e9;

  /** Of the only container, whose sandbox has no statistics of its own. */
  async function statsOf(fields: object, sandbox: object = {}) {
    const podLogsDirectory = directories.create();
    const call = async (method: string): Promise<object> =>
      ({
        ListPodSandbox: { items: [{ id: 's', metadata: null, created_at: timestamp, labels, ...sandbox }] },
        ListContainers: { containers: [container('a', 'app'), container('b', 'log')] },
        ListContainerStats: {
          stats: [
            { attributes: { id: 'a' }, cpu: null, memory: null, io: null, writable_layer: null, swap: null, ...fields },
            { attributes: { id: 'unknown' }, cpu: null },
            { attributes: null, cpu: null },
          ],
        },
        ListPodSandboxStats: {
          stats: [
            { attributes: null, linux: {} },
            { attributes: { id: 's' }, linux: null },
          ],
        },
      })[method]!;
    const [pod, ...others] = await listStats({
      client: { call: call as CRIClient['call'] },
      ...{ podLogsDirectory, signal: undefined },
    });
    expect(others).toEqual([]);
    return pod!;
  }

  it('are those that the runtime knows, and none else', async () => {
    const time = '2026-01-02T03:04:05Z';
    const none = await statsOf({});
    expect(none).toEqual({
      ...{ podRef: { name: '', namespace: '', uid: '' }, startTime: time },
      containers: [{ name: 'app', startTime: time }],
    });
    const unknown = {
      cpu: { timestamp, usage_core_nano_seconds: null, usage_nano_cores: null },
      memory: { timestamp, working_set_bytes: null, available_bytes: null },
      swap: { timestamp, swap_available_bytes: null, swap_usage_bytes: null },
      writable_layer: { timestamp, fs_id: null, used_bytes: null, inodes_used: null },
    };
    expect((await statsOf(unknown)).containers).toEqual([
      { name: 'app', startTime: time, cpu: { time }, memory: { time }, swap: { time }, rootfs: { time } },
    ]);
  });

  it('are memory, swap and the writable layer with its file system', async () => {
    const pod = await statsOf({
      memory: {
        timestamp: later,
        ...{ working_set_bytes: uint(1), available_bytes: uint(2), usage_bytes: uint(3), rss_bytes: uint(4) },
        ...{ page_faults: uint(5), major_page_faults: uint(6), psi: { Full: null, Some: null } },
      },
      swap: { timestamp: later, swap_available_bytes: uint(7), swap_usage_bytes: uint(8) },
      writable_layer: {
        timestamp: later,
        fs_id: { mountpoint: '/no/such/path' },
        used_bytes: uint(9),
        inodes_used: uint(10),
      },
    });
    const time = '2026-01-02T03:04:07Z';
    const zero = { total: 0, avg10: 0, avg60: 0, avg300: 0 };
    const memory = { time, usageBytes: 3, workingSetBytes: 1, rssBytes: 4, pageFaults: 5, majorPageFaults: 6 };
    expect(pod.containers[0]).toMatchObject({
      memory: { ...memory, availableBytes: 2, psi: { full: zero, some: zero } },
      swap: { time, swapAvailableBytes: 7, swapUsageBytes: 8 },
      rootfs: { time, usedBytes: 9, inodesUsed: 10 },
    });
    expect(pod.containers[0]!.rootfs).not.toHaveProperty('capacityBytes');
    // What is available to several containers cannot be added up.
    expect(pod.memory).toEqual(memory);
    expect(pod['ephemeral-storage']).toEqual({ time, usedBytes: 9, inodesUsed: 10 });
  });

  it.each([
    [0, undefined],
    [1, 1],
    [Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
    [2 ** 63, undefined],
  ])('without a limit have no available memory: %d', async (available, expected) => {
    const memory = { timestamp, working_set_bytes: uint(1), available_bytes: uint(available) };
    expect((await statsOf({ memory })).containers[0]!.memory!.availableBytes).toBe(expected);
  });
});

it('a pod whose runtime names no main interface has the others; the time is that of the processor if there is no other', async () => {
  const one = { name: 'eth1', rx_bytes: null, rx_errors: { value: 3 }, tx_bytes: null, tx_errors: { value: 4 } };
  const linux = (fields: object) => ({
    ...{ cpu: { timestamp, usage_core_nano_seconds: null, usage_nano_cores: null }, memory: null, process: null },
    ...fields,
  });
  const statsWith = async (fields: object) => {
    const stats = { stats: [{ attributes: { id: 's' }, linux: linux(fields) }] };
    return (await listStats({ client: client(stats), podLogsDirectory: directories.create(), signal: undefined }))[0]!;
  };
  const own = { name: 'eth1', rxErrors: 3, txErrors: 4 };
  const network = { timestamp: timestamp + 1e9, default_interface: null, interfaces: [one] };
  expect((await statsWith({ network })).network).toEqual({ time: '2026-01-02T03:04:06Z', name: '', interfaces: [own] });
  const timeless = { timestamp: 0, default_interface: one, interfaces: [one] };
  expect((await statsWith({ network: timeless, cpu: null })).network).toMatchObject({ time: '1970-01-01T00:00:00Z' });
  expect((await statsWith({ network: timeless })).network).toEqual({
    ...{ time: '2026-01-02T03:04:05Z', ...own, interfaces: [own, own] },
  });
  expect((await statsWith({ process: { process_count: null } })).process_stats).toEqual({});
});

it('rejects if the runtime does not respond', async () => {
  const unavailable = new CRIError({ code: 14, details: 'connection refused', message: '' });
  const options = { client: client(unavailable), podLogsDirectory: '/none', signal: undefined };
  await expect(listStats(options)).rejects.toThrow('connection refused');
});

it('is read by one caller at a time, because concurrent calls may crash containerd 1.6', async () => {
  const { call } = client({ stats: [] });
  const calls: string[] = [];
  let respond = (): void => {};
  const slow = (async (method: string, request: never) => {
    calls.push(method);
    if (method === 'ListPodSandboxStats') await new Promise<void>((resolve) => (respond = resolve));
    return call(method as never, request);
  }) as CRIClient['call'];
  const settings = {
    ...{ client: { call: slow }, podLogsDirectory: '/none', containerLogMaxSizeBytes: Infinity },
    ...{ files: hostFiles('/none'), clock: new FakeClock() },
  };
  const runtime = new CRIRuntime({ ...(settings as object as CRIRuntimeSettings) });
  const gone = new AbortController();
  const first = runtime.listPodStats();
  const aborted = runtime.listPodStats({ signal: gone.signal });
  const last = runtime.listPodStats();
  const ofOne = ['ListPodSandbox', 'ListContainers', 'ListContainerStats', 'ListPodSandboxStats'];
  await expect.poll(() => calls).toEqual(ofOne);
  gone.abort(new Error('no longer needed'));
  respond();
  await first;
  await expect(aborted).rejects.toThrow('no longer needed');
  await expect.poll(() => calls).toEqual([...ofOne, ...ofOne]);
  respond();
  await expect(last).resolves.toHaveLength(1);
});
