import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import { httpSource, type PodSource } from 'kubelet-status-manager/agent';
import { FakeClock, type RecordingLogger, recordingLogger } from 'kubelet-status-manager/testing';
import { timeFromEpochMs } from '../../../src/shared/time.ts';
import type { HTTPSourceOptions } from '../../../src/node/config/http-source.ts';
import { podSourceContext } from '../../../src/node/config/decode-manifest.ts';

let server: Server;
let url: string;
let clock: FakeClock;
let logger: RecordingLogger;
let source: PodSource;
let lists: Pod[][];
let response: { status: number; body: string };
/** Called at each request in place of a response. */
let onRequest: ((reply: ServerResponse) => void) | undefined;
let headers: IncomingHttpHeaders;
beforeEach(async () => {
  clock = new FakeClock();
  logger = recordingLogger();
  lists = [];
  response = { status: 200, body: '' };
  onRequest = undefined;
  server = createServer((request, reply) => {
    ({ headers } = request);
    if (onRequest === undefined) reply.writeHead(response.status).end(response.body);
    else onRequest(reply);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`;
});
afterEach(async () => {
  await source?.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Called when a request has been dealt with: then the next one is planned. */
let dealtWith: () => void;

/** Starts, and resolves when the first request has been dealt with. */
async function poll(options: Partial<HTTPSourceOptions> = {}): Promise<void> {
  const { httpCheckFrequencyMs = 20_000 } = options;
  const first = nextPoll();
  const observed = new Proxy(clock, {
    get: (target, field) =>
      field === 'afterFunc'
        ? (ms: number, callback: () => void) => {
            if (ms === httpCheckFrequencyMs) dealtWith();
            return target.afterFunc(ms, callback);
          }
        : (Reflect.get(target, field) as () => unknown).bind(target),
  });
  source = httpSource({ url, ...options });
  const context = podSourceContext({ nodeName: 'node-a', clock: observed, logger, apiPods: undefined });
  source.start((pods) => lists.push([...pods]), context);
  await first;
}
const nextPoll = (): Promise<void> => new Promise((resolve) => (dealtWith = resolve));

/** Resolves when the request of the next period has been dealt with. */
async function pollAgain(): Promise<void> {
  const next = nextPoll();
  clock.advance(20_000);
  await next;
}

const podOf = (name: string, rest: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name },
  spec: { containers: [{ name: 'app', image: 'app' }], ...rest },
});

const names = (): unknown[] => lists.map((pods) => pods.map(({ metadata }) => metadata?.name));
const reasons = (): unknown[] => logger.lines.map(({ fields }) => (fields as { reason?: unknown }).reason);

describe('TestExtractPodsFromHTTP', () => {
  it('Single pod', async () => {
    response.body = JSON.stringify(podOf('foo'));
    await poll();
    expect(names()).toEqual([['foo-node-a']]);
    expect(lists[0]?.[0]?.spec).not.toHaveProperty('tolerations');
  });

  it('Multiple pods', async () => {
    response.body = JSON.stringify({ apiVersion: 'v1', kind: 'PodList', items: [podOf('foo'), podOf('bar')] });
    await poll();
    expect(names()).toEqual([['foo-node-a', 'bar-node-a']]);
  });

  it('no data: there are no pods', async () => {
    await poll();
    expect([names(), reasons()]).toEqual([[[]], ['Received no data']]);
  });
});

describe('TestExtractInvalidPods', () => {
  it.each<[string, object, string]>([
    ['No version', { ...podOf('foo'), apiVersion: '' }, 'apiVersion'],
    ['Invalid version', { ...podOf('foo'), apiVersion: 'v1betta2' }, 'apiVersion'],
    ['No name', podOf(''), 'metadata.name'],
  ])('%s', async (_, manifest, path) => {
    response.body = JSON.stringify(manifest);
    await poll();
    expect([lists, reasons()]).toEqual([[], [expect.stringContaining(`Expected \`${path}\` to be`)]]);
  });

  it.each<[string, object, string]>([
    ['Invalid volume name', podOf('foo', { volumes: [{ name: '_INVALID_' }] }), 'spec.volumes[0].name'],
    ['Duplicate volume names', podOf('foo', { volumes: [{ name: 'r' }, { name: 'r' }] }), 'spec.volumes[1].name'],
    ['Unspecified container name', podOf('foo', { containers: [{ name: '' }] }), 'spec.containers[0].name'],
    ['Invalid container name', podOf('foo', { containers: [{ name: '_INVALID_' }] }), 'spec.containers[0].name'],
    ['Invalid pod name', podOf('FOO'), 'metadata.name'],
    ['No spec', { ...podOf('foo'), spec: undefined }, 'spec.containers'],
  ])('%s', async (_, manifest, path) => {
    response.body = JSON.stringify(manifest);
    await poll();
    expect([lists, reasons()]).toEqual([[], [expect.stringContaining(path)]]);
    expect(source.refusedManifests!()).toMatchObject([{ source: url, reason: expect.stringContaining(path) }]);
  });

  it.each<[string, object]>([
    ['serviceaccounts', { serviceAccountName: 'a' }],
    ['secrets', { containers: [{ name: 'a', image: 'a', envFrom: [{ secretRef: { name: 's' } }] }] }],
    [
      'configmaps',
      {
        containers: [
          { name: 'a', image: 'a', env: [{ name: 'E', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] },
        ],
      },
    ],
    ['resourceclaims', { resourceClaims: [{ name: 'c' }] }],
    ['secrets', { volumes: [{ name: 'v', secret: { secretName: 's' } }] }],
    ['clustertrustbundles', { volumes: [{ name: 'v', projected: { sources: [{ clusterTrustBundle: {} }] } }] }],
  ])('a reference to %s', async (resource, spec) => {
    response.body = JSON.stringify(podOf('foo', spec));
    await poll();
    expect([lists, reasons()]).toEqual([[], [`Static pods may not reference ${resource}`]]);
  });
});

