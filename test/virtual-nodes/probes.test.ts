import { Server, ServerCredentials, type handleUnaryCall } from '@grpc/grpc-js';
import { once } from 'node:events';
import { createServer as createHTTPServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import type { Writable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Container, Pod, PodSpec, Probe } from 'kubelet-status-manager';
import { createVirtualNodes, type PodProvider, type VirtualNodes } from 'kubelet-status-manager/virtual-nodes';
import { createPrometheusMetrics } from 'kubelet-status-manager/prometheus';
import { settle } from 'kubelet-status-manager/testing';
import { Registry } from 'prom-client';
import { podClientOf } from '../../src/kube/http/http-pod-client.ts';
import { podOf, TestNodes } from './test-nodes.ts';

const host = '127.0.0.1';
let test: TestNodes;
/** What the commands of probes resolve with; a promise of none never settles. */
let exec: (command: readonly string[], stdout: Writable) => number | Promise<number>;
let commands: { readonly pod: string; readonly container: string; readonly command: readonly string[] }[];
let kills: object[];
let onKill: () => void;

beforeEach(async () => {
  test = await TestNodes.start();
  exec = () => 0;
  commands = [];
  kills = [];
  onKill = () => {};
});
afterEach(() => test[Symbol.asyncDispose]());

type Methods = { readonly [Name in 'exec' | 'killContainer']?: PodProvider[Name] | undefined };

/** A cloud whose virtual nodes run the probes. */
function provider(methods: Methods = {}, capabilities: PodProvider['capabilities'] = {}): PodProvider {
  const complete: Methods = {
    exec: async (pod, container, command, { stdout }) => {
      commands.push({ pod: pod.name, container, command });
      return exec(command, stdout!);
    },
    killContainer: async ({ name }, container, { restartCount, gracePeriodSeconds, epoch, signal }) => {
      kills.push({ name, container, restartCount, gracePeriodSeconds });
      expect([epoch, signal.aborted]).toEqual([0, false]);
      onKill();
    },
    ...methods,
  };
  return test.cloud.asProvider({
    ...(complete as Partial<PodProvider>),
    capabilities: { probes: 'node', sidecars: true, ...capabilities },
  });
}

const probed = (container: Partial<Container>, spec: Partial<PodSpec> = {}): Pod =>
  podOf('web', { containers: [{ name: 'app', image: 'app:1', ...container }], ...spec });
const command: Probe = { exec: { command: ['check'] }, periodSeconds: 5 };

/** The pod runs, with the address of this machine. */
async function run(pod: Pod, methods: Methods = {}): Promise<void> {
  await test.startNodes(['node-a'], { provider: provider(methods) });
  await test.create(pod);
  await test.advance(1500);
  test.cloud.report('web', { ips: [host] });
  await test.advance(6000);
  expect(test.status('web')?.phase).toBe('Running');
}

/** Lets time pass until the pod on the API server is as wanted; servers respond in real time. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) {
    await test.advance(100);
    await test.clock.yieldToEventLoop();
  }
}

const isReady = (): boolean => test.condition('web', 'Ready') === 'True';

async function listen(server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, host);
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

describe('readiness of a pod whose virtual node probes it follows', () => {
  it('its HTTP server', async () => {
    let statusCode = 503;
    const port = await listen(
      createHTTPServer((request, response) => {
        expect(request.headers['user-agent']).toMatch(/^kube-probe\//);
        response.writeHead(statusCode).end();
      }),
    );
    await run(probed({ readinessProbe: { httpGet: { port, path: '/ready' }, periodSeconds: 1 } }));
    expect(isReady()).toBe(false);
    await until(() => test.eventsOf('Unhealthy').length > 0);
    expect(test.eventsOf('Unhealthy')).toEqual([
      'Warning: Readiness probe failed: HTTP probe failed with statuscode: 503',
    ]);
    statusCode = 200;
    await until(isReady);
    expect(test.status('web')?.containerStatuses).toMatchObject([{ ready: true, started: true }]);
    statusCode = 500;
    await until(() => !isReady());
    expect(test.status('web')?.containerStatuses).toMatchObject([{ ready: false, started: true }]);
  });

  it('its TCP server', async () => {
    const server = createServer((socket) => socket.destroy());
    const port = await listen(server);
    await run(probed({ readinessProbe: { tcpSocket: { port }, periodSeconds: 1 } }));
    await until(isReady);
    server.close();
    await until(() => !isReady());
    expect(test.eventsOf('Unhealthy')).toEqual([
      `Warning: Readiness probe failed: dial tcp ${host}:${port}: connect: connection refused`,
    ]);
  });

  it('its gRPC server', async () => {
    let status = 1;
    const server = new Server();
    const asIs = (bytes: Buffer): Buffer => bytes;
    const method = { requestStream: false, responseStream: false, requestSerialize: asIs, requestDeserialize: asIs };
    const path = '/grpc.health.v1.Health/Check';
    const check: handleUnaryCall<Buffer, Buffer> = (_, callback) => callback(null, Buffer.from([8, status]));
    server.addService({ Check: { ...method, path, responseSerialize: asIs, responseDeserialize: asIs } } as const, {
      Check: check,
    });
    onTestFinished(() => server.forceShutdown());
    const port = await new Promise<number>((resolve, reject) =>
      server.bindAsync(`${host}:0`, ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      ),
    );
    await run(probed({ readinessProbe: { grpc: { port }, periodSeconds: 1 } }));
    await until(isReady);
    status = 2;
    await until(() => !isReady());
    const message = 'service unhealthy (responded with "NOT_SERVING")';
    expect(test.eventsOf('Unhealthy')).toEqual([`Warning: Readiness probe failed: ${message}`]);
  });

  it('a command that the provider runs', async () => {
    exec = (_, stdout) => {
      stdout.write('not yet');
      return 1;
    };
    await run(probed({ readinessProbe: command, env: [{ name: 'A', value: 'b' }] }));
    await test.advance(5000);
    expect(isReady()).toBe(false);
    expect(test.eventsOf('Unhealthy')).toEqual(['Warning: Readiness probe failed: not yet']);
    expect(commands[0]).toEqual({ pod: 'web', container: 'app', command: ['check'] });
    exec = () => 0;
    await test.advance(6000);
    expect(isReady()).toBe(true);
  });

  it('its own probes only: a container without one is as the cloud reports it', async () => {
    exec = () => 1;
    await run(
      podOf('web', {
        containers: [
          { name: 'app', image: 'app:1', readinessProbe: command },
          { name: 'proxy', image: 'proxy:1' },
        ],
      }),
    );
    test.cloud.report('web', { containers: [{ name: 'app', ready: true }, { name: 'proxy' }] });
    await test.advance(6000);
    expect(test.status('web')?.containerStatuses).toMatchObject([
      { name: 'app', ready: false },
      { name: 'proxy', ready: true },
    ]);
    test.cloud.report('web', { containers: [{ name: 'app' }, { name: 'proxy', ready: false }] });
    exec = () => 0;
    await test.advance(6000);
    expect(test.status('web')?.containerStatuses).toMatchObject([{ ready: true }, { ready: false }]);
  });
});

describe('a container whose probe has failed', () => {
  it('liveness: is killed once in each run, with the grace period of the probe, and probed in its next run', async () => {
    const livenessProbe = { ...command, failureThreshold: 2, terminationGracePeriodSeconds: 7 };
    await run(probed({ livenessProbe }));
    exec = () => 1;
    await test.advance(12_000);
    expect(kills).toEqual([{ name: 'web', container: 'app', restartCount: 0, gracePeriodSeconds: 7 }]);
    expect(test.eventsOf('Killing')).toEqual(['Normal: Container app failed liveness probe, will be restarted']);
    const { length } = commands;
    await test.advance(60_000);
    expect(commands).toHaveLength(length);
    expect(kills).toHaveLength(1);
    exec = () => 0;
    test.cloud.report('web', { containers: [{ name: 'app', restartCount: 1, exit: undefined }] });
    await test.advance(30_000);
    expect(commands.length).toBeGreaterThan(length + 2);
    expect(test.status('web')).toMatchObject({ phase: 'Running', containerStatuses: [{ restartCount: 1 }] });
    exec = () => 1;
    await test.advance(12_000);
    expect(kills).toMatchObject([{ restartCount: 0 }, { restartCount: 1 }]);
  });

  it('startup: is not started, and is killed', async () => {
    exec = () => 1;
    await run(probed({ startupProbe: { ...command, failureThreshold: 2 } }, { restartPolicy: 'Never' }));
    expect(test.status('web')?.containerStatuses).toMatchObject([{ ready: false, started: false }]);
    await test.advance(12_000);
    expect(kills).toEqual([{ name: 'web', container: 'app', restartCount: 0, gracePeriodSeconds: 30 }]);
    expect(test.eventsOf('Killing')).toEqual(['Normal: Container app failed startup probe']);
  });

  it('of a sidecar is killed, too', async () => {
    const sidecar = { name: 'proxy', image: 'p', restartPolicy: 'Always', livenessProbe: command };
    await run(probed({}, { initContainers: [sidecar] }));
    exec = () => 1;
    await test.advance(20_000);
    expect(kills).toMatchObject([{ container: 'proxy' }]);
    expect(test.eventsOf('Killing')).toEqual(['Normal: Init container proxy failed liveness probe, will be restarted']);
  });

  it('is killed again after failures, with back-off, an Event and the reason in inspect()', async () => {
    await run(probed({ livenessProbe: { ...command, failureThreshold: 1 } }));
    exec = () => 1;
    onKill = () => {
      throw new Error('The cloud is busy');
    };
    await test.advance(40_000);
    expect(kills.length).toBeGreaterThan(3);
    expect(kills.length).toBeLessThan(9);
    expect(test.eventsOf('ProviderKillFailed')).toContain('Warning: The cloud is busy');
    expect(test.eventsOf('Killing')).toHaveLength(1);
    expect(test.nodes.inspect().nodes[0]?.podWorkers).toMatchObject([{ failureReason: 'The cloud is busy' }]);
    onKill = () => {};
    await test.advance(60_000);
    const { length } = kills;
    await test.advance(30_000);
    expect(kills).toHaveLength(length);
  });

  it('is killed again if it still runs a minute after its grace period', async () => {
    await run(probed({ livenessProbe: { ...command, failureThreshold: 1, terminationGracePeriodSeconds: 1 } }));
    exec = () => 1;
    await test.advance(55_000);
    expect(kills).toHaveLength(1);
    await test.advance(120_000);
    expect(kills.length).toBeGreaterThan(1);
  });
});

describe('with `restarts: node`, a pod that killContainer has stopped', () => {
  /** The commands that fail. */
  let failing: Set<string>;
  const named = (name: string): Probe => ({ exec: { command: [name] }, periodSeconds: 1, failureThreshold: 2 });
  const containerOf = () => test.status('web')?.containerStatuses?.[0];
  const startOver = async (spec: Partial<PodSpec>): Promise<void> => {
    failing = new Set();
    exec = ([name]) => (failing.has(name!) ? 1 : 0);
    onKill = () => test.cloud.stop('web', 137);
    await test.startNodes(['node-a'], { provider: provider({}, { restarts: 'node' }) });
    await test.create(probed({}, spec));
    await test.advance(20_000);
    expect(isReady()).toBe(true);
    commands.length = 0;
    failing.add('live');
  };
  const startupProbe = { ...named('start'), failureThreshold: 60 };
  const probes = { startupProbe, livenessProbe: named('live'), readinessProbe: named('ready') };

  it('runs again with back-off, and is probed as in its first run: for startup first, and not ready before that', async () => {
    await startOver({ containers: [{ name: 'app', image: 'app:1', ...probes }] });
    failing.add('start');
    await until(() => containerOf()?.restartCount === 1 && containerOf()?.state?.running !== undefined);
    expect(kills).toMatchObject([{ container: 'app', restartCount: 0 }]);
    commands.length = 0;
    await test.advance(5000);
    expect(containerOf()).toMatchObject({
      ...{ restartCount: 1, ready: false, started: false, state: { running: {} } },
      lastState: { terminated: { exitCode: 137 } },
    });
    expect(new Set(commands.map((probe) => probe.command[0]))).toEqual(new Set(['start']));
    failing = new Set();
    await until(isReady);
    expect(containerOf()).toMatchObject({ restartCount: 1, ready: true, started: true });
    failing = new Set(['live']);
    await until(() => containerOf()?.state?.waiting?.reason === 'CrashLoopBackOff');
    commands.length = 0;
    await test.advance(5000);
    expect(commands).toEqual([]);
    failing = new Set();
    await until(isReady);
    expect(kills).toMatchObject([{ restartCount: 0 }, { restartCount: 1 }]);
    expect(test.cloud.starts.map(({ restartCount }) => restartCount)).toEqual([0, 1, 2]);
  });

  it('is not ready in its next run until its own probe has succeeded', async () => {
    const readinessProbe = { ...named('ready'), initialDelaySeconds: 10 };
    await startOver({ containers: [{ name: 'app', image: 'app:1', livenessProbe: named('live'), readinessProbe }] });
    await until(() => kills.length === 1);
    failing = new Set();
    await until(() => containerOf()?.state?.running !== undefined && containerOf()?.restartCount === 1);
    await test.advance(5000);
    expect(containerOf()).toMatchObject({ ready: false, started: true });
    await until(isReady);
  });

  it('runs again as a whole, and fails with restartPolicy Never', async () => {
    const containers = [
      { name: 'app', image: 'app:1', livenessProbe: named('live') },
      { name: 'other', image: 'other:1' },
    ];
    await startOver({ containers });
    await until(() => kills.length === 1);
    failing = new Set();
    await test.advance(20_000);
    const again = { restartCount: 1, state: { running: {} }, lastState: { terminated: { exitCode: 137 } } };
    expect(test.status('web')).toMatchObject({ phase: 'Running', containerStatuses: [again, again] });
    failing.add('live');
    const { metadata, spec } = probed({ livenessProbe: named('live') }, { restartPolicy: 'Never' });
    await test.create({ metadata: { ...metadata, name: 'once' }, spec: spec! });
    onKill = () => test.cloud.stop('once', 137);
    await until(() => test.status('once')?.phase === 'Failed');
    await test.advance(20_000);
    const ended = { restartCount: 0, state: { terminated: { exitCode: 137 } } };
    expect(test.status('once')).toMatchObject({ phase: 'Failed', containerStatuses: [ended] });
    expect(test.cloud.starts.filter(({ name }) => name === 'once')).toHaveLength(1);
  });
});

