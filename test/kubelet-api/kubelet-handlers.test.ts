import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { type DetailedPeerCertificate, connect as connectTLS } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import type { RuntimePod } from '../../src/node/runtime/container-runtime.ts';
import type { KubeletAPIOptions } from '../../src/kubelet-api/kubelet-api-options.ts';
import type { ValidPod } from '../../src/kube/objects/types.ts';
import { TestDirectories } from '../support/directories.ts';
import { certificateFile, testPod, TestServer } from './test-server.ts';

type Runtime = KubeletAPIOptions['runtime'];

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

const container = (name: string, state = 'running'): object => ({ id: `fake://${name}`, name, image: 'app:1', state });
const runtimePod = (...containers: readonly object[]): RuntimePod =>
  ({ uid: 'uid-web', name: 'web', namespace: 'default', containers }) as unknown as RuntimePod;
const running = { containerStatuses: [{ name: 'app', containerID: 'fake://app', state: { running: {} } }] };

async function serverWith(
  methods: Partial<Runtime>,
  options: Partial<KubeletAPIOptions> = {},
  pod: ValidPod = testPod('web', running),
): Promise<TestServer> {
  const runtime = {
    listPods: async () => [runtimePod(container('app'))],
    getPod: async () => runtimePod(container('app')),
    execSync: async () => ({ exitCode: 0, stdout: 'out', stderr: 'err' }),
    ...methods,
  };
  const server = await TestServer.start({ ...options, runtime });
  server.pods.push(pod);
  return server;
}

const spdy = { connection: 'Upgrade', upgrade: 'SPDY/3.1' };

describe('a path that is too long or too short does not exist', () => {
  it.each([
    ...['/pods/x', '/runningpods/x', '/configz/x', '/healthz/ping/x', '/metrics/x', '/metrics/resource/x', '/stats/'],
    ...['/stats/summary/x', '/containerLogs/default/web/app/x', '/'],
  ])('GET %s', async (path) => {
    await using server = await serverWith({}, { register: { contentType: 'text/plain', metrics: async () => '' } });
    expect(await server.get(path)).toMatchObject({ status: 404, text: '404: Page Not Found' });
  });

  it.each(['/run/default/web?cmd=ls', '/run/default/web/?cmd=ls', '/run/default/web/uid-web/app/x?cmd=ls'])(
    'POST %s',
    async (path) => {
      await using server = await serverWith({});
      expect(await server.get(path, { method: 'POST' })).toMatchObject({ status: 404, text: '404: Page Not Found' });
    },
  );

  it.each(['exec', 'attach'])('an upgrade of %s', async (root) => {
    await using server = await serverWith({ getExec: async () => '', getAttach: async () => '' });
    for (const path of ['default/web', 'default/web/uid-web/app/x'])
      expect(await server.get(`/${root}/${path}?output=1`, { headers: spdy })).toMatchObject({
        status: 404,
        text: '404: Page Not Found',
      });
  });
});

it('exec, attach and portForward without an upgrade get 400, with GET and with POST', async () => {
  await using server = await serverWith({});
  for (const method of ['GET', 'POST'])
    for (const path of ['/exec/default/web/app', '/attach/default/web/app', '/portForward/default/web'])
      expect(await server.get(path, { method })).toMatchObject({ status: 400, text: 'Upgrade request required' });
});

