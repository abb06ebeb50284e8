import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Container, LifecycleHandler } from 'kubelet-status-manager';
import type { HTTPGetAction } from '../../../src/kube/objects/types.ts';
import type { PodEvent } from '../../../src/node/events/event-recorder.ts';
import { createHandlerRunner } from '../../../src/agent/pod-syncer/handler-runner.ts';
import type { HTTPProbeRequest } from '../../../src/node/prober/http-probe-request.ts';
import { createSelfSignedCertificate } from '../../../src/shared/x509.ts';
import { FakeClock, FakeContainerRuntime } from 'kubelet-status-manager/testing';

const pod = { metadata: { uid: 'uid-1', name: 'web', namespace: 'ns' } };
const containerID = 'fake://1';
const clock = new FakeClock();
let runtime: FakeContainerRuntime;
let sent: HTTPProbeRequest[];
let events: string[];
/** What the next HTTP hook meets; undefined: a response. */
let failure: Error | undefined;
beforeEach(() => {
  runtime = new FakeContainerRuntime({ clock });
  sent = [];
  events = [];
  failure = undefined;
  runtime.put({
    ...{ uid: 'uid-1', name: 'web', namespace: 'ns' },
    containers: [{ id: containerID, name: 'app', state: 'running', createdAtMs: 0 }],
  });
});

const eventRecorder = {
  event: ({ type, reason, message }: PodEvent) => void events.push(`${type} ${reason}: ${message}`),
};
interface Run {
  readonly container?: Container;
  readonly podIP?: string | undefined;
  readonly signal?: AbortSignal;
  /** True: over the network. */
  readonly isReal?: boolean;
}
function run(handler: LifecycleHandler, rest: Run = {}): Promise<void> {
  const { container = { name: 'app' }, signal = new AbortController().signal, isReal = false } = rest;
  const podIP = 'podIP' in rest ? rest.podIP : '127.0.0.1';
  const httpGet = async (request: HTTPProbeRequest): Promise<void> => {
    sent.push(request);
    if (failure !== undefined) throw failure;
  };
  const runner = createHandlerRunner({ runtime, clock, eventRecorder, ...(!isReal && { httpGet }) });
  return runner.run({ pod, container, containerID, podIP, handler }, signal);
}

describe('TestRunHandlerExec', () => {
  it('runs the command in the container', async () => {
    await run({ exec: { command: ['ls', '-a'] } });
    expect(runtime.callsOf({ method: 'execSync' })).toMatchObject([{ containerID, command: ['ls', '-a'] }]);
  });

  it('ends the command when the hook is no longer waited for', async () => {
    runtime.delay({ method: 'execSync' }, 60_000);
    const controller = new AbortController();
    const hook = run({ exec: { command: ['sleep', '60'] } }, { signal: controller.signal });
    controller.abort(new Error('the grace period is over'));
    await expect(hook).rejects.toThrow('failed - error: the grace period is over, message: ""');
  });
});

describe('TestRunHandlerExecFailure', () => {
  it('the runtime cannot run it', async () => {
    runtime.fail({ method: 'execSync' }, 'invalid command');
    await expect(run({ exec: { command: ['ls', '--a'] } })).rejects.toThrow(
      'Exec lifecycle hook ([ls --a]) for Container "app" in Pod "web_ns(uid-1)" failed - error: invalid command, message: ""',
    );
  });

  it('the command fails', async () => {
    runtime.onExec(() => ({ exitCode: 2, stdout: 'out', stderr: 'no' }));
    await expect(run({ exec: { command: ['ls', '--a'] } })).rejects.toThrow(
      'failed - error: command \'ls --a\' exited with 2: no, message: "outno"',
    );
  });
});

