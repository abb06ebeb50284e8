import { X509Certificate } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import { join } from 'node:path';
import { makeDirectories } from '../shared/make-directories.ts';
import type { KeyPair, NodeAddress } from '../node/index.ts';
import type { Clock } from '../shared/clock.ts';
import { FailureLog } from '../shared/failure-log.ts';
import type { Logger } from '../shared/logger.ts';
import { Ticker } from '../shared/ticker.ts';
import { epochMsOf } from '../shared/time.ts';
import { createSelfSignedCertificate } from '../shared/x509.ts';

/**
 * The self-signed certificate in `directory`, which is created if it is missing or has expired. Anyone who can read
 * these files can impersonate this node. Source: kubelet `InitializeTLS`.
 */
export async function selfSignedCertificate(
  directory: string,
  hosts: readonly string[],
  nowMs: number,
): Promise<KeyPair> {
  const [certFile, keyFile] = [join(directory, 'kubelet.crt'), join(directory, 'kubelet.key')];
  const existing = existsSync(certFile) && existsSync(keyFile) ? readCertificate(certFile, keyFile) : undefined;
  if (existing !== undefined && validUntilMs(existing.cert) > nowMs) return existing;
  const created = createSelfSignedCertificate({ commonName: hosts[0] ?? '', hosts }, nowMs);
  await makeDirectories(directory, 0o700);
  await writeFile(keyFile, created.key, { mode: 0o600 });
  await writeFile(certFile, created.pem, { mode: 0o644 });
  return { cert: created.pem, key: created.key };
}

/** @throws Error if a file cannot be read */
export function readCertificate(certFile: string, keyFile: string): KeyPair {
  return { cert: readFileSync(certFile, 'utf8'), key: readFileSync(keyFile, 'utf8') };
}

export interface CertificateFilesOptions {
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  /** The certificate that is served. */
  readonly served: KeyPair;
  /** Called with another certificate. Throws if it cannot be served. */
  readonly onChange: (certificate: KeyPair) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How often the files are read again. */
const reloadMs = 60_000;

/** Serves the certificate in files that another process renews. kubelet: `ReloadKubeletServerCertificateFile` */
export class CertificateFiles {
  readonly #options: CertificateFilesOptions;
  readonly #failures: FailureLog;
  readonly #ticker: Ticker;
  #served: KeyPair;

  constructor(options: CertificateFilesOptions) {
    this.#options = options;
    const { clock, logger, served } = options;
    this.#served = served;
    this.#failures = new FailureLog({ clock, logger, what: 'Reading the serving certificate' });
    this.#ticker = new Ticker(clock, reloadMs, () => this.#reload());
  }

  start(): void {
    this.#ticker.start();
  }

  stop(): void {
    this.#ticker.stop();
  }

  #reload(): void {
    const { tlsCertFile, tlsPrivateKeyFile, onChange } = this.#options;
    try {
      const certificate = readCertificate(tlsCertFile, tlsPrivateKeyFile);
      const { cert, key } = certificate;
      if (cert !== this.#served.cert || key !== this.#served.key) onChange(certificate);
      this.#served = certificate;
      this.#failures.succeeded();
    } catch (error) {
      this.#failures.failed(error, { file: tlsCertFile });
    }
  }
}

/** 0 if it is not a certificate. */
function validUntilMs(cert: string): number {
  try {
    return epochMsOf(new X509Certificate(cert).validTo);
  } catch {
    return 0;
  }
}

/**
 * The DNS names, then the IP addresses, each sorted; undefined if there are none. Source: kubelet `addressesToHostnamesAndIPs`.
 */
export function servingHosts(addresses: readonly NodeAddress[]): string[] | undefined {
  const hosts = addresses
    .filter(({ type, address }) => /^(Internal|External)DNS$|^Hostname$/.test(type) || isIP(address) !== 0)
    .map(({ address }) => address)
    .filter((address) => address !== '');
  const unique = [...new Set(hosts)].toSorted();
  if (unique.length === 0) return undefined;
  return [...unique.filter((host) => !isIP(host)), ...unique.filter((host) => isIP(host))];
}