it('TestURLErrorNotExistNoUpdate', async () => {
  await poll({ url: 'http://127.0.0.1:1/' });
  expect([lists, reasons()]).toEqual([[], [expect.stringMatching(/ECONNREFUSED|bad port|fetch failed/)]]);
});

it('TestExtractFromHttpBadness', async () => {
  response = { status: 500, body: JSON.stringify(podOf('foo')) };
  await poll();
  expect([lists, reasons()]).toEqual([[], ['The response has status 500']]);
});

describe('TestURLWithHeader', () => {
  it('the header is sent, and never logged', async () => {
    response.status = 401;
    await poll({ header: { Authorization: 'Bearer hidden' } });
    expect(headers.authorization).toBe('Bearer hidden');
    expect(JSON.stringify(logger.lines)).not.toContain('hidden');
  });

  it.each<[string, string, object]>([
    ['url', 'an http or https URL without user and password', { url: 'ftp://example.com' }],
    ['url', 'an http or https URL without user and password', { url: 'https://user:hidden@example.com/' }],
    ['url', 'an http or https URL without user and password', { url: 'https://hidden@example.com' }],
    ['url', 'an http or https URL without user and password', { url: 'example.com/hidden' }],
    ['url', 'an http or https URL without user and password', { url: 'xhttp://hidden.example.com/' }],
    ['url', 'an http or https URL without user and password', { url: undefined }],
    ['header', 'valid HTTP header names and values', { header: { Authorization: 'hidden\nx' } }],
    ['parse', 'a function', { parse: 'yaml' }],
    ['httpCheckFrequencyMs', 'milliseconds > 0', { httpCheckFrequencyMs: 0 }],
    ['headers', 'absent', { headers: { Authorization: 'hidden' } }],
  ])('a bad %s is refused, without its value: expected is %s', (path, expected, options) => {
    const create = (): PodSource => httpSource({ url, ...options });
    expect(create).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path }));
    expect(create).toThrow(`Expected \`${path}\` to be ${expected}`);
    expect(create).not.toThrow('hidden');
  });

  it.each(['http://a', 'https://a.example/pods?x=y@z', 'http://[::1]:80/', 'HTTP://a/b@c'])('%s is valid', (valid) => {
    expect(httpSource({ url: valid }).name).toBe('http');
  });
});

it('an unchanged response is not passed on again, and stop() ends polling', async () => {
  response.body = JSON.stringify(podOf('foo'));
  await poll({ httpCheckFrequencyMs: 20_000 });
  const requested = new Promise((resolve) => server.once('request', resolve));
  clock.advance(20_000);
  await requested;
  await source.stop();
  expect(names()).toEqual([['foo-node-a']]);
  expect(clock.pendingTimers).toBe(0);
});

