import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeClock, recordingLogger, settle } from 'kubelet-status-manager/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CertificateManager, servingKind } from '../../../src/node/certificate/certificate-manager.ts';
import type { KeyPair } from '../../../src/node/certificate/certificate-store.ts';
import { APIError } from '../../../src/kube/client/api-error.ts';
import type { NodeAddress } from '../../../src/node/registration/node-types.ts';
import { servingHosts } from '../../../src/kubelet-api/serving-certificate.ts';
import { TestDirectories } from '../../support/directories.ts';
import { hasOpenSSL, signRequest } from '../../support/sign-request.ts';
import { certificateFile } from '../../kubelet-api/test-server.ts';
import { goodNews } from '../../support/log-lines.ts';

const directories = new TestDirectories();

interface Request {
  readonly spec: { readonly request: string; readonly signerName: string; readonly usages: string[] };
}

let clock: FakeClock;
let folder: string;
let addresses: NodeAddress[];
let requests: Request[];
let served: KeyPair[];
let status: (request: Request) => object;
let failure: Error | undefined;
let logger: ReturnType<typeof recordingLogger>;
const managers: CertificateManager[] = [];

beforeEach(() => {
  clock = new FakeClock('2026-01-02T03:04:05Z');
  folder = join(directories.create(), 'pki');
  addresses = [
    { type: 'InternalIP', address: '192.0.2.7' },
    { type: 'Hostname', address: 'node-a' },
  ];
  [requests, served, failure] = [[], [], undefined];
  status = ({ spec }) => {
    const pem = Buffer.from(spec.request, 'base64').toString();
    return { certificate: Buffer.from(signRequest(pem, clock.now())).toString('base64') };
  };
  logger = recordingLogger();
});

afterEach(async () => {
  await Promise.all(managers.splice(0).map((manager) => manager.stop()));
  directories.removeAll();
});

async function start(): Promise<CertificateManager> {
  const manager = new CertificateManager({
    ...{ nodeName: 'node-a', directory: folder, clock, logger, random: () => 0.5 },
    kind: servingKind,
    hosts: () => servingHosts(addresses),
    onCertificate: (certificate) => served.push(certificate),
    requests: () => ({
      request: async (method, path, { body } = {}) => {
        if (failure !== undefined) throw failure;
        if (method === 'POST') requests.push(body as Request);
        else if (!path.endsWith('/csr-1')) throw new Error(path);
        return {
          json: () => ({ metadata: { name: 'csr-1' }, status: method === 'POST' ? {} : status(requests.at(-1)!) }),
        };
      },
    }),
  });
  managers.push(manager);
  manager.start();
  await settle();
  return manager;
}