describe('the signal of a request', () => {
  it('is given to every call of the runtime', async () => {
    const calls: [method: string, hasSignal: boolean][] = [];
    const record =
      <Result>(method: string, result: Result) =>
      async (...args: readonly unknown[]): Promise<Result> => {
        const { signal } = args.at(-1) as { readonly signal?: unknown };
        calls.push([method, signal instanceof AbortSignal]);
        return result;
      };
    const file = join(directories.create(), '0.log');
    writeFileSync(file, '2026-01-02T03:04:04Z stdout F one\n');
    const refused = 'http://127.0.0.1:1/';
    await using server = await serverWith({
      ...{ listPods: record('listPods', []), getPod: record('getPod', runtimePod(container('app'))) },
      execSync: record('execSync', { exitCode: 0, stdout: '', stderr: '' }),
      getContainerLog: record('getContainerLog', { path: file, isRunning: false }),
      ...{ getExec: record('getExec', refused), getAttach: record('getAttach', refused) },
      ...{ getPortForward: record('getPortForward', refused), listPodStats: record('listPodStats', []) },
      imageFsStats: record('imageFsStats', undefined) as never,
    });
    await server.get('/runningpods/');
    await server.get('/run/default/web/app?cmd=ls', { method: 'POST' });
    await server.get('/containerLogs/default/web/app?follow=true');
    for (const path of [
      '/exec/default/web/app?output=1',
      '/attach/default/web/app?output=1',
      '/portForward/default/web',
    ])
      await server.get(path, { headers: spdy });
    await server.get('/stats/summary');
    const methods = ['listPods', 'getPod', 'execSync', 'getContainerLog', 'getExec', 'getAttach', 'getPortForward'];
    expect(new Set(calls.map(([method]) => method))).toEqual(new Set([...methods, 'listPodStats', 'imageFsStats']));
    expect(calls.filter(([, hasSignal]) => !hasSignal)).toEqual([]);
  });

  it.each<[keyof Runtime, string, text?: string]>([
    ['listPods', '/runningpods/', 'The request could not be served'],
    ['getPod', '/run/default/web/app?cmd=ls'],
    ['getContainerLog', '/containerLogs/default/web/app'],
    ['streamContainerLog', '/containerLogs/default/web/app'],
    ['getExec', '/exec/default/web/app?output=1'],
    ['getAttach', '/attach/default/web/app?output=1'],
    ['getPortForward', '/portForward/default/web'],
    ['listPodStats', '/stats/summary'],
  ])(
    'ends after two minutes if the runtime does not respond: %s',
    async (called, path, text = 'took over 120000 ms') => {
      let begin = (): void => {};
      const begun = new Promise<void>((resolve) => (begin = resolve));
      const never = (): Promise<never> => {
        begin();
        return new Promise(() => {});
      };
      await using server = await serverWith({ [called]: never });
      const isUpgrade = /^\/(exec|attach|portForward)/.test(path);
      const method = path.startsWith('/run/') ? 'POST' : 'GET';
      const reply = server.get(path, { method, ...(isUpgrade && { headers: spdy }) });
      await begun;
      await server.clock.advanceAsync(120_000);
      expect((await reply).text).toContain(text);
    },
  );

  it.each(['the client closes its connection', 'the server is closed'])('is aborted when %s', async (what) => {
    let begin = (_signal: AbortSignal): void => {};
    const begun = new Promise<AbortSignal>((resolve) => (begin = resolve));
    const execSync = async (...[, , , options]: Parameters<Runtime['execSync']>): Promise<never> => {
      begin(options!.signal!);
      return new Promise(() => {});
    };
    await using server = await serverWith({ execSync });
    const request = server.request('/run/default/web/app?cmd=ls', { method: 'POST', token: 'admin-token' });
    request.on('error', () => {}).end();
    const signal = await begun;
    expect(signal.aborted).toBe(false);
    const aborted = once(signal, 'abort');
    if (what === 'the server is closed') await server.close();
    else request.destroy();
    await aborted;
  });

  it('statistics for a client that is gone are no failure of the runtime', async () => {
    let begin = (): void => {};
    const begun = new Promise<void>((resolve) => (begin = resolve));
    let isFirst = true;
    await using server = await serverWith({
      listPodStats: async ({ signal } = {}) => {
        if (!isFirst) return [];
        isFirst = false;
        begin();
        await once(signal!, 'abort');
        throw new Error('aborted');
      },
    });
    const request = server.request('/stats/summary', { token: 'admin-token' }).on('error', () => {});
    request.end();
    await begun;
    request.destroy();
    expect((await server.get('/stats/summary')).status).toBe(200);
    expect(server.logger.warnings).toEqual([]);
  });
});

it('a request that cannot be served gets 500 without details; the log has the reason, and the path without its query', async () => {
  const metrics = async (): Promise<never> => Promise.reject(new Error('broken'));
  await using server = await serverWith({}, { register: { contentType: 'text/plain', metrics } });
  expect(await server.get('/metrics?secret')).toMatchObject({ status: 500, text: 'The request could not be served' });
  expect(server.logger.errors).toEqual([
    {
      level: 'error',
      message: 'A request to the kubelet API could not be served',
      fields: { reason: 'broken', path: '/metrics', method: 'GET' },
    },
  ]);
});

it('responses have their type, and their length in bytes', async () => {
  const register = { contentType: 'application/openmetrics-text', metrics: async () => 'ä 1\n' };
  await using server = await serverWith({}, { register });
  const typeOf = async (path: string): Promise<unknown[]> => {
    const { headers } = await server.get(path);
    return [headers['content-type'], headers['content-length']];
  };
  expect(await typeOf('/metrics')).toEqual(['application/openmetrics-text', '5']);
  expect(await typeOf('/healthz')).toEqual(['text/plain; charset=utf-8', '2']);
  expect(await typeOf('/pods')).toEqual(['application/json', expect.any(String)]);
  expect(await typeOf('/metrics/resource')).toEqual(['text/plain; version=0.0.4; charset=utf-8', expect.any(String)]);
  expect(await typeOf('/containerLogs/default/web/none')).toEqual(['text/plain; charset=utf-8', expect.any(String)]);
});

