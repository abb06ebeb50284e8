import { createPrivateKey, X509Certificate } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeClock, recordingLogger } from 'kubelet-status-manager/testing';
import { afterEach, describe, expect, it } from 'vitest';
import {
  CertificateFiles,
  selfSignedCertificate,
  type ServingCertificate,
} from '../../src/kubelet-api/serving-certificate.ts';
import { createSelfSignedCertificate } from '../../src/kubelet-api/x509.ts';
import { TestDirectories } from '../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

const nowMs = Date.parse('2026-01-02T03:04:05Z');

describe('createSelfSignedCertificate', () => {
  it('is valid for its names, for a year, and signed with its key', () => {
    const hosts = ['node-a', '192.0.2.7', '2001:db8::7', '::1', '::'];
    const { key, pem } = createSelfSignedCertificate({ commonName: 'node-a', hosts }, nowMs);
    const certificate = new X509Certificate(pem);
    expect(certificate.subject).toBe('CN=node-a');
    expect(certificate.subjectAltName).toBe(
      'DNS:node-a, IP Address:192.0.2.7, IP Address:2001:DB8:0:0:0:0:0:7, IP Address:0:0:0:0:0:0:0:1, IP Address:0:0:0:0:0:0:0:0',
    );
    expect(certificate.ca).toBe(false);
    expect(certificate.keyUsage).toEqual(['1.3.6.1.5.5.7.3.1']);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.checkPrivateKey(createPrivateKey(key))).toBe(true);
    expect(Date.parse(certificate.validFrom)).toBe(Date.parse('2026-01-02T02:04:05Z'));
    expect(Date.parse(certificate.validTo)).toBe(Date.parse('2027-01-02T03:04:05Z'));
  });

  it('has times with the century from 2050 on', () => {
    const { pem } = createSelfSignedCertificate({ commonName: 'a', hosts: ['a'] }, Date.parse('2049-06-01T00:00:00Z'));
    expect(Date.parse(new X509Certificate(pem).validTo)).toBe(Date.parse('2050-06-01T00:00:00Z'));
  });
});

it('CertificateFiles: files are read again each minute; while they are damaged, the old certificate is served', () => {
  const folder = directories.create();
  const clock = new FakeClock(nowMs);
  const logger = recordingLogger();
  const [tlsCertFile, tlsPrivateKeyFile] = [join(folder, 'tls.crt'), join(folder, 'tls.key')];
  const changes: ServingCertificate[] = [];
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
    expect(statSync(folder).mode & 0o777).toBe(0o700);
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