describe('while there is no valid response, the pods stay as they are', () => {
  beforeEach(async () => {
    response.body = JSON.stringify(podOf('foo'));
    await poll();
  });

  it('the reason is shown with the time since when, and its recovery is logged', async () => {
    const since = timeFromEpochMs(clock.now() + 20_000);
    response.body = JSON.stringify({ ...podOf('foo'), kind: 'Secret' });
    await pollAgain();
    await pollAgain();
    expect(source.refusedManifests!()).toEqual([{ source: url, reason: 'Expected `kind` to be Pod', since }]);
    response.body = '{';
    await pollAgain();
    expect(source.refusedManifests!()).toMatchObject([
      {
        reason: 'The manifest cannot be parsed; for YAML, pass `parse` of the package yaml as option `parse`',
        since: timeFromEpochMs(clock.now()),
      },
    ]);
    response.body = JSON.stringify(podOf('bar'));
    await pollAgain();
    expect(source.refusedManifests!()).toEqual([]);
    expect(names()).toEqual([['foo-node-a'], ['bar-node-a']]);
    expect(logger.lines.map(({ message }) => message)).toEqual([
      'Reading pods from the URL failed',
      'Reading pods from the URL failed',
      'Reading pods from the URL succeeded again',
    ]);
  });

  it('a response that was valid before is not delivered again when it comes back', async () => {
    response.status = 503;
    await pollAgain();
    response.status = 200;
    await pollAgain();
    expect(names()).toEqual([['foo-node-a']]);
  });

  it('after an empty response it is', async () => {
    const { body } = response;
    response.body = '';
    await pollAgain();
    response.body = body;
    await pollAgain();
    expect(names()).toEqual([['foo-node-a'], [], ['foo-node-a']]);
  });

  it('a server that does not respond is given up after 10 s', async () => {
    const next = nextPoll();
    onRequest = () => clock.advance(10_000);
    clock.advance(20_000);
    await next;
    expect([names(), reasons()]).toEqual([[['foo-node-a']], ['No response within 10 s']]);
  });

  it('a connection that is reset has the reason of the system', async () => {
    onRequest = ({ socket }) => socket!.destroy();
    await pollAgain();
    expect([names(), reasons()]).toEqual([[['foo-node-a']], ['The request failed: UND_ERR_SOCKET']]);
  });

  it('a response of more than 10 MiB is refused', async () => {
    response.body = ' '.repeat(10 * 2 ** 20 + 1);
    await pollAgain();
    expect([names(), reasons()]).toEqual([[['foo-node-a']], ['The response is longer than 10485760 bytes']]);
  });
});

it('a response of 10 MiB in many pieces is read', async () => {
  const body = JSON.stringify(podOf('foo'));
  response.body = body + ' '.repeat(10 * 2 ** 20 - body.length);
  await poll();
  expect(names()).toEqual([['foo-node-a']]);
});

it('what a refused manifest is shown with does not have the query of the URL, which may be a token', async () => {
  response.body = '{}';
  await poll({ url: `${url}?token=hidden#hidden\nhidden` });
  expect(source.refusedManifests!()).toMatchObject([{ source: url }]);
  expect(JSON.stringify(logger.lines)).not.toContain('hidden');
});

it('YAML is read with `parse`, at the interval `httpCheckFrequencyMs`', async () => {
  const { parse } = await import('yaml');
  response.body = 'apiVersion: v1\nkind: Pod\nmetadata: {name: foo}\nspec: {containers: [{name: app, image: app}]}\n';
  await poll({ parse, httpCheckFrequencyMs: 5000 });
  response.body = response.body.replace('foo', 'bar');
  const next = nextPoll();
  clock.advance(5000);
  await next;
  expect(names()).toEqual([['foo-node-a'], ['bar-node-a']]);
});

it('stop() aborts a request in flight, which is no failure', async () => {
  await poll();
  const requested = new Promise<void>((resolve) => (onRequest = () => resolve()));
  clock.advance(20_000);
  await requested;
  await source.stop();
  expect(names()).toEqual([[]]);
  expect(reasons()).toEqual(['Received no data']);
  expect(clock.pendingTimers).toBe(0);
});