describe.skipIf(!hasOpenSSL)('CertificateManager (skipped without openssl)', () => {
  it('requests a certificate for the addresses of the Node, serves it, and keeps it for the next run', async () => {
    const manager = await start();
    expect(requests[0]!.spec).toMatchObject({
      signerName: 'kubernetes.io/kubelet-serving',
      usages: ['digital signature', 'server auth'],
    });
    const certificate = new X509Certificate(served[0]!.cert);
    expect(certificate.subject.split('\n').toSorted()).toEqual(['CN=system:node:node-a', 'O=system:nodes']);
    expect(certificate.subjectAltName).toBe('DNS:node-a, IP Address:192.0.2.7');
    const file = join(folder, 'kubelet-server-current.pem');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await manager.stop();
    await start();
    expect(served).toHaveLength(2);
    expect(served[1]).toEqual(served[0]);
    expect(requests).toHaveLength(1);
  });

  it('renews it after 80 % of its life', async () => {
    await start();
    await clock.advanceAsync(79.5 * 60_000);
    expect(requests).toHaveLength(1);
    await clock.advanceAsync(60_000);
    expect(served).toHaveLength(2);
    expect(served[1]!.cert).not.toBe(served[0]!.cert);
  });

  it('renews it when the Node gets another address, and not when it loses one', async () => {
    await start();
    addresses = addresses.slice(1);
    await clock.advanceAsync(20_000);
    expect(requests).toHaveLength(1);
    addresses = [...addresses, { type: 'InternalIP', address: '2001:db8::7' }];
    await clock.advanceAsync(10_000);
    expect(new X509Certificate(served.at(-1)!.cert).subjectAltName).toBe('DNS:node-a, IP Address:2001:DB8:0:0:0:0:0:7');
  });

  it('requests nothing before the Node has an address', async () => {
    const all = addresses;
    addresses = [];
    await start();
    expect(requests).toEqual([]);
    addresses = all;
    await clock.advanceAsync(10_000);
    expect(served).toHaveLength(1);
  });

  it('serves the old certificate while the request for another one waits, and the log says what to do', async () => {
    await start();
    status = () => ({});
    await clock.advanceAsync(80.5 * 60_000);
    await clock.advanceAsync(120_000);
    expect(served).toHaveLength(1);
    expect(logger.warnings).toMatchObject([
      {
        message: 'The request for the serving certificate waits: kubectl certificate approve',
        fields: { csr: 'csr-1' },
      },
    ]);
  });

  it('a request that is denied, or an API server that does not respond, is tried again', async () => {
    status = () => ({ conditions: [{ type: 'Denied', message: 'not this node' }] });
    await start();
    expect(logger.warnings).toMatchObject([
      { message: 'Requesting the serving certificate failed', fields: { reason: 'csr-1 is Denied: not this node' } },
    ]);
    failure = new Error('connect ECONNREFUSED');
    await clock.advanceAsync(60_000);
    expect(logger.warnings).toHaveLength(2);
    expect(requests.length).toBeLessThan(3);
    failure = undefined;
    status = ({ spec }) => ({
      certificate: Buffer.from(signRequest(Buffer.from(spec.request, 'base64').toString(), clock.now())).toString(
        'base64',
      ),
    });
    await clock.advanceAsync(300_000);
    expect(served).toHaveLength(1);
    expect(goodNews(logger).at(-1)).toMatchObject({ message: 'Requesting the serving certificate succeeded again' });
  });

  it('a request that waits for approval outlives an API server that does not respond, and is requested again if it is gone', async () => {
    const approved = status;
    status = () => ({});
    await start();
    failure = new Error('connect ECONNREFUSED');
    await clock.advanceAsync(120_000);
    expect(logger.warnings[0]!.fields).toMatchObject({ csr: 'csr-1', reason: 'connect ECONNREFUSED' });
    [failure, status] = [undefined, approved];
    await clock.advanceAsync(10_000);
    expect(served).toHaveLength(1);
    expect(requests).toHaveLength(1);

    addresses = [...addresses, { type: 'InternalIP', address: '2001:db8::7' }];
    status = () => ({});
    await clock.advanceAsync(10_000);
    expect(requests).toHaveLength(2);
    failure = new APIError('gone', { kind: 'http', statusCode: 404 });
    await clock.advanceAsync(10_000);
    [failure, status] = [undefined, approved];
    await clock.advanceAsync(10_000);
    expect(requests).toHaveLength(3);
    expect(served).toHaveLength(2);
  });

  it('a signer whose certificates have expired, because its clock is wrong, is asked every five minutes at most', async () => {
    status = ({ spec }) => {
      const pem = Buffer.from(spec.request, 'base64').toString();
      return { certificate: Buffer.from(signRequest(pem, clock.now() - 86_400_000)).toString('base64') };
    };
    await start();
    await clock.advanceAsync(3_600_000);
    expect(requests.length).toBeLessThan(25);
    const reason = 'The new certificate lacks hosts, or is to be renewed at once';
    expect(logger.warnings[0]!.fields).toMatchObject({ reason });
  });

  it('a certificate for another key is not served', async () => {
    status = () => ({ certificate: readFileSync(certificateFile('server')).toString('base64') });
    await start();
    expect(served).toEqual([]);
    expect(existsSync(join(folder, 'kubelet-server-current.pem'))).toBe(false);
    expect(logger.warnings).toMatchObject([{ fields: { reason: 'The certificate is for another key' } }]);
  });

  it('a damaged file is replaced', async () => {
    const manager = await start();
    await manager.stop();
    writeFileSync(join(folder, 'kubelet-server-current.pem'), 'damaged');
    await start();
    expect(served).toHaveLength(2);
    expect(requests).toHaveLength(2);
  });
});