it('/pods has the status of a static pod from the status manager; that of other pods is in the pod', async () => {
  const pod = testPod('static', { phase: 'Pending' });
  const annotations = { 'kubernetes.io/config.source': 'file' };
  await using server = await serverWith({}, {}, { ...pod, metadata: { ...pod.metadata, annotations } });
  server.pods.push(testPod('web', { phase: 'Pending' }));
  const phases = async (): Promise<string[]> =>
    JSON.parse((await server.get('/pods')).text).items.map(({ status }: { status: { phase: string } }) => status.phase);
  expect(await phases()).toEqual(['Pending', 'Pending']);
  for (const uid of ['uid-static', 'uid-web']) server.statuses.set(uid, { phase: 'Running' });
  expect(await phases()).toEqual(['Running', 'Pending']);
});

it('/configz has what was chosen for clients, and nothing that was not', async () => {
  const clientCAFile = certificateFile('ca');
  const tlsCipherSuites = ['TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384'];
  await using server = await serverWith({}, { authentication: { clientCAFile }, tlsCipherSuites });
  const { kubeletconfig } = JSON.parse((await server.get('/configz')).text);
  expect(kubeletconfig).toMatchObject({ tlsCipherSuites, authentication: { x509: { clientCAFile } } });
  expect(kubeletconfig).not.toHaveProperty('tlsMinVersion');
});

describe('containerLogs', () => {
  const path = '/containerLogs/default/web/app';
  const line = (text: string): string => `2026-01-02T03:04:04Z stdout F ${text}\n`;
  const logFile = (text: string): string => {
    const file = join(directories.create(), '0.log');
    writeFileSync(file, text);
    return file;
  };

  it.each(['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'])(
    'finds the container in %s, beside others',
    async (field) => {
      const status = { [field]: [{ name: 'other', state: { running: {} } }, ...running.containerStatuses] };
      const pod = testPod('web', status);
      const containers = [{ name: 'other', image: 'o:1' }, ...(pod.spec?.containers ?? [])];
      const ids: string[] = [];
      const getContainerLog: Runtime['getContainerLog'] = async (id) => {
        ids.push(id);
        return { path: logFile(line('one')), isRunning: false };
      };
      await using server = await serverWith({ getContainerLog }, {}, { ...pod, spec: { ...pod.spec, containers } });
      expect(await server.get(path)).toMatchObject({
        status: 200,
        text: 'one\n',
        headers: { 'content-type': 'text/plain; charset=utf-8' },
      });
      expect(ids).toEqual(['fake://app']);
    },
  );

  it('the status manager knows better than the pod which container runs', async () => {
    const ids: string[] = [];
    await using server = await serverWith({ getContainerLog: async (id) => void ids.push(id) });
    const containerStatuses = [{ name: 'app', containerID: 'fake://newer', state: { running: {} } }];
    server.statuses.set('uid-web', { containerStatuses });
    await server.get(path);
    expect(ids).toEqual(['fake://newer']);
  });

  it('why a log cannot be read is in its text', async () => {
    const file = logFile('no log\n');
    await using server = await serverWith({ getContainerLog: async () => ({ path: file, isRunning: false }) });
    expect(await server.get(path)).toMatchObject({ status: 200, text: 'unsupported log format' });
  });

  it('a container is followed while the runtime does not respond, and until it is gone', async () => {
    const file = logFile(line('one'));
    const responses = [{ path: file, isRunning: true }, new Error('no connection'), undefined];
    let asked = 0;
    await using server = await serverWith({
      getContainerLog: async () => {
        const response = responses[asked++];
        if (response instanceof Error) throw response;
        return response;
      },
    });
    const request = server.request(`${path}?follow=true`, { token: 'admin-token' }).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    const text = response.setEncoding('utf8').toArray();
    expect((await text).join('')).toBe('one\n');
    expect(asked).toBe(3);
  });

  it('a log that is larger than the buffers of the connection is sent completely', async () => {
    const lines = Array.from({ length: 40_000 }, (_, i) => `${i} ${'x'.repeat(200)}`);
    const file = logFile(lines.map(line).join(''));
    await using server = await serverWith({ getContainerLog: async () => ({ path: file, isRunning: false }) });
    expect((await server.get(path)).text).toBe(lines.map((text) => `${text}\n`).join(''));
  });
});