describe('TestRunHTTPHandler', () => {
  const podIP = '233.252.0.1';
  it.each<[string, HTTPGetAction, string, string?]>([
    [
      'missing pod IP',
      { path: 'foo', port: 42, host: 'example.test', scheme: 'http' },
      'http://example.test:42/foo',
      '',
    ],
    ['missing host', { path: 'foo', port: 42, scheme: 'http' }, 'http://233.252.0.1:42/foo'],
    ['path with leading slash', { path: '/foo', port: 42 }, 'http://233.252.0.1:42/foo'],
    ['path without leading slash', { path: 'foo', port: 42 }, 'http://233.252.0.1:42/foo'],
    ['port resolution', { path: 'foo', port: 'quux' }, 'http://233.252.0.1:8080/foo'],
    ['https', { path: 'foo', port: 4430, scheme: 'https' }, 'https://233.252.0.1:4430/foo'],
    ['query param', { path: 'foo?k=v', port: 80 }, 'http://233.252.0.1:80/foo?k=v'],
    ['an IPv6 address', { path: 'foo', port: 80 }, 'http://[fd00::1]:80/foo', 'fd00::1'],
  ])('%s', async (_, httpGet, url, ip = podIP) => {
    const container = { name: 'app', ports: [{ name: 'quux', containerPort: 8080 }] };
    await run({ httpGet }, { container, podIP: ip });
    expect(sent.map((request) => request.url)).toEqual([url]);
  });

  it('headers, host header', async () => {
    const httpHeaders = [
      { name: 'foo', value: 'bar' },
      { name: 'Host', value: 'from.header' },
    ];
    await run({ httpGet: { port: 80, httpHeaders } });
    expect(Object.fromEntries(sent[0]!.headers)).toEqual({
      ...{ Accept: ['*/*'], Foo: ['bar'], Host: ['from.header'] },
      'User-Agent': [expect.stringMatching(/^kube-lifecycle\//)],
    });
  });
});

describe('TestRunHandlerHTTPPort', () => {
  it('consistent/without port', async () => {
    await expect(run({ httpGet: { path: '/quit', port: 'admin' } })).rejects.toThrow(
      'HTTP lifecycle hook (/quit) for Container "app" in Pod "web_ns(uid-1)" failed - error: port "admin" not found',
    );
    expect(sent).toEqual([]);
  });

  it('a pod without an address', async () => {
    await expect(run({ httpGet: { port: 80 } }, { podIP: undefined })).rejects.toThrow('the pod has no address');
  });
});

describe('TestRunHandlerHttpFailure', () => {
  it('says which hook, and why', async () => {
    failure = new Error('fake http error');
    await expect(run({ httpGet: { path: 'bar', port: 8080, host: 'foo' } })).rejects.toThrow(
      'HTTP lifecycle hook (bar) for Container "app" in Pod "web_ns(uid-1)" failed - error: fake http error',
    );
    expect(sent.map(({ url }) => url)).toEqual(['http://foo:8080/bar']);
  });

  it.each([
    ['HTTP', new Error('http: server closed')],
    ['HTTPS', new Error('connect ECONNREFUSED')],
  ])('a failed %s hook is not sent again: %s', async (scheme, error) => {
    failure = error;
    await expect(run({ httpGet: { port: 8080, scheme } })).rejects.toMatchObject({
      message: expect.stringMatching(/^HTTP lifecycle hook \(\) for Container "app" /),
      cause: error,
    });
    expect(sent).toHaveLength(1);
    expect(events).toEqual([]);
  });

  it('says why HTTPS failed if HTTP fails, too, without an event', async () => {
    failure = new Error('Get "https://x": http: server gave HTTP response to HTTPS client');
    await expect(run({ httpGet: { port: 8080, scheme: 'HTTPS' } })).rejects.toThrow(
      `failed - error: ${failure.message}`,
    );
    expect(sent.map(({ url }) => url)).toEqual(['https://127.0.0.1:8080/', 'http://127.0.0.1:8080/']);
    expect(events).toEqual([]);
  });
});

describe('TestRunHandlerNil', () => {
  it('a hook without an action', async () => {
    await expect(run({})).rejects.toThrow('Cannot run handler: it has neither exec, httpGet nor sleep');
  });

  it('a TCP hook fails, which the API accepts and no kubelet runs', async () => {
    const hook = run({ tcpSocket: { port: 80 } });
    await expect(hook).rejects.toThrow('Cannot run handler: it has neither exec, httpGet nor sleep');
  });
});

describe('TestRunSleepHandler', () => {
  it('valid seconds', async () => {
    const paused = run({ sleep: { seconds: 5 } });
    clock.advance(4999);
    expect(clock.pendingTimers).toBe(1);
    clock.advance(1);
    await expect(paused).resolves.toBeUndefined();
  });

  it('longer than TerminationGracePeriodSeconds: ends when it is no longer waited for, and leaves no timer', async () => {
    const controller = new AbortController();
    const paused = run({ sleep: { seconds: 3 } }, { signal: controller.signal });
    controller.abort();
    await expect(paused).rejects.toThrow('container terminated before sleep hook finished');
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('over the network', () => {
  let server: Server;
  let requests: IncomingMessage[];
  beforeEach(async () => {
    requests = [];
    server = createServer((request, response) => {
      requests.push(request);
      response.writeHead(500).end('no');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(() => {
    server.close();
    server.closeAllConnections();
  });
  const hook = (scheme: string): LifecycleHandler => {
    const { port } = server.address() as AddressInfo;
    const httpHeaders = [
      { name: 'X-Reason', value: 'stop' },
      { name: 'Authorization', value: 'secret' },
    ];
    return { httpGet: { scheme, path: '/quit?now=1', port, httpHeaders } };
  };

  it('TestRunHandlerHttpWithHeaders: a GET request with the headers of the hook; any response is good', async () => {
    await run(hook('HTTP'), { isReal: true });
    expect(
      requests.map(({ method, url, headers }) => [method, url, headers['x-reason'], headers.authorization]),
    ).toEqual([['GET', '/quit?now=1', 'stop', 'secret']]);
  });

  it('follows redirects on the same host, and succeeds with one to another host', async () => {
    server.removeAllListeners('request');
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      requests.push(request);
      const location = request.url === '/quit?now=1' ? '/next' : 'http://other.example/';
      response.writeHead(302, { location }).end();
    });
    await run(hook('HTTP'), { isReal: true });
    expect(requests.map(({ url, headers }) => [url, headers['x-reason']])).toEqual([
      ['/quit?now=1', 'stop'],
      ['/next', 'stop'],
    ]);
  });

  it('leaves no connection open', async () => {
    await run(hook('HTTP'), { isReal: true });
    const connections = (): Promise<number> =>
      new Promise((resolve) => server.getConnections((_, count) => resolve(count)));
    await expect.poll(connections).toBe(0);
  });

  it('does not verify the certificate of an HTTPS server, as the kubelet does not', async () => {
    const { pem: cert, key } = createSelfSignedCertificate({ commonName: 'a', hosts: ['localhost'] }, Date.now());
    const secure = createSecureServer({ cert, key }, (_, response) => void response.end());
    await new Promise<void>((resolve) => secure.listen(0, '127.0.0.1', resolve));
    try {
      const { port } = secure.address() as AddressInfo;
      await expect(run({ httpGet: { scheme: 'HTTPS', port } }, { isReal: true })).resolves.toBeUndefined();
      expect(events).toEqual([]);
    } finally {
      secure.close();
    }
  });

  it('TestRunHandlerHttpsFailureFallback: HTTP without authorization when the server has no HTTPS, and an event', async () => {
    await run(hook('HTTPS'), { isReal: true });
    expect(requests.map(({ url, headers }) => [url, headers['x-reason'], headers.authorization])).toEqual([
      ['/quit?now=1', 'stop', undefined],
    ]);
    expect(events).toEqual([
      expect.stringMatching(
        /^Warning LifecycleHTTPFallback: request to HTTPS lifecycle hook 127\.0\.0\.1:\d+ got HTTP response/,
      ),
    ]);
  });
});