it('a run that started while no process had the node is neither started nor ready before its own probes', async () => {
  const probes = { startupProbe: { ...command, failureThreshold: 60 }, readinessProbe: command };
  await run(probed(probes));
  await until(isReady);
  await test.stopNodes();
  exec = () => 1;
  test.cloud.report('web', { containers: [{ name: 'app', restartCount: 1, startedAt: new Date(test.clock.now()) }] });
  await test.clock.advanceAsync(60_000, () => settle(test.clock, test.server));
  await test.startNodes(['node-a'], { provider: provider() });
  await test.advance(3000);
  const containerOf = () => test.status('web')?.containerStatuses?.[0];
  expect(containerOf()).toMatchObject({ restartCount: 1, started: false, ready: false, state: { running: {} } });
  await test.advance(20_000);
  expect(containerOf()).toMatchObject({ restartCount: 1, started: false, ready: false });
  exec = () => 0;
  await until(isReady);
});

it('with `undeclared: warn`, an Event says which method a probe lacks', async () => {
  const lacking = { exec: undefined, killContainer: undefined };
  await test.startNodes(['node-a'], { provider: provider(lacking), undeclared: 'warn' });
  const liveness = { tcpSocket: { port: 1 }, periodSeconds: 1, failureThreshold: 1 };
  await test.create(probed({ readinessProbe: command, livenessProbe: liveness }));
  await test.advance(1500);
  test.cloud.report('web', { ips: [host] });
  await until(() => test.eventsOf('ProviderFailed').length > 0 && test.eventsOf('Unhealthy').length > 1);
  expect(test.eventsOf('ProviderFailed')).toContain('Warning: The provider has no method killContainer');
  expect(test.eventsOf('Unhealthy').join()).toContain('unknown state: The provider has no method exec');
});