describe('exec and attach', () => {
  it('a container that does not run, or that the runtime does not know, is not found', async () => {
    let pod: RuntimePod | undefined = runtimePod(container('app', 'exited'), container('other'));
    await using server = await serverWith({
      getPod: async () => pod,
      getExec: async () => '',
      getAttach: async () => '',
    });
    for (const next of [pod, undefined]) {
      pod = next;
      expect(await server.get('/exec/default/web/app?output=1', { headers: spdy })).toMatchObject({
        status: 500,
        text: 'container not found ("app")',
      });
      expect(await server.get('/attach/default/web/app?output=1', { headers: spdy })).toMatchObject({
        status: 500,
        text: 'container app not found in pod web_default',
      });
      expect(await server.get('/run/default/web/app?cmd=ls', { method: 'POST' })).toMatchObject({
        status: 500,
        text: 'container not found ("app")',
      });
    }
  });

  it('a container that runs and is not in the pod cannot be attached to', async () => {
    const getPod = async (): Promise<RuntimePod> => runtimePod(container('old'));
    await using server = await serverWith({ getPod, getAttach: async () => 'http://127.0.0.1:1/' });
    expect(await server.get('/attach/default/web/old?output=1', { headers: spdy })).toMatchObject({
      text: 'container old not found in pod web_default',
    });
  });

  it('attach to a container with a terminal has no stderr', async () => {
    const calls: unknown[] = [];
    const pod = testPod('web', running);
    const containers = [
      { name: 'other', image: 'o:1' },
      { name: 'app', image: 'app:1', tty: true },
    ];
    const getAttach: Runtime['getAttach'] = async (_id, streams) => {
      calls.push(streams);
      throw new Error('no terminal');
    };
    await using server = await serverWith({ getAttach }, {}, { ...pod, spec: { containers } });
    await server.get('/attach/default/web/app?input=1&output=1&error=1', { headers: spdy });
    expect(calls).toEqual([{ stdin: true, stdout: true, stderr: false, tty: true }]);
  });

  it.each([
    ['input=1', { stdin: true, stdout: false, stderr: false, tty: false }],
    ['output=1', { stdin: false, stdout: true, stderr: false, tty: false }],
    ['error=1', { stdin: false, stdout: false, stderr: true, tty: false }],
    ['input=true&error=1&output=0', { stdin: false, stdout: false, stderr: true, tty: false }],
  ])('exec with %s has these streams only', async (query, streams) => {
    const calls: unknown[] = [];
    const getExec: Runtime['getExec'] = async (_id, _command, wanted) => {
      calls.push(wanted);
      throw new Error('no');
    };
    await using server = await serverWith({ getExec });
    await server.get(`/exec/default/web/app?${query}`, { headers: spdy });
    expect(calls).toEqual([streams]);
  });

  it('ports are numbers from 1 to 65535', async () => {
    const ports: unknown[] = [];
    const getPortForward: Runtime['getPortForward'] = async (_uid, list) => {
      ports.push(list);
      throw new Error('no');
    };
    await using server = await serverWith({ getPortForward });
    const headers = { connection: 'Upgrade', upgrade: 'WebSocket', 'sec-websocket-version': '13' };
    await server.get('/portForward/default/web?port=1', { headers });
    for (const port of ['x80', '080x', '-1', '100000'])
      expect((await server.get(`/portForward/default/web?port=${port}`, { headers })).status).toBe(400);
    expect(ports).toEqual([[1]]);
  });
});

describe('the serving certificate', () => {
  async function servedBy(server: TestServer): Promise<DetailedPeerCertificate> {
    const socket = connectTLS({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false });
    await once(socket, 'secureConnect');
    const certificate = socket.getPeerCertificate(true);
    socket.destroy();
    return certificate;
  }

  it('is a self-signed one for the name of the node if no file is given', async () => {
    const certDirectory = directories.create();
    const files = { tlsCertFile: undefined, tlsPrivateKeyFile: undefined };
    await using server = await serverWith({}, { ...files, certDirectory });
    expect(await servedBy(server)).toMatchObject({ subject: { CN: 'node-a' }, subjectaltname: 'DNS:node-a' });
  });

  it('is the one that the files have after a minute', async () => {
    const folder = directories.create();
    const [tlsCertFile, tlsPrivateKeyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
    const install = (name: string): void => {
      writeFileSync(tlsCertFile, readFileSync(certificateFile(name)));
      writeFileSync(tlsPrivateKeyFile, readFileSync(certificateFile(`${name}.key`)));
    };
    install('server');
    await using server = await serverWith({}, { tlsCertFile, tlsPrivateKeyFile });
    const before = await servedBy(server);
    install('server-name');
    server.clock.advance(60_000);
    const after = await servedBy(server);
    expect(after.fingerprint256).not.toBe(before.fingerprint256);
  });
});

it('the log says where the API is served', async () => {
  await using server = await serverWith({});
  expect(server.url).toBe(`https://127.0.0.1:${server.port}`);
  expect(server.logger.lines).toContainEqual({
    level: 'info',
    message: 'Serving the kubelet API',
    fields: { url: server.url },
  });
});

it('close() stops the clock of the server', async () => {
  const server = await serverWith({});
  expect(server.clock.pendingTimers).toBe(1);
  await server.close();
  expect(server.clock.pendingTimers).toBe(0);
});
