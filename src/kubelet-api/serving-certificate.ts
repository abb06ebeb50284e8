import { X509Certificate } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { epochMsOf } from '../shared/time.ts';
import { createSelfSignedCertificate } from './x509.ts';

/** A serving certificate with its chain, and its private key, as PEM. */
export interface ServingCertificate {
  readonly cert: string;
  readonly key: string;
}

/**
 * The self-signed certificate in `directory`, which is created if it is missing or has expired. Only who reads these
 * files may act as this node. Source: kubelet `InitializeTLS`.
 */
export async function selfSignedCertificate(
  directory: string,
  hosts: readonly string[],
  nowMs: number,
): Promise<ServingCertificate> {
  const [certFile, keyFile] = [join(directory, 'kubelet.crt'), join(directory, 'kubelet.key')];
  const existing = await readCertificate(certFile, keyFile).catch(() => undefined);
  if (existing !== undefined && validUntilMs(existing.cert) > nowMs) return existing;
  const created = createSelfSignedCertificate({ commonName: hosts[0] ?? '', hosts }, nowMs);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await writeFile(keyFile, created.key, { mode: 0o600 });
  await writeFile(certFile, created.pem, { mode: 0o644 });
  return { cert: created.pem, key: created.key };
}

export async function readCertificate(certFile: string, keyFile: string): Promise<ServingCertificate> {
  const [cert, key] = await Promise.all([readFile(certFile, 'utf8'), readFile(keyFile, 'utf8')]);
  return { cert, key };
}

/** 0 if it is not a certificate. */
function validUntilMs(cert: string): number {
  try {
    return epochMsOf(new X509Certificate(cert).validTo);
  } catch {
    return 0;
  }
}