describe('nothing is probed', () => {
  it('after the end of its pod', async () => {
    await run(probed({ readinessProbe: command, livenessProbe: command }));
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 2 });
    await test.advance(8000);
    expect(test.pod('web')).toBeUndefined();
    commands.length = 0;
    await test.advance(60_000);
    expect(commands).toEqual([]);
  });

  it('in a container that has ended for good, and nothing is done for it while another one runs', async () => {
    const containers = ['app', 'job'].map((name) => ({ name, image: 'i', readinessProbe: command }));
    await run(podOf('web', { containers, restartPolicy: 'OnFailure' }));
    test.cloud.report('web', { containers: [{ name: 'app' }, { name: 'job', exit: { exitCode: 0 } }] });
    await test.advance(10_000);
    commands.length = 0;
    test.writes.length = 0;
    await test.advance(60_000);
    expect(new Set(commands.map(({ container }) => container))).toEqual(new Set(['app']));
    expect(test.writes.filter((write) => write.includes('/pods/'))).toEqual([]);
  });

  it('for liveness while its pod ends', async () => {
    test.cloud.stopMs = 60_000;
    await run(probed({ livenessProbe: command }));
    await test.advance(6000);
    expect(commands).not.toEqual([]);
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 60 });
    await test.advance(1000);
    commands.length = 0;
    await test.advance(30_000);
    expect(commands).toEqual([]);
    expect(test.pod('web')).toBeDefined();
  });

  it('after its node has stopped', async () => {
    await run(probed({ readinessProbe: command }));
    await test.stopNodes();
    commands.length = 0;
    await test.clock.advanceAsync(60_000, () => settle(test.clock, test.server));
    expect(commands).toEqual([]);
  });

  it('if it has no address, with an Event', async () => {
    await test.startNodes(['node-a'], { provider: provider() });
    await test.create(probed({ readinessProbe: { tcpSocket: { port: 80 }, periodSeconds: 1 } }));
    test.cloud.startMs = 1e6;
    await test.advance(1500);
    test.cloud.report('web', { state: 'running', ips: [] });
    await test.advance(8000);
    expect(isReady()).toBe(false);
    expect(test.eventsOf('Unhealthy')).toContain(
      'Warning: Readiness probe errored and resulted in unknown state: the pod has no IP address',
    );
  });

  it('by a process that has stopped; the next one keeps the readiness until its first result', async () => {
    await run(probed({ readinessProbe: { ...command, initialDelaySeconds: 60 } }));
    await test.advance(80_000);
    expect(isReady()).toBe(true);
    await test.stopNodes();
    commands.length = 0;
    await test.startNodes(['node-a'], { provider: provider(), random: () => 0.9 });
    await test.advance(3000);
    expect([commands.length, isReady()]).toEqual([0, true]);
    exec = () => 1;
    await test.advance(20_000);
    expect(isReady()).toBe(false);
  });
});

