import { once } from 'node:events';
import { appendFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import { type AddressInfo, connect as connectTCP } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { connect as connectTLS, type ConnectionOptions, getCiphers } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import type { NodeAgent } from '../../src/agent/node-agent/node-agent.ts';
import type { RuntimePod } from '../../src/node/runtime/container-runtime.ts';
import { HealthMetrics } from '../../src/kubelet-api/health-metrics.ts';
import type { KubeletAPIOptions } from '../../src/kubelet-api/kubelet-api-options.ts';
import { cipherSuites } from '../../src/kubelet-api/tls-options.ts';
import { serveKubeletAPI } from '../../src/kubelet-api/serve-kubelet-api.ts';
import type { APIRequests } from '../../src/kube/client/api-requests.ts';
import { TestDirectories } from '../support/directories.ts';
import { hasOpenSSL, signRequest } from '../support/sign-request.ts';
import { certificateFile, testPod, TestServer } from './test-server.ts';

type Runtime = KubeletAPIOptions['runtime'];

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

const running = { containerStatuses: [{ name: 'app', containerID: 'fake://1', state: { running: {} } }] };

function runtimeWith(methods: Partial<Runtime>): Runtime {
  const container = { id: 'fake://1', name: 'app', image: 'app:1', state: 'running' };
  const pod = { uid: 'uid-web', name: 'web', namespace: 'default', containers: [container] } as unknown as RuntimePod;
  return {
    listPods: async () => [pod],
    getPod: async (uid) => (uid === 'uid-web' ? pod : undefined),
    execSync: async () => ({ exitCode: 0, stdout: 'out', stderr: 'err' }),
    ...methods,
  };
}

async function serverWith(methods: Partial<Runtime>, status: object = running): Promise<TestServer> {
  const server = await TestServer.start({ runtime: runtimeWith(methods) });
  server.pods.push(testPod('web', status));
  return server;
}

it('the Node shows the port', async () => {
  await using server = await serverWith({});
  expect(server.ports).toEqual([server.port]);
});

it.each<[string, Partial<KubeletAPIOptions>, boolean]>([
  ['without a clientCAFile', { authentication: { clientCAFile: undefined } }, true],
  ['with one', {}, false],
  [
    'to everybody',
    { authentication: { clientCAFile: undefined, anonymous: true }, authorization: { mode: 'AlwaysAllow' } },
    false,
  ],
])('%s: a warning at start says whether kubectl logs and exec fail', async (_, options, isWarned) => {
  await using server = await TestServer.start(options);
  const warnings = server.logger.warnings.filter(({ message }) => message.includes('clientCAFile'));
  expect(warnings.length).toBe(isWarned ? 1 : 0);
});

it.each([
  ['GET', '/unknown', 404, '404: Page Not Found'],
  ['POST', '/pods', 405, 'Method Not Allowed'],
  ['GET', '/healthz', 200, 'ok'],
  ['GET', '/healthz/syncloop', 200, 'ok'],
  ['GET', '/healthz/log', 200, 'ok'],
  ['GET', '/healthz?verbose', 200, '[+]ping ok\n[+]log ok\n[+]syncloop ok\nhealthz check passed\n'],
  ['GET', '/healthz/unknown', 404, '404: Page Not Found'],
  ['POST', '/checkpoint/default/web/app', 501, 'Checkpoints of containers are not supported'],
  ['GET', '/exec/default/web/app?command=ls&output=1', 400, 'Upgrade request required'],
  ['POST', '/run/default/web/app?cmd=ls+-l', 200, 'outerr'],
  ['POST', '/run/default/web/uid-web/app?cmd=ls', 200, 'outerr'],
  ['POST', '/run/default/web/uid-of-another/app?cmd=ls', 404, 'pod not found'],
  ['POST', '/run/default/web/other?cmd=ls', 500, 'container not found ("other")'],
  ['GET', '/metrics', 404, '404: Page Not Found'],
])('%s %s → %i', async (method, path, status, text) => {
  await using server = await serverWith({});
  expect(await server.get(path, { method })).toMatchObject({ status, text });
});

it('serves pods, running pods, the configuration and metrics', async () => {
  const register = { contentType: 'text/plain', metrics: async () => 'a 1\n' };
  const kubeletConfiguration = { maxPods: 7 };
  await using server = await TestServer.start({ runtime: runtimeWith({}), register, kubeletConfiguration });
  server.pods.push(testPod('web', running));
  const json = async (path: string): Promise<unknown> => JSON.parse((await server.get(path)).text);
  expect(await json('/pods')).toEqual({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items: server.pods });
  expect(await json('/runningpods/')).toMatchObject({
    items: [{ metadata: { name: 'web' }, spec: { containers: [{ name: 'app', image: 'app:1' }] } }],
  });
  expect(await json('/configz')).toMatchObject({
    kubeletconfig: {
      ...{ kind: 'KubeletConfiguration', address: '127.0.0.1', maxPods: 7 },
      authentication: { anonymous: { enabled: false }, webhook: { enabled: true, cacheTTL: '120s' } },
      authorization: { mode: 'Webhook' },
    },
  });
  expect((await server.get('/metrics')).text).toBe('a 1\n');
});

it('/metrics/slis has the results of the health checks', async () => {
  await using server = await serverWith({});
  await server.get('/healthz');
  await server.get('/healthz/ping');
  const { text, headers } = await server.get('/metrics/slis');
  expect(headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(text.match(/^kubernetes.*$/gm)).toEqual([
    'kubernetes_healthcheck{name="ping",type="healthz"} 1',
    'kubernetes_healthcheck{name="log",type="healthz"} 1',
    'kubernetes_healthcheck{name="syncloop",type="healthz"} 1',
    'kubernetes_healthchecks_total{name="ping",status="success",type="healthz"} 2',
    'kubernetes_healthchecks_total{name="log",status="success",type="healthz"} 1',
    'kubernetes_healthchecks_total{name="syncloop",status="success",type="healthz"} 1',
  ]);
});

it('a failed health check is 0, and counted as an error', () => {
  const metrics = new HealthMetrics();
  metrics.observe([{ name: 'syncloop' }]);
  metrics.observe([{ name: 'syncloop', failure: 'stuck' }]);
  expect(metrics.format().match(/^# TYPE.*$/gm)).toEqual([
    '# TYPE kubernetes_healthcheck gauge',
    '# TYPE kubernetes_healthchecks_total counter',
  ]);
  expect(metrics.format().match(/^kubernetes.*$/gm)).toEqual([
    'kubernetes_healthcheck{name="syncloop",type="healthz"} 0',
    'kubernetes_healthchecks_total{name="syncloop",status="error",type="healthz"} 1',
    'kubernetes_healthchecks_total{name="syncloop",status="success",type="healthz"} 1',
  ]);
});

describe('TLS', () => {
  /** The protocol and the cipher suite of a connection, or the code of its error. */
  async function connectWith(options: Partial<KubeletAPIOptions>, client: ConnectionOptions): Promise<unknown> {
    await using server = await TestServer.start(options);
    const socket = connectTLS({ port: server.port, host: '127.0.0.1', rejectUnauthorized: false, ...client });
    const connected = new Promise((resolve) => {
      socket.once('secureConnect', () => resolve([socket.getProtocol(), socket.getCipher().standardName]));
      socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
    });
    return await connected.finally(() => socket.destroy());
  }
  const tls12 = { maxVersion: 'TLSv1.2' } as const;
  const suite = 'TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384';

  it('TLS 1.2 is the oldest version, unless tlsMinVersion says TLS 1.3', async () => {
    expect(await connectWith({}, tls12)).toContain('TLSv1.2');
    expect(await connectWith({ tlsMinVersion: 'VersionTLS13' }, tls12)).toBe('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION');
    expect(await connectWith({ tlsMinVersion: 'VersionTLS13' }, {})).toContain('TLSv1.3');
    const tls11 = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' } as const;
    expect(await connectWith({}, tls11)).toMatch(/^ERR_SSL_/);
  });

  it('tlsCipherSuites are those of TLS 1.2; TLS 1.3 has its own', async () => {
    expect(await connectWith({ tlsCipherSuites: [suite] }, tls12)).toEqual(['TLSv1.2', suite]);
    const other = { ...tls12, ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' };
    expect(await connectWith({}, other)).toEqual(['TLSv1.2', 'TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256']);
    expect(await connectWith({ tlsCipherSuites: [suite] }, other)).toMatch(/HANDSHAKE_FAILURE$/);
    expect(await connectWith({ tlsCipherSuites: [suite] }, {})).toContain('TLSv1.3');
  });

  it('each name of a cipher suite is one that OpenSSL knows', () => {
    for (const openSSLName of Object.values(cipherSuites)) expect(getCiphers()).toContain(openSSLName.toLowerCase());
  });
});

it('a method that a path does not have gets 405 with those that it has', async () => {
  await using server = await serverWith({});
  expect((await server.get('/pods', { method: 'DELETE' })).headers.allow).toBe('GET, HEAD');
  expect((await server.get('/run/default/web/app')).headers.allow).toBe('POST');
  expect(await server.get('/pods', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
});

it('a path that is not valid gets 400', async () => {
  await using server = await serverWith({});
  expect(await server.get('/pods/%zz')).toMatchObject({ status: 400, text: 'The path is not valid' });
});

it('/runningpods has the pods with a running container or a ready sandbox', async () => {
  const container = (state: string): object => ({ id: 'c', name: 'app', image: 'app:1', state });
  const pod = (name: string, more: object): RuntimePod => ({
    ...{ uid: name, name, namespace: 'default', containers: [] },
    ...more,
  });
  const listPods = async (): Promise<RuntimePod[]> => [
    pod('runs', { containers: [container('exited'), container('running')] }),
    pod('has-sandbox', { containers: [container('exited')], sandboxes: [{ ready: true }] }),
    pod('ended', { containers: [container('exited')], sandboxes: [{ ready: false }] }),
  ];
  await using server = await serverWith({ listPods });
  const { items } = JSON.parse((await server.get('/runningpods/')).text);
  const spec = { containers: [{ name: 'app', image: 'app:1', resources: {} }] };
  expect(items).toEqual([
    { metadata: { name: 'runs', namespace: 'default', uid: 'runs' }, spec, status: {} },
    {
      metadata: { name: 'has-sandbox', namespace: 'default', uid: 'has-sandbox' },
      spec: { containers: [] },
      status: {},
    },
  ]);
});

it('/run passes the words of the command on, and a static pod has the UID of its mirror pod, too', async () => {
  const commands: unknown[] = [];
  const execSync: Runtime['execSync'] = async (id, command) => {
    commands.push([id, command]);
    return { exitCode: 0, stdout: '', stderr: '' };
  };
  await using server = await serverWith({ execSync });
  await server.get('/run/default/web/app?cmd=ls+-l+/tmp', { method: 'POST' });
  expect(commands).toEqual([['fake://1', ['ls', '-l', '/tmp']]]);
  const { metadata, ...pod } = server.pods.pop()!;
  server.pods.push({
    ...pod,
    metadata: { ...metadata, annotations: { 'kubernetes.io/config.source': 'file' } },
  });
  expect((await server.get('/run/default/web/uid-of-mirror/app?cmd=ls', { method: 'POST' })).status).toBe(200);
});

it.each([
  ['NotFound', 404],
  ['ResourceExhausted', 429],
  ['Unavailable', 500],
])('an error %s of the runtime, or of its cause, is %i', async (code, status) => {
  const error = Object.assign(new Error('from the runtime'), { code });
  const errors = [error, new Error('from the runtime', { cause: error })];
  await using server = await serverWith({ execSync: async () => Promise.reject(errors.shift()!) });
  for (const _ of [1, 2])
    expect(await server.get('/run/default/web/app?cmd=ls', { method: 'POST' })).toMatchObject({
      status,
      text: 'from the runtime',
    });
});

it('/configz has the times for which reviews are valid, and where clients may connect', async () => {
  await using server = await TestServer.start({
    authentication: { anonymous: true, webhookCacheTTLMs: 1500 },
    authorization: { cacheAuthorizedTTLMs: 2000, cacheUnauthorizedTTLMs: 500 },
    tlsMinVersion: 'VersionTLS13',
  });
  const { kubeletconfig } = JSON.parse((await server.get('/configz')).text);
  expect(kubeletconfig).toMatchObject({
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    tlsCertFile: certificateFile('server'),
    tlsPrivateKeyFile: certificateFile('server.key'),
    tlsMinVersion: 'VersionTLS13',
    authentication: { x509: {}, webhook: { enabled: true, cacheTTL: '1.5s' }, anonymous: { enabled: true } },
    authorization: { webhook: { cacheAuthorizedTTL: '2s', cacheUnauthorizedTTL: '0.5s' } },
    ...{ enableServer: true, enableDebuggingHandlers: true },
  });
});

describe('containerLogs', () => {
  const path = '/containerLogs/default/web/app';
  const logFile = (text: string): string => {
    const file = join(directories.create(), '0.log');
    writeFileSync(file, text);
    return file;
  };

  it.each([
    ['/containerLogs/default/none/app', 404, 'pod "none" does not exist'],
    ['/containerLogs/default/web/none', 404, 'container "none" not found in pod "web"'],
    ['/containerLogs/default/web', 404, '404: Page Not Found'],
    [`${path}?previous=true`, 400, 'previous terminated container "app" in pod "web" not found'],
    [`${path}?tailLines=x`, 400, '{"message": "Unable to decode query."}'],
    [`${path}?sinceTime=yesterday`, 400, '{"message": "Unable to decode query."}'],
    [`${path}?tailLines=-1`, 422, '{"message": "Invalid request."}'],
    [`${path}?limitBytes=0`, 422, '{"message": "Invalid request."}'],
    [`${path}?sinceSeconds=0`, 422, '{"message": "Invalid request."}'],
    [`${path}?sinceSeconds=1&sinceTime=2026-01-02T03:04:05Z`, 422, '{"message": "Invalid request."}'],
    [`${path}?stream=Stdin`, 422, '{"message": "Invalid request."}'],
    [`${path}?stream=Stdout&tailLines=1`, 422, '{"message": "Invalid request."}'],
    // The kubelet sends the status first, too.
    [path, 200, 'unable to retrieve container logs for fake://1'],
  ])('%s → %i', async (url, status, text) => {
    await using server = await serverWith({ getContainerLog: async () => undefined });
    expect(await server.get(url)).toMatchObject({ status, text });
  });

  it('a runtime without logs gets 501', async () => {
    await using server = await serverWith({});
    expect(await server.get(path)).toMatchObject({ status: 501, text: 'The runtime has no logs' });
  });

  it.each([
    ['', 'old\nnew\nerr\n'],
    ['?tailLines=2', 'new\nerr\n'],
    ['?tail=1', 'err\n'],
    ['?tail=all', 'old\nnew\nerr\n'],
    ['?limitBytes=5', 'old\nn'],
    ['?stream=Stderr', 'err\n'],
    // The clock is at 03:04:05.
    ['?sinceSeconds=2', 'new\nerr\n'],
    ['?sinceTime=2026-01-02T03:04:04Z', 'new\nerr\n'],
    ['?tailLines=1&timestamps=true', '2026-01-02T03:04:04.000000000Z err\n'],
  ])('reads the file: %s', async (query, text) => {
    const file = logFile(
      [
        '2026-01-02T03:04:02Z stdout F old\n',
        '2026-01-02T03:04:04Z stdout F new\n',
        '2026-01-02T03:04:04Z stderr F err\n',
      ].join(''),
    );
    await using server = await serverWith({ getContainerLog: async () => ({ path: file, isRunning: true }) });
    expect(await server.get(path + query)).toMatchObject({ status: 200, text });
  });

  it('follows the log until the container has ended', async () => {
    const file = logFile('2026-01-02T03:04:04Z stdout F one\n');
    let isRunning = true;
    await using server = await serverWith({ getContainerLog: async () => ({ path: file, isRunning }) });
    const request = server.request(`${path}?follow=true`, { token: 'admin-token' }).end();
    const response = await new Promise<IncomingMessage>((resolve) => request.once('response', resolve));
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) {
      text += chunk as string;
      if (text === 'one\n') {
        appendFileSync(file, '2026-01-02T03:04:05Z stdout F two\n');
        isRunning = false;
        server.clock.advance(1000);
      }
    }
    expect(text).toBe('one\ntwo\n');
  });

  it('close() ends a log that is followed', async () => {
    const file = logFile('2026-01-02T03:04:04Z stdout F one\n');
    const server = await serverWith({ getContainerLog: async () => ({ path: file, isRunning: true }) });
    const request = server.request(`${path}?follow=true`, { token: 'admin-token' }).end();
    const response = await new Promise<IncomingMessage>((resolve) => request.once('response', resolve));
    const ended = new Promise((resolve) => response.once('error', resolve));
    response.once('data', () => void server.close());
    expect(await ended).toMatchObject({ code: 'ECONNRESET' });
  });
});

describe('exec, attach and portForward', () => {
  const upgrade = { connection: 'Upgrade', upgrade: 'SPDY/3.1' };

  /** A streaming server that returns what it receives, in upper case. */
  async function startStreaming(): Promise<{ url: string; requests: IncomingMessage[]; close(): void }> {
    const requests: IncomingMessage[] = [];
    const sockets: Duplex[] = [];
    const server = createServer();
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
      requests.push(request);
      sockets.push(socket);
      socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\nhello ');
      const answer = (chunk: Buffer): void => void socket.write(chunk.toString().toUpperCase());
      if (head.length > 0) answer(head);
      socket.on('data', answer);
      socket.on('end', () => socket.end());
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/exec/token`,
      requests,
      close: () => {
        server.close();
        for (const socket of sockets) socket.destroy();
      },
    };
  }

  function connect(server: TestServer, path: string): Promise<{ socket: Duplex; head: Buffer }> {
    const request = server.request(path, { method: 'POST', token: 'admin-token', headers: upgrade });
    return new Promise((resolve, reject) => {
      request.once('upgrade', (_, socket, head) => resolve({ socket, head }));
      request.once('response', ({ statusCode }) => reject(new Error(`status ${statusCode}`)));
      request.once('error', reject).end();
    });
  }

  it('passes an upgraded connection on to the streaming server, without credentials', async () => {
    const streaming = await startStreaming();
    const calls: unknown[] = [];
    await using server = await serverWith({
      getExec: async (...args) => {
        calls.push(args.slice(0, 3));
        return streaming.url;
      },
    });
    const path = '/exec/default/web/app?command=sh&command=-c&command=ls&input=1&output=1&error=1&tty=1';
    const { socket, head } = await connect(server, path);
    socket.write('abc');
    let text = head.toString();
    for await (const chunk of socket) {
      text += (chunk as Buffer).toString();
      if (text === 'hello ABC') socket.end();
    }
    expect(text).toBe('hello ABC');
    expect(calls).toEqual([['fake://1', ['sh', '-c', 'ls'], { stdin: true, stdout: true, stderr: false, tty: true }]]);
    const [{ headers, method, url }] = streaming.requests as [IncomingMessage];
    expect([method, url, headers.upgrade, headers.authorization]).toEqual([
      'POST',
      '/exec/token',
      'SPDY/3.1',
      undefined,
    ]);
    streaming.close();
  });

  it('a streaming server that does not respond within 2 minutes is told to the client', async () => {
    const streaming = createServer();
    streaming.on('upgrade', () => streaming.emit('asked'));
    await new Promise<void>((resolve) => streaming.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(streaming.address() as AddressInfo).port}/`;
    await using server = await serverWith({ getExec: async () => url });
    const reply = server.get('/exec/default/web/app?output=1', { method: 'POST', headers: upgrade });
    await once(streaming, 'asked');
    server.clock.advance(120_000);
    expect(await reply).toMatchObject({
      status: 500,
      text: "The runtime's streaming server does not respond: no response within 120 s",
    });
    streaming.close();
  });

  it('attach uses the terminal of the container, whatever the client wants', async () => {
    const streaming = await startStreaming();
    const calls: unknown[] = [];
    await using server = await serverWith({
      getAttach: async (...args) => {
        calls.push(args.slice(0, 2));
        return streaming.url;
      },
    });
    const { socket } = await connect(server, '/attach/default/web/app?input=1&output=1&error=1');
    socket.destroy();
    expect(calls).toEqual([['fake://1', { stdin: true, stdout: true, stderr: true, tty: false }]]);
    streaming.close();
  });

  it('portForward finds the pod', async () => {
    const streaming = await startStreaming();
    const calls: unknown[] = [];
    await using server = await serverWith({
      getPortForward: async (...args) => {
        calls.push(args.slice(0, 2));
        return streaming.url;
      },
    });
    const { socket } = await connect(server, '/portForward/default/web/uid-web');
    socket.destroy();
    expect(calls).toEqual([['uid-web', []]]);
    streaming.close();
  });

  const webSocket = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' };
  it.each([
    ['', 400, 'query parameter "port" is required'],
    ['?port=0', 400, 'unable to parse "0" as a port'],
    ['?port=65536', 400, 'unable to parse "65536" as a port'],
    ['?port=80x', 400, 'unable to parse "80x" as a port'],
    ['?port=80,', 400, 'unable to parse "" as a port'],
  ])('portForward over WebSockets is refused with the ports %j', async (query, status, text) => {
    await using server = await serverWith({ getPortForward: async () => 'http://127.0.0.1:1/' });
    const path = `/portForward/default/web${query}`;
    expect(await server.get(path, { headers: webSocket })).toMatchObject({ status, text });
  });

  it('portForward over WebSockets has the ports of the query; a longer path does not exist', async () => {
    const ports: unknown[] = [];
    const getPortForward: Runtime['getPortForward'] = async (_uid, list) => {
      ports.push(list);
      throw Object.assign(new Error('no such sandbox'), { code: 'NotFound' });
    };
    await using server = await serverWith({ getPortForward });
    expect((await server.get('/portForward/default/web?port=80,443&port=65535', { headers: webSocket })).status).toBe(
      404,
    );
    expect(ports).toEqual([[80, 443, 65_535]]);
    const longer = await server.get('/portForward/default/web/uid-web/more?port=80', { headers: webSocket });
    expect(longer).toMatchObject({ status: 404, text: '404: Page Not Found' });
    const other = await server.get('/portForward/default/web/uid-of-another?port=80', { headers: webSocket });
    expect(other).toMatchObject({ status: 404, text: 'pod not found' });
  });

  it('portForward over WebSockets has the ports of the query also for a runtime that could forward them itself', async () => {
    const ports: unknown[] = [];
    const getPortForward: Runtime['getPortForward'] = async (_uid, list) => {
      ports.push(list);
      throw new Error('no');
    };
    await using server = await serverWith({ getPortForward, portForward: async () => {} });
    await server.get('/portForward/default/web?port=80', { headers: webSocket });
    expect(ports).toEqual([[80]]);
  });

  it('close() ends the connections', async () => {
    const streaming = await startStreaming();
    const server = await serverWith({ getExec: async () => streaming.url });
    const { socket } = await connect(server, '/exec/default/web/app?command=ls&output=1');
    const closed = new Promise((resolve) =>
      socket
        .resume()
        .once('close', resolve)
        .once('error', () => {}),
    );
    await server.close();
    await closed;
    expect(socket.destroyed).toBe(true);
    streaming.close();
  });

  it.each<[string, string, Partial<Runtime>, number, string]>([
    ['no stream', '/exec/default/web/app?command=ls', {}, 400, 'you must specify at least 1 of stdin, stdout, stderr'],
    ['an unknown pod', '/exec/default/none/app?output=1', {}, 404, 'pod "none" does not exist'],
    ['an unknown container', '/exec/default/web/none?output=1', {}, 500, 'container not found ("none")'],
    ['no exec', '/exec/default/web/app?output=1', {}, 501, 'The runtime cannot run commands'],
    ['no attach', '/attach/default/web/app?output=1', {}, 501, 'The runtime cannot attach to containers'],
    ['no port-forward', '/portForward/default/web', {}, 501, 'The runtime cannot forward ports'],
    ['another path', '/pods', {}, 404, '404: Page Not Found'],
    [
      'an error of the runtime',
      '/exec/default/web/app?output=1',
      { getExec: async () => Promise.reject(Object.assign(new Error('no such container'), { code: 'NotFound' })) },
      404,
      'no such container',
    ],
  ])('an upgrade is refused: %s', async (_name, path, methods, status, text) => {
    await using server = await serverWith(methods);
    expect(await server.get(path, { method: 'POST', headers: upgrade })).toMatchObject({ status, text });
  });

  it('an upgrade without credentials is refused', async () => {
    await using server = await serverWith({ getExec: async () => 'http://127.0.0.1:1/' });
    const path = '/exec/default/web/app?output=1';
    expect((await server.get(path, { token: 'unknown', headers: upgrade })).status).toBe(401);
  });

  it('passes on the response of a streaming server that refuses, and reports one that is down', async () => {
    const plain = createServer((_, response) => response.writeHead(403, { 'x-from': 'runtime' }).end('denied'));
    await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(plain.address() as AddressInfo).port}/`;
    await using server = await serverWith({ getExec: async () => url });
    const path = '/exec/default/web/app?output=1';
    const refused = await server.get(path, { method: 'POST', headers: upgrade });
    expect([refused.status, refused.text, refused.headers['x-from']]).toEqual([403, 'denied', 'runtime']);
    expect([refused.headers.connection, refused.headers['transfer-encoding']]).toEqual(['close', undefined]);
    await new Promise((resolve) => plain.close(resolve));
    const down = await server.get(path, { method: 'POST', headers: upgrade });
    expect([down.status, down.text]).toEqual([
      500,
      expect.stringContaining("The runtime's streaming server does not respond: connect ECONNREFUSED"),
    ]);
  });
});

it('close() ends connections without a TLS handshake', async () => {
  const server = await serverWith({});
  const socket = connectTCP(server.port, '127.0.0.1');
  await once(socket, 'connect');
  // The server has accepted the connection before it handles a later one.
  await server.get('/healthz');
  const closed = once(socket, 'close');
  await server.close();
  await expect(closed).resolves.toBeDefined();
});

describe('options', () => {
  const agent = { nodeName: 'node-a', apiRequests: undefined, inspect: () => ({}), getPods: () => [] };
  it.each<[string, Partial<KubeletAPIOptions>]>([
    ['host', { host: '' }],
    ['port', { port: 70_000 }],
    ['runtime', { runtime: {} as never }],
    ['tlsPrivateKeyFile', { tlsCertFile: '/cert' }],
    ['certDirectory', { certDirectory: '' }],
    ['authentication.clientCAFile', { authentication: { clientCAFile: '' } }],
    ['authentication.anonymous', { authentication: { anonymous: 'yes' as never } }],
    ['authentication.webhookCacheTTLMs', { authentication: { webhookCacheTTLMs: -1 } }],
    ['authentication.tokens', { authentication: { tokens: [] } as never }],
    ['authorization.mode', { authorization: { mode: 'RBAC' as never } }],
    ['tlsMinVersion', { tlsMinVersion: 'VersionTLS11' as never }],
    ['tlsCipherSuites', { tlsCipherSuites: 'TLS_AES_128_GCM_SHA256' as never }],
    ['tlsCipherSuites[1]', { tlsCipherSuites: ['TLS_AES_128_GCM_SHA256', 'TLS_RSA_WITH_RC4_128_SHA'] }],
    ['kubeletConfiguration', { kubeletConfiguration: [] as never }],
    ['ports', { ports: 1 } as never],
    ['register', { register: {} as never }],
    ['metrics', { metrics: 1 as never }],
    ['port', { port: -1 }],
    ['port', { port: 1.5 }],
    ['tlsCertFile', { tlsCertFile: '', tlsPrivateKeyFile: '/key' }],
    ['tlsPrivateKeyFile', { tlsCertFile: '/cert', tlsPrivateKeyFile: 7 as never }],
    ['serverTLSBootstrap', { serverTLSBootstrap: 'yes' as never }],
    ['serverTLSBootstrap', { serverTLSBootstrap: true, tlsCertFile: '/cert', tlsPrivateKeyFile: '/key' }],
    // Nobody can sign the certificate.
    ['serverTLSBootstrap', { serverTLSBootstrap: true }],
    ['authentication.webhook', { authentication: { webhook: 'yes' as never } }],
    ['authorization.cacheAuthorizedTTLMs', { authorization: { cacheAuthorizedTTLMs: -1 } }],
    ['authorization.cacheUnauthorizedTTLMs', { authorization: { cacheUnauthorizedTTLMs: -1 } }],
    ['authorization.rules', { authorization: { rules: [] } as never }],
    // Without an API server, nobody can say who may do what.
    ['authorization.mode', {}],
    ['authentication.webhook', { authorization: { mode: 'AlwaysAllow' } }],
  ])('%s is refused by name', async (path, options) => {
    const serving = serveKubeletAPI(agent as unknown as NodeAgent, { runtime: runtimeWith({}), ...options });
    await expect(serving).rejects.toMatchObject({ code: 'INVALID_OPTION', path });
  });

  it('a port that is taken is reported, with what to do', async () => {
    await using server = await serverWith({});
    await expect(TestServer.start({ port: server.port })).rejects.toMatchObject({
      code: 'INVALID_STATE',
      message: expect.stringMatching(/EADDRINUSE.*; choose another port, or stop what uses it/) as string,
    });
  });
});

it.skipIf(!hasOpenSSL)(
  'with serverTLSBootstrap, connections are refused until the cluster has issued the certificate (skipped without openssl)',
  async () => {
    let pem = '';
    let isIssued = false;
    let nowMs = 0;
    const apiRequests: APIRequests = {
      request: async (method, _path, { body } = {}) => {
        if (method === 'POST')
          pem = Buffer.from((body as { spec: { request: string } }).spec.request, 'base64').toString();
        const certificate = (): string => Buffer.from(signRequest(pem, nowMs)).toString('base64');
        const status = method === 'GET' && isIssued ? { certificate: certificate() } : {};
        return { json: () => ({ metadata: { name: 'csr-1' }, status }) };
      },
    };
    const served = {
      ...{ nodeName: 'node-a', apiRequests, getPods: () => [], setKubeletEndpoint: () => {} },
      getNode: () => ({ status: { addresses: [{ type: 'InternalIP', address: '192.0.2.7' }] } }) as never,
      inspect: () => ({ state: 'running', syncLoop: {} }) as const,
      statusManager: { getPodStatus: () => undefined },
    };
    await using server = await TestServer.start(
      {
        ...{ serverTLSBootstrap: true, certDirectory: directories.create() },
        ...{ tlsCertFile: undefined, tlsPrivateKeyFile: undefined },
      },
      { served },
    );
    nowMs = server.clock.now();
    const certificateOf = (): Promise<string> =>
      new Promise((resolve, reject) => {
        const socket = connectTLS({ host: '127.0.0.1', port: server.port, rejectUnauthorized: false }, () => {
          const { subjectaltname = '' } = socket.getPeerCertificate();
          socket.destroy();
          resolve(subjectaltname);
        });
        socket.once('error', reject);
      });
    await expect(certificateOf()).rejects.toThrow(/alert|handshake|disconnected|ECONNRESET/);
    isIssued = true;
    await server.clock.advanceAsync(120_000);
    expect(await certificateOf()).toBe('IP Address:192.0.2.7');
  },
);
