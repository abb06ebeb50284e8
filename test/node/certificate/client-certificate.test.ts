import { X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startClientCertificateManager } from 'kubelet-status-manager/agent';
import { FakeClock, recordingLogger, settle } from 'kubelet-status-manager/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { APIRequests } from '../../../src/kube/client/api-requests.ts';
import { TestDirectories } from '../../support/directories.ts';
import { hasOpenSSL, signRequest } from '../../support/sign-request.ts';

type Options = Parameters<typeof startClientCertificateManager>[0];

const directories = new TestDirectories();
let clock: FakeClock;
let folder: string;
/** Whose credentials each request for a certificate had. */
let users: string[];
let logger: ReturnType<typeof recordingLogger>;
const managers: ReturnType<typeof startClientCertificateManager>[] = [];

beforeEach(() => {
  clock = new FakeClock('2026-01-02T03:04:05Z');
  folder = join(directories.create(), 'pki');
  users = [];
  logger = recordingLogger();
});

afterEach(async () => {
  await Promise.all(managers.splice(0).map((manager) => manager.stop()));
  directories.removeAll();
});

/** An API server that signs what `user` requests. */
function requestsOf(user: string): APIRequests {
  let pem = '';
  return {
    request: async (method, _path, { body } = {}) => {
      if (method === 'POST') {
        const { spec } = body as { readonly spec: Readonly<Record<string, unknown>> };
        expect(spec).toMatchObject({
          signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
          usages: ['digital signature', 'client auth'],
        });
        users.push(user);
        pem = Buffer.from(spec['request'] as string, 'base64').toString();
      }
      const certificate = (): string => Buffer.from(signRequest(pem, clock.now())).toString('base64');
      return {
        json: () => ({ metadata: { name: 'csr-1' }, status: method === 'POST' ? {} : { certificate: certificate() } }),
      };
    },
  };
}

async function start(options: Partial<Options> = {}): Promise<() => Promise<void>> {
  const manager = startClientCertificateManager({
    ...{ nodeName: 'node-a', certDirectory: folder, clock, logger },
    ...{ requests: requestsOf('node'), bootstrapRequests: requestsOf('bootstrap') },
    ...options,
  });
  managers.push(manager);
  await settle();
  return () => manager.stop();
}

const currentFile = (): string => join(folder, 'kubelet-client-current.pem');
const current = (): X509Certificate => new X509Certificate(readFileSync(currentFile()));