describe('with replicas', () => {
  /** Who has probed, by `identity epoch`; and who has killed. */
  let probes: string[];
  let killers: string[];
  let replicas: Record<string, VirtualNodes>;
  /** Whose Leases cannot be written. */
  let cutOff: string | undefined;
  const advance = (ms: number) => test.clock.advanceAsync(ms, () => settle(test.clock, test.server));
  const clientOf = (identity: string) => {
    const { transport } = test.server.client();
    return podClientOf({
      ...transport,
      request: (method, path, ...more) =>
        identity === cutOff && method !== 'GET' && path.includes('/leases/')
          ? Promise.reject(new Error('cut off'))
          : transport.request(method, path, ...more),
    });
  };
  const replica = (identity: string): void => {
    const nodes = createVirtualNodes({
      ...{ client: clientOf(identity), clock: test.clock, logger: test.logger },
      replicas: { identity, namespace: 'default' },
      provider: provider({
        exec: async (_pod, _name, words, { stdout }, { epoch }) => {
          probes.push(`${identity} ${epoch}`);
          return exec(words, stdout!);
        },
        killContainer: async (_pod, _name, { epoch }) => void killers.push(`${identity} ${epoch}`),
      }),
    });
    nodes.add(test.node('node-a'));
    nodes.start();
    replicas[identity] = nodes;
  };
  /** Both processes, and a pod whose probes succeed. Resolves with the identities of the node's owner and of the other one. */
  const start = async (container: Partial<Container>): Promise<readonly [string, string]> => {
    [probes, killers, replicas, cutOff] = [[], [], {}, undefined];
    replica('a');
    await advance(15_000);
    replica('b');
    // The node may be handed over to the process that has joined.
    await advance(30_000);
    const { metadata, spec } = probed(container);
    test.server.pods.create({
      ...{ metadata: { ...metadata, namespace: 'default' } },
      spec: { ...spec!, nodeName: 'node-a' },
    });
    await advance(30_000);
    expect(new Set(probes).size).toBe(1);
    expect(isReady()).toBe(true);
    return probes[0]!.startsWith('a ') ? ['a', 'b'] : ['b', 'a'];
  };
  const stop = async (identity: string): Promise<void> => {
    const stopped = replicas[identity]!.stop();
    await advance(20_000);
    await stopped;
  };

  it('the owner of a node probes its pods, and after a takeover nobody else', async () => {
    const [owner, other] = await start({ readinessProbe: command });
    const [before] = probes;
    probes = [];
    await stop(owner);
    const taken = new Set(probes);
    await advance(20_000);
    expect([...taken].filter((probe) => probe !== before)).toHaveLength(1);
    expect(new Set(probes.slice(-3)).size).toBe(1);
    expect(probes.at(-1)).not.toBe(before);
    await stop(other);
  });

  it('a process whose Lease is lost neither probes nor kills: the result of its last probe has no effect, and the new owner probes', async () => {
    const liveness = { ...command, failureThreshold: 1, timeoutSeconds: 600 };
    const [owner, other] = await start({ livenessProbe: liveness });
    const [before] = probes;
    // The last probe of the owner ends when it no longer owns the node.
    let endLast = (_exitCode: number): void => {};
    exec = () => new Promise((resolve) => (endLast = resolve));
    probes = [];
    while (probes.length === 0) await advance(100);
    cutOff = owner;
    exec = () => 0;
    // As after SIGSTOP: the time is over, and nothing has been done about it yet.
    test.clock.advance(30_000);
    endLast(1);
    while (replicas[other]!.node('node-a') === undefined) await advance(100);
    await advance(30_000);
    expect(probes.filter((probe) => probe === before)).toHaveLength(1);
    expect(new Set(probes.slice(1)).size).toBe(1);
    expect(probes[1]).toMatch(other);
    expect(killers).toEqual([]);
    expect(test.eventsOf('Killing')).toEqual([]);
    exec = () => 1;
    await advance(20_000);
    expect(killers).toEqual([probes[1]]);
    await stop(owner);
    await stop(other);
  });
});

