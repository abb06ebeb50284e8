import { createPrivateKey, X509Certificate } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import type { NodeAddress } from '../agent/node/node-types.ts';
import type { APIRequests } from '../kube/client/api-requests.ts';
import { type Clock, sleep } from '../shared/clock.ts';
import { ExponentialBackOff } from '../shared/exponential-back-off.ts';
import { FailureLog } from '../shared/failure-log.ts';
import { type Logger, reasonOf } from '../shared/logger.ts';
import { epochMsOf } from '../shared/time.ts';
import type { ServingCertificate } from './serving-certificate.ts';
import { createSigningRequest } from '../shared/x509.ts';

export interface CertificateManagerOptions {
  readonly nodeName: string;
  readonly requests: APIRequests;
  /** Where the certificate is kept: `kubelet-server-current.pem`. */
  readonly directory: string;
  /** Of the Node; the certificate is valid for them. */
  readonly addresses: () => readonly NodeAddress[];
  /** Called with each certificate to serve. */
  readonly onCertificate: (certificate: ServingCertificate) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
}

const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const signerName = 'kubernetes.io/kubelet-serving';
/** Interval between checks of the certificate's age and addresses, and of a pending request. */
const checkMs = 10_000;
/** Source: client-go `certificateWaitTimeout`. */
const waitTimeoutMs = 15 * 60_000;
/** A request that stays unapproved for this long is logged. */
const slowApprovalMs = 60_000;

interface SigningRequest {
  readonly metadata?: { readonly name?: string };
  readonly status?: {
    readonly certificate?: string;
    readonly conditions?: readonly { readonly type: string; readonly message?: string }[];
  };
}

/**
 * Requests the serving certificate from the cluster, and renews it after 70 to 90 % of its lifetime, or when the Node
 * gets another address. The requests must be approved; until then, the old certificate is served. Source: kubelet
 * `NewKubeletServerCertificateManager`.
 */
export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  readonly #file: string;
  readonly #failures: FailureLog;
  readonly #backOff = new ExponentialBackOff({ firstMs: 2000, maxMs: 300_000 });
  readonly #stopSignal = new AbortController();
  #current: { readonly x509: X509Certificate; readonly rotateAtMs: number } | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: CertificateManagerOptions) {
    this.#options = options;
    this.#file = join(options.directory, 'kubelet-server-current.pem');
    const { clock, logger } = options;
    this.#failures = new FailureLog({ clock, logger, what: 'Requesting the serving certificate' });
  }

  /** Serves the certificate of an earlier run, if there is one. */
  start(): void {
    if (existsSync(this.#file)) this.#tryToServe();
    this.#running = this.#run();
  }

  /** Resolves when no request and no timer is left. */
  async stop(): Promise<void> {
    this.#stopSignal.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopSignal;
    const { clock } = this.#options;
    while (!signal.aborted) {
      const hosts = hostsOf(this.#options.addresses());
      let delayMs = checkMs;
      if (hosts.length > 0 && this.#isDue(hosts)) {
        try {
          await this.#rotate(hosts, signal);
          this.#backOff.reset();
          this.#failures.succeeded();
        } catch (error) {
          if (signal.aborted) return;
          this.#failures.failed(error);
          delayMs = this.#backOff.next();
        }
      }
      await sleep(clock, delayMs, signal);
    }
  }

  #isDue(hosts: readonly string[]): boolean {
    const current = this.#current;
    if (current === undefined || this.#options.clock.now() >= current.rotateAtMs) return true;
    return !hosts.every((host) => (isIP(host) ? current.x509.checkIP(host) : current.x509.checkHost(host)));
  }

  /** Source: client-go `rotateCerts`. */
  async #rotate(hosts: readonly string[], signal: AbortSignal): Promise<void> {
    const { nodeName, requests, directory, logger } = this.#options;
    const names = { commonName: `system:node:${nodeName}`, organization: 'system:nodes', hosts };
    const { key, pem } = createSigningRequest(names);
    const body = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { generateName: 'csr-' },
      spec: { request: toBase64(pem), signerName, usages: ['digital signature', 'server auth'] },
    };
    const created = (await requests.request('POST', path, { body, signal })).json() as SigningRequest;
    const name = created.metadata?.name ?? '';
    logger.info({ csr: name, hosts }, 'Requested a serving certificate');
    const certificate = await this.#whenSigned(name, signal);
    const both = `${certificate.trimEnd()}\n${key}`;
    this.#serve(both);
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    writeFileSync(`${this.#file}.tmp`, both, { mode: 0o600 });
    renameSync(`${this.#file}.tmp`, this.#file);
  }

  async #whenSigned(name: string, signal: AbortSignal): Promise<string> {
    const { clock, requests, logger } = this.#options;
    const startedMs = clock.monotonicMs();
    let isLogged = false;
    for (;;) {
      const response = await requests.request('GET', `${path}/${encodeURIComponent(name)}`, { signal });
      const { status } = response.json() as SigningRequest;
      const refusal = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
      if (refusal) throw new Error(`${name} is ${refusal.type}: ${refusal.message ?? ''}`);
      if (status?.certificate) return Buffer.from(status.certificate, 'base64').toString();
      const waitedMs = clock.monotonicMs() - startedMs;
      if (waitedMs >= waitTimeoutMs) throw new Error(`${name} was not signed within 15 minutes`);
      if (waitedMs >= slowApprovalMs && !isLogged) {
        logger.warn({ csr: name }, 'The request for the serving certificate waits: kubectl certificate approve');
        isLogged = true;
      }
      await sleep(clock, checkMs, signal);
      signal.throwIfAborted();
    }
  }

  #tryToServe(): void {
    try {
      this.#serve(readFileSync(this.#file, 'utf8'));
    } catch (error) {
      this.#options.logger.warn({ file: this.#file, reason: reasonOf(error) }, 'The serving certificate is damaged');
    }
  }

  /** @throws Error if the key and the certificate do not belong together */
  #serve(pem: string): void {
    const { onCertificate, random } = this.#options;
    const [, cert = '', key = ''] = /^(.*?)(-----BEGIN [A-Z ]*PRIVATE KEY-----.*)$/s.exec(pem) ?? [];
    const x509 = new X509Certificate(cert);
    if (!x509.checkPrivateKey(createPrivateKey(key))) throw new Error('The certificate is for another key');
    const [fromMs, untilMs] = [epochMsOf(x509.validFrom), epochMsOf(x509.validTo)];
    onCertificate({ cert, key });
    // Source: client-go `jitteryDuration`.
    this.#current = { x509, rotateAtMs: fromMs + (untilMs - fromMs) * (0.7 + 0.2 * random()) };
  }
}

/** Names first, then addresses, each sorted. Source: kubelet `addressesToHostnamesAndIPs`. */
function hostsOf(addresses: readonly NodeAddress[]): string[] {
  const hosts = addresses
    .filter(({ type, address }) => /^(Internal|External)DNS$|^Hostname$/.test(type) || isIP(address) !== 0)
    .map(({ address }) => address)
    .filter((address) => address !== '');
  const unique = [...new Set(hosts)].toSorted();
  return [...unique.filter((host) => !isIP(host)), ...unique.filter((host) => isIP(host))];
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}
