import { createPrivateKey, X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import type { NodeContext } from '../node-context.ts';
import { APIError } from '../../kube/client/api-error.ts';
import type { APIRequests } from '../../kube/client/api-requests.ts';
import { sleep } from '../../shared/clock.ts';
import { boundedCall } from '../../shared/deadline.ts';
import { ExponentialBackOff } from '../../shared/exponential-back-off.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import { reasonOf } from '../../shared/logger.ts';
import { epochMsOf, Expiry } from '../../shared/time.ts';
import { createSigningRequest } from '../../shared/x509.ts';
import { CertificateStore, type KeyPair } from './certificate-store.ts';

/** What a certificate is for. */
export interface CertificateKind {
  /** For the log. */
  readonly name: string;
  /** Prefix of its files' names. */
  readonly prefix: string;
  readonly signerName: string;
  readonly usages: readonly string[];
}

/** Source: kubelet `NewKubeletServerCertificateManager`. */
export const servingKind: CertificateKind = {
  name: 'serving certificate',
  prefix: 'kubelet-server',
  signerName: 'kubernetes.io/kubelet-serving',
  usages: ['digital signature', 'server auth'],
};

/** Source: kubelet `NewKubeletClientCertificateManager`. */
export const clientKind: CertificateKind = {
  name: 'client certificate',
  prefix: 'kubelet-client',
  signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
  usages: ['digital signature', 'client auth'],
};

export interface CertificateManagerOptions extends Pick<NodeContext, 'clock' | 'logger'> {
  readonly kind: CertificateKind;
  readonly nodeName: string;
  /** Names and addresses that the certificate is valid for; undefined while they are not known. */
  readonly hosts: () => readonly string[] | undefined;
  /** @param isValid whether there is a certificate that has not expired */
  readonly requests: (isValid: boolean) => APIRequests;
  /** Where the certificates are kept. */
  readonly directory: string;
  /**
   * Rejects within a minute if a new certificate cannot be used, or if that is not known. The previous one then stays in use.
   * Default: it is used.
   */
  readonly verify?: ((pair: KeyPair) => Promise<void>) | undefined;
  /** Called with each certificate to use. */
  readonly onCertificate?: ((pair: KeyPair) => void) | undefined;
  readonly random: () => number;
}

const path = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
/** Interval between checks of the certificate's age and addresses, and of a pending request. */
const checkMs = 10_000;
/** Interval at which a pending request is checked at first, because most are approved immediately. */
const firstCheckMs = 1000;
/** Source: client-go `certificateWaitTimeout`. */
const waitTimeoutMs = 15 * 60_000;
const verifyTimeoutMs = 60_000;
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
 * Requests a certificate from the cluster, and renews it after 70 to 90 % of its lifetime, or when its hosts change. The
 * requests must be approved; until then, the old certificate stays in use. Source: client-go `certificate.NewManager`.
 */
export class CertificateManager {
  readonly #options: CertificateManagerOptions;
  readonly #store: CertificateStore;
  readonly #failures: FailureLog;
  readonly #backOff = new ExponentialBackOff({ firstMs: 2000, maxMs: 300_000 });
  readonly #stopSignal = new AbortController();
  /** Signed and not used yet: `verify` is called again before another one is requested, which somebody may have to approve. */
  #unused: KeyPair | undefined;
  #current: { readonly x509: X509Certificate; readonly rotation: Expiry; readonly expiresMs: number } | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: CertificateManagerOptions) {
    this.#options = options;
    const { clock, logger, kind, directory } = options;
    this.#store = new CertificateStore(directory, kind.prefix, clock);
    this.#failures = new FailureLog({ clock, logger, what: `Requesting the ${kind.name}` });
  }

  /** Uses the certificate of an earlier run, if there is one. */
  start(): void {
    this.#load();
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
      const hosts = this.#options.hosts();
      let delayMs = checkMs;
      if (hosts !== undefined && this.#isDue(hosts)) {
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

  /** Source: client-go `certSatisfiesTemplate`. */
  #isDue(hosts: readonly string[]): boolean {
    const current = this.#current;
    if (current === undefined || current.rotation.isOver) return true;
    const { x509 } = current;
    if (!x509.subject.split('\n').includes(`CN=${this.#commonName}`)) return true;
    return !hosts.every((host) => (isIP(host) ? x509.checkIP(host) : x509.checkHost(host)));
  }

  get #commonName(): string {
    return `system:node:${this.#options.nodeName}`;
  }

  /** Source: client-go `rotateCerts`. */
  async #rotate(hosts: readonly string[], signal: AbortSignal): Promise<void> {
    if (this.#unused !== undefined) {
      try {
        return await this.#accept(this.#unused, hosts, signal);
      } catch {
        signal.throwIfAborted();
      }
    }
    this.#unused = await this.#request(hosts, signal);
    await this.#accept(this.#unused, hosts, signal);
  }

  async #request(hosts: readonly string[], signal: AbortSignal): Promise<KeyPair> {
    const { kind, logger } = this.#options;
    const names = { commonName: this.#commonName, organization: 'system:nodes', hosts };
    const { key, pem } = createSigningRequest(names);
    const body = {
      apiVersion: 'certificates.k8s.io/v1',
      kind: 'CertificateSigningRequest',
      metadata: { generateName: 'csr-' },
      spec: { request: toBase64(pem), signerName: kind.signerName, usages: kind.usages },
    };
    const created = (await this.#api.request('POST', path, { body, signal })).json() as SigningRequest;
    const name = created.metadata?.name ?? '';
    logger.info({ csr: name, hosts }, `Requested a ${kind.name}`);
    return { cert: await this.#whenSigned(name, signal), key };
  }

  async #accept(pair: KeyPair, hosts: readonly string[], signal: AbortSignal): Promise<void> {
    const { kind, clock, verify } = this.#options;
    const x509 = this.#read(pair);
    const bounds = { clock, timeoutMs: verifyTimeoutMs, signals: [signal] };
    if (verify !== undefined) await boundedCall(`verify of the ${kind.name}`, bounds, () => verify(pair));
    this.#store.update(pair);
    this.#use(pair, x509);
    this.#unused = undefined;
    // Otherwise, a signer with another clock, or one that leaves out hosts, would be asked every 10 s.
    if (this.#isDue(hosts)) throw new Error('The new certificate lacks hosts, or is to be renewed at once');
  }

  get #api(): APIRequests {
    const { requests, clock } = this.#options;
    return requests(clock.now() < (this.#current?.expiresMs ?? Number.NEGATIVE_INFINITY));
  }

  /** Undefined if it cannot be read now: the request for the certificate, which may wait for an administrator, remains. */
  async #signingRequest(name: string, signal: AbortSignal): Promise<SigningRequest | undefined> {
    try {
      return (
        await this.#api.request('GET', `${path}/${encodeURIComponent(name)}`, { signal })
      ).json() as SigningRequest;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof APIError && error.statusCode === 404) throw error;
      this.#failures.failed(error, { csr: name });
      return undefined;
    }
  }

  async #whenSigned(name: string, signal: AbortSignal): Promise<string> {
    const { clock, kind, logger } = this.#options;
    const startedMs = clock.monotonicMs();
    let isLogged = false;
    for (;;) {
      const { status } = (await this.#signingRequest(name, signal)) ?? {};
      const refusal = status?.conditions?.find(({ type }) => type === 'Denied' || type === 'Failed');
      if (refusal) throw new Error(`${name} is ${refusal.type}: ${refusal.message ?? ''}`);
      if (status?.certificate) return Buffer.from(status.certificate, 'base64').toString();
      const waitedMs = clock.monotonicMs() - startedMs;
      if (waitedMs >= waitTimeoutMs) throw new Error(`${name} was not signed within 15 minutes`);
      if (waitedMs >= slowApprovalMs && !isLogged) {
        logger.warn({ csr: name }, `The request for the ${kind.name} waits: kubectl certificate approve`);
        isLogged = true;
      }
      await sleep(clock, waitedMs < checkMs ? firstCheckMs : checkMs, signal);
      signal.throwIfAborted();
    }
  }

  #load(): void {
    const { kind, logger } = this.#options;
    try {
      const pair = this.#store.current();
      if (pair !== undefined) this.#use(pair, this.#read(pair));
    } catch (error) {
      logger.warn({ file: this.#store.currentPath, reason: reasonOf(error) }, `The ${kind.name} is damaged`);
    }
  }

  /** @throws Error if the key and the certificate do not belong together */
  #read({ cert, key }: KeyPair): X509Certificate {
    const x509 = new X509Certificate(cert);
    if (!x509.checkPrivateKey(createPrivateKey(key))) throw new Error('The certificate is for another key');
    return x509;
  }

  #use(pair: KeyPair, x509: X509Certificate): void {
    const { clock, onCertificate, random } = this.#options;
    const [fromMs, expiresMs] = [epochMsOf(x509.validFrom), epochMsOf(x509.validTo)];
    onCertificate?.(pair);
    // Source: client-go `jitteryDuration`.
    const rotateAtMs = fromMs + (expiresMs - fromMs) * (0.7 + 0.2 * random());
    this.#current = { x509, expiresMs, rotation: new Expiry(clock, rotateAtMs - clock.now()) };
  }
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64');
}