it('a command that never ends, a killContainer that fails, and a server that floods are in Events, inspect() and the metrics', async () => {
  const register = new Registry();
  const metrics = createPrometheusMetrics({ register });
  const metric = async (name: string): Promise<number> =>
    Number(
      (await register.metrics())
        .split('\n')
        .find((line) => line.startsWith(`kubelet_${name} `))
        ?.split(' ')
        .at(-1),
    );
  const port = await listen(
    createServer((socket) => {
      socket.on('error', () => {});
      const flood = (): void =>
        void (socket.write('x'.repeat(100_000)) ? setImmediate(flood) : socket.once('drain', flood));
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      flood();
    }),
  );
  const never = provider({
    exec: () => new Promise(() => {}),
    killContainer: () => {
      throw new TypeError('undefined is not a cloud');
    },
  });
  await test.startNodes(['node-a', 'node-b'], { provider: never, metrics });
  const fast = { periodSeconds: 1, failureThreshold: 1 };
  const readinessProbe = { ...fast, httpGet: { port } };
  await test.create(probed({ livenessProbe: { ...command, ...fast }, readinessProbe }));
  await test.advance(1500);
  test.cloud.report('web', { ips: [host] });
  await until(isReady);
  await until(() => test.eventsOf('ProviderKillFailed').length > 0);
  expect(test.eventsOf('Unhealthy')).toContain(
    'Warning: Liveness probe failed: command timed out: "check" timed out after 1s',
  );
  expect(test.eventsOf('ProviderKillFailed')).toContain('Warning: undefined is not a cloud');
  const [{ podWorkers } = { podWorkers: [] }] = test.nodes.inspect().nodes;
  expect(podWorkers).toMatchObject([{ failureReason: 'undefined is not a cloud' }]);
  expect(test.logger.warnings.map(({ fields }) => fields)).toContainEqual(
    expect.objectContaining({
      operation: 'kill_container',
      reason: 'undefined is not a cloud',
      stack: expect.any(String),
    }),
  );
  expect(await metric('node_agent_probes_total{probe_type="readiness",result="success"}')).toBeGreaterThan(0);
  expect(await metric('node_agent_probes_total{probe_type="liveness",result="failure"}')).toBe(1);
  expect(await metric('node_agent_provider_calls_total{operation="exec",result="timeout"}')).toBe(1);
  expect(await metric('node_agent_provider_calls_total{operation="kill_container",result="error"}')).toBeGreaterThan(0);
});

