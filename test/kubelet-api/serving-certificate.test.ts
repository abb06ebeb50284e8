import { X509Certificate } from 'node:crypto';
import { rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeClock, recordingLogger } from 'kubelet-status-manager/testing';
import { afterEach, describe, expect, it } from 'vitest';
import type { KeyPair } from '../../src/node/certificate/certificate-store.ts';
import { CertificateFiles, selfSignedCertificate, servingHosts } from '../../src/kubelet-api/serving-certificate.ts';
import { TestDirectories } from '../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

const nowMs = Date.parse('2026-01-02T03:04:05Z');

it('CertificateFiles: files are read again each minute; while they are damaged, the old certificate is served', () => {
  const folder = directories.create();
  const clock = new FakeClock(nowMs);
  const logger = recordingLogger();
  const [tlsCertFile, tlsPrivateKeyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  const changes: KeyPair[] = [];
  const files = new CertificateFiles({
    ...{ tlsCertFile, tlsPrivateKeyFile, clock, logger, served: { cert: 'a', key: 'k' } },
    onChange: (certificate) => {
      if (certificate.key !== 'k') throw new Error('key values mismatch');
      changes.push(certificate);
    },
  });
  const writeAndWait = (cert: string, key: string): void => {
    writeFileSync(tlsCertFile, cert);
    writeFileSync(tlsPrivateKeyFile, key);
    clock.advance(60_000);
  };
  files.start();
  writeAndWait('a', 'k');
  expect(changes).toEqual([]);
  writeAndWait('b', 'k');
  writeAndWait('b', 'other');
  expect(logger.warnings).toMatchObject([
    { message: 'Reading the serving certificate failed', fields: { reason: 'key values mismatch', file: tlsCertFile } },
  ]);
  writeAndWait('c', 'k');
  expect(changes.map(({ cert }) => cert)).toEqual(['b', 'c']);
  files.stop();
  expect(clock.pendingTimers).toBe(0);
});

describe('selfSignedCertificate', () => {
  it('is kept in files that only the agent may read', async () => {
    const folder = join(directories.create(), 'pki');
    const first = await selfSignedCertificate(folder, ['node-a'], nowMs);
    expect(await selfSignedCertificate(folder, ['node-a'], nowMs + 1000)).toEqual(first);
    expect(statSync(join(folder, 'kubelet.key')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'kubelet.crt')).mode & 0o777).toBe(0o644);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(new X509Certificate(first.cert).subjectAltName).toBe('DNS:node-a');
  });

  it('is made again if one of its files is missing', async () => {
    const folder = directories.create();
    const first = await selfSignedCertificate(folder, ['node-a'], nowMs);
    rmSync(join(folder, 'kubelet.key'));
    const second = await selfSignedCertificate(folder, ['node-a'], nowMs);
    expect(second.key).not.toBe(first.key);
    expect(await selfSignedCertificate(folder, ['node-a'], nowMs)).toEqual(second);
  });

  it('is replaced when it has expired, or is damaged', async () => {
    const folder = directories.create();
    const first = await selfSignedCertificate(folder, ['node-a'], nowMs);
    const second = await selfSignedCertificate(folder, ['node-a'], nowMs + 366 * 86_400_000);
    expect(second.cert).not.toBe(first.cert);
    writeFileSync(join(folder, 'kubelet.crt'), 'damaged');
    const third = await selfSignedCertificate(folder, ['node-a'], nowMs);
    expect(new X509Certificate(third.cert).subject).toBe('CN=node-a');
  });
});

describe('TestAddressesToHostnamesAndIPs: servingHosts', () => {
  const address = (type: string, text: string) => ({ type, address: text });
  it.each<[string, readonly { readonly type: string; readonly address: string }[], readonly string[] | undefined]>([
    ['none', [], undefined],
    ['empty ones', [address('Hostname', ''), address('ExternalDNS', '')], undefined],
    [
      'names first, then addresses, each sorted and once',
      [
        address('InternalIP', '192.168.1.2'),
        address('ExternalDNS', 'b.example'),
        address('InternalIP', '1.1.1.1'),
        address('Hostname', 'node-a'),
        address('InternalDNS', 'a.internal'),
        address('ExternalIP', '1.1.1.1'),
        address('InternalIP', '::1'),
      ],
      ['a.internal', 'b.example', 'node-a', '1.1.1.1', '192.168.1.2', '::1'],
    ],
    ['only names and addresses', [address('InternalIP', 'no-address'), address('MyHostname', 'x')], undefined],
    ['an address as hostname', [address('Hostname', '10.0.0.1')], ['10.0.0.1']],
  ])('%s', (_name, addresses, hosts) => {
    expect(servingHosts(addresses as never)).toEqual(hosts);
  });
});