describe.skipIf(!hasOpenSSL)('startClientCertificateManager (skipped without openssl)', () => {
  it('requests the first certificate with the bootstrap credentials, and renews it with its own', async () => {
    await start();
    expect(users).toEqual(['bootstrap']);
    expect(current().subject.split('\n').toSorted()).toEqual(['CN=system:node:node-a', 'O=system:nodes']);
    expect(current().subjectAltName).toBe(undefined);
    const first = current().serialNumber + readlinkSync(currentFile());
    await clock.advanceAsync(91 * 60_000);
    expect(users).toEqual(['bootstrap', 'node']);
    expect(current().serialNumber + readlinkSync(currentFile())).not.toBe(first);
  });

  it('keeps each certificate with its key in a file for the owner only, the previous ones, too', async () => {
    await start();
    await clock.advanceAsync(91 * 60_000);
    const names = readdirSync(folder).toSorted();
    expect(names).toEqual([
      'kubelet-client-2026-01-02-03-04-05.pem',
      expect.stringMatching(/^kubelet-client-2026-01-02-04-[12345]\d-\d\d\.pem$/),
      'kubelet-client-current.pem',
    ]);
    expect(names.map((name) => statSync(join(folder, name)).mode & 0o777)).toEqual([0o600, 0o600, 0o600]);
    expect(readFileSync(currentFile(), 'utf8')).toMatch(
      /^-----BEGIN CERTIFICATE-----\n.*-----END PRIVATE KEY-----\n$/s,
    );
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('uses the certificate of an earlier run, unless it is for another node', async () => {
    const stop = await start();
    await stop();
    const stopAgain = await start();
    expect(users).toEqual(['bootstrap']);
    await stopAgain();
    await start({ nodeName: 'node-b' });
    expect(users).toEqual(['bootstrap', 'node']);
    expect(current().subject).toContain('CN=system:node:node-b');
  });

  it('requests a certificate with the bootstrap credentials again after the last one has expired', async () => {
    const stop = await start();
    await stop();
    clock.advance(101 * 60_000);
    await start();
    expect(users).toEqual(['bootstrap', 'bootstrap']);
  });

  it('a new certificate that cannot be used does not replace the current one, and another is requested', async () => {
    let isAccepted = true;
    const verify = async (): Promise<void> => {
      if (!isAccepted) throw new Error('401 Unauthorized');
    };
    await start({ verify });
    const first = current().fingerprint256;
    isAccepted = false;
    await clock.advanceAsync(91 * 60_000);
    expect(current().fingerprint256).toBe(first);
    expect(logger.warnings[0]).toMatchObject({
      message: 'Requesting the client certificate failed',
      fields: { reason: '401 Unauthorized', failures: 1 },
    });
    isAccepted = true;
    await clock.advanceAsync(300_000);
    expect(current().fingerprint256).not.toBe(first);
  });

  it('a new certificate that could not be verified while the API server was away is used once it is back', async () => {
    let isAway = true;
    const requests = requestsOf('bootstrap');
    const bootstrapRequests: APIRequests = {
      request: async (method, path, options) => {
        if (isAway && users.length > 0 && method === 'POST') throw new Error('ECONNREFUSED');
        return requests.request(method, path, options);
      },
    };
    const verify = async (): Promise<void> => {
      if (isAway) throw new Error('ECONNREFUSED');
    };
    await start({ bootstrapRequests, verify });
    await clock.advanceAsync(20 * 60_000);
    expect(existsSync(currentFile())).toBe(false);
    isAway = false;
    await clock.advanceAsync(300_000);
    expect(current().subject).toContain('CN=system:node:node-a');
    expect(users).toEqual(['bootstrap']);
  });

  it('a verify that never settles fails after a minute, and delays neither the next request nor stop', async () => {
    let calls = 0;
    const stop = await start({ verify: () => new Promise(() => void calls++) });
    await clock.advanceAsync(65_000);
    expect(calls).toBe(2);
    expect(logger.warnings[0]).toMatchObject({
      fields: { reason: 'verify of the client certificate took over 60000 ms' },
    });
    await stop();
    expect(existsSync(currentFile())).toBe(false);
  });

  it('a request is read with the bootstrap credentials once the certificate has expired', async () => {
    const readers: string[] = [];
    let isSigned = true;
    const pending = (user: string): APIRequests => {
      const requests = requestsOf(user);
      return {
        request: async (method, path, options) => {
          if (method === 'GET') readers.push(user);
          if (method === 'GET' && user === 'node' && !isSigned) return { json: () => ({ status: {} }) };
          return requests.request(method, path, options);
        },
      };
    };
    await start({ requests: pending('node'), bootstrapRequests: pending('bootstrap') });
    isSigned = false;
    await clock.advanceAsync(91 * 60_000);
    expect(readers.at(-1)).toBe('node');
    await clock.advanceAsync(10 * 60_000);
    expect(readers.at(-1)).toBe('bootstrap');
  });

  it('a damaged file is replaced', async () => {
    const stop = await start();
    await stop();
    writeFileSync(currentFile(), 'damaged');
    await start();
    expect(current().subject).toContain('CN=system:node:node-a');
    expect(logger.warnings).toMatchObject([{ message: 'The client certificate is damaged' }]);
  });
});

it.each<[string, Partial<Options>]>([
  ['nodeName', { nodeName: '' }],
  ['certDirectory', { certDirectory: '' }],
  ['requests', { requests: {} as never }],
  ['bootstrapRequests', { bootstrapRequests: {} as never }],
  ['directory', { directory: '/pki' } as never],
])('%s is refused by name', async (path, options) => {
  await expect(start(options)).rejects.toMatchObject({ code: 'INVALID_OPTION', path });
});