describe('a command of a probe', () => {
  it('that does not end within timeoutSeconds has failed, and is aborted', async () => {
    const aborted: unknown[] = [];
    await run(probed({ readinessProbe: { ...command, failureThreshold: 1, timeoutSeconds: 2 } }), {
      exec: (_pod, _name, _command, _io, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => {
            aborted.push(signal.reason);
            reject(signal.reason as Error);
          }),
        ),
    });
    await test.advance(10_000);
    expect(aborted.length).toBeGreaterThan(0);
    expect(test.eventsOf('Unhealthy')).toEqual([
      'Warning: Readiness probe failed: command timed out: "check" timed out after 2s',
    ]);
  });

  it('may write without end: 10 KiB are kept, and what it writes after its end does no harm', async () => {
    const outputs: Writable[] = [];
    exec = (_, stdout) => {
      for (let i = 0; i < 1000; i++) stdout.write('a'.repeat(1000));
      outputs.push(stdout);
      return 1;
    };
    await run(probed({ readinessProbe: command }));
    for (const stdout of outputs) {
      stdout.end();
      stdout.write('late');
    }
    await test.advance(6000);
    const [message = ''] = test.eventsOf('Unhealthy');
    expect(message).toMatch(/Readiness probe failed: a{100}/);
    expect(message.length).toBeLessThan(11_000);
  });
});

