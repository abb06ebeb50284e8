import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import { httpSource, type PodSource } from 'kubelet-status-manager/agent';
import { FakeClock, type RecordingLogger, recordingLogger } from 'kubelet-status-manager/testing';
import type { HTTPSourceOptions } from '../../../src/agent/config/http-source.ts';
import { podSourceContext } from '../../../src/agent/config/decode-manifest.ts';

let server: Server;
let url: string;
let clock: FakeClock;
let logger: RecordingLogger;
let source: PodSource;
let lists: Pod[][];
let response: { status: number; body: string };
let headers: IncomingHttpHeaders;
beforeEach(async () => {
  clock = new FakeClock();
  logger = recordingLogger();
  lists = [];
  response = { status: 200, body: '' };
  server = createServer((request, reply) => {
    ({ headers } = request);
    reply.writeHead(response.status).end(response.body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/pods`;
});
afterEach(async () => {
  await source?.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Starts, and resolves when the first request has been dealt with: then the next one is planned. */
async function poll(options: Partial<HTTPSourceOptions> = {}): Promise<void> {
  const dealtWith = new Promise<void>((resolve) => {
    const observed = new Proxy(clock, {
      get: (target, field) =>
        field === 'afterFunc'
          ? (ms: number, callback: () => void) => {
              if (ms === 20_000) resolve();
              return target.afterFunc(ms, callback);
            }
          : (Reflect.get(target, field) as () => unknown).bind(target),
    });
    source = httpSource({ url, ...options });
    const context = podSourceContext({ nodeName: 'node-a', clock: observed, logger, apiPods: undefined });
    source.start((pods) => lists.push([...pods]), context);
  });
  await dealtWith;
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
    ['secrets (via secret volumes)', { volumes: [{ name: 'v', secret: { secretName: 's' } }] }],
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

  it.each<[string, Partial<HTTPSourceOptions>]>([
    ['url', { url: 'ftp://example.com' }],
    ['url', { url: 'https://user:hidden@example.com/' }],
    ['header', { header: { Authorization: 'hidden\nx' } }],
  ])('a bad %s is refused, without its value', (path, options) => {
    const create = (): PodSource => httpSource({ url, ...options });
    expect(create).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path }));
    expect(create).not.toThrow('hidden');
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
