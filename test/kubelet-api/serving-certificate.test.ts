import { X509Certificate } from 'node:crypto';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FakeClock, recordingLogger } from 'kubelet-status-manager/testing';
import { afterEach, describe, expect, it } from 'vitest';
import type { KeyPair } from '../../src/agent/certificate/certificate-store.ts';
import { CertificateFiles, selfSignedCertificate } from '../../src/kubelet-api/serving-certificate.ts';
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