describe('a pod with probes that the provider cannot serve is refused:', () => {
  it.each<[string, Partial<Container>, Methods]>([
    ['the method exec (spec.containers[0].readinessProbe)', { readinessProbe: command }, { exec: undefined }],
    [
      'the method killContainer (spec.containers[0].livenessProbe)',
      { livenessProbe: { tcpSocket: { port: 1 } } },
      { killContainer: undefined },
    ],
    [
      'the method killContainer (spec.containers[0].startupProbe)',
      { startupProbe: { tcpSocket: { port: 1 } } },
      { killContainer: undefined },
    ],
  ])('%s', async (need, container, methods) => {
    await test.startNodes(['node-a'], { provider: provider(methods) });
    await test.create(probed(container));
    await test.advance(10_000);
    expect(test.status('web')).toMatchObject({ phase: 'Failed', reason: 'PodFeatureUnsupported' });
    expect(test.status('web')?.message).toContain(`The provider does not declare ${need}`);
    expect(test.cloud.callsOf('createPod')).toEqual([]);
  });

  it('but not with a readiness probe over the network', async () => {
    await run(probed({ readinessProbe: { tcpSocket: { port: 1 } } }), { exec: undefined, killContainer: undefined });
    expect(test.cloud.names).toEqual(['web']);
  });
});
