import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import type { Clock } from '../shared/clock.ts';
import { epochMsOf } from '../shared/time.ts';
import type { UserInfo } from './request-attributes.ts';
import type { Review } from './review.ts';
import { ReviewCache } from './review-cache.ts';

/** Options of `serveKubeletAPI`: who may connect. Source: `KubeletConfiguration.authentication`. */
export interface KubeletAuthentication {
  /** Treats requests without credentials as requests of `system:anonymous`. Default: false. */
  readonly anonymous?: boolean | undefined;
  /** Accepts bearer tokens, which are verified by TokenReview. Default: true. */
  readonly webhook?: boolean | undefined;
  /** How long the result of a TokenReview is valid, in milliseconds. Default: 120,000. */
  readonly webhookCacheTTLMs?: number | undefined;
  /**
   * PEM file with the certificates that sign client certificates, read once. Default: client certificates are not
   * accepted.
   */
  readonly clientCAFile?: string | undefined;
}

export interface AuthenticatorOptions extends KubeletAuthentication {
  readonly clock: Clock;
  /** Rejects without an API server. */
  readonly review: Review;
}

const tokenReviewsPath = '/apis/authentication.k8s.io/v1/tokenreviews';
const credentialIDKey = 'authentication.kubernetes.io/credential-id';
const authenticated = 'system:authenticated';
const defaultCacheTTLMs = 120_000;
const anonymousUser: UserInfo = { username: 'system:anonymous', groups: ['system:unauthenticated'] };

/** Source: kubelet `BuildAuthn`. */
export class Authenticator {
  readonly #options: AuthenticatorOptions;
  readonly #tokens: ReviewCache<UserInfo | undefined>;

  constructor(options: AuthenticatorOptions) {
    this.#options = options;
    const { webhookCacheTTLMs: ttlMs = defaultCacheTTLMs } = options;
    this.#tokens = new ReviewCache(options.clock, { acceptedMs: ttlMs, refusedMs: ttlMs });
  }

  /** Undefined if the user is not known. Rejects if the token cannot be reviewed, with an `HTTPError` 429 for too many. */
  async authenticate(request: IncomingMessage): Promise<UserInfo | undefined> {
    const { anonymous = false, webhook = true, clientCAFile } = this.#options;
    const { socket } = request;
    const hasCertificate =
      clientCAFile !== undefined && socket instanceof TLSSocket && socket.getPeerX509Certificate() !== undefined;
    if (hasCertificate) {
      const user = certificateUser(socket, this.#options.clock.now());
      if (user !== undefined) return withGroup(user);
    }
    const token = webhook ? bearerToken(request) : undefined;
    if (token !== undefined) {
      const key = createHash('sha256').update(token).digest('hex');
      const user = await this.#tokens.get(key, (isKnown) => this.#review(token, isKnown));
      if (user !== undefined) return withGroup(user);
    }
    // Invalid credentials are refused, not treated as anonymous.
    const isAnonymous = anonymous && token === undefined && !hasCertificate;
    return isAnonymous ? anonymousUser : undefined;
  }

  async #review(token: string, isKnown: boolean): Promise<UserInfo | undefined> {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } };
    const { status } = (await this.#options.review(tokenReviewsPath, body, isKnown)) as {
      readonly status?: { readonly authenticated?: boolean; readonly user?: Partial<UserInfo> };
    };
    return status?.authenticated === true ? { ...status.user, username: status.user?.username ?? '' } : undefined;
  }
}

/**
 * Undefined if no client CA has signed the certificate, or if it has expired since the connection was opened.
 * Source: apiserver `CommonNameUserConversion`.
 */
function certificateUser(socket: TLSSocket, nowMs: number): UserInfo | undefined {
  const certificate = socket.getPeerX509Certificate();
  const { subject } = socket.getPeerCertificate();
  // Several values of one attribute are a list, which is not in the types.
  const username = listOf(subject?.CN).at(-1);
  if (!socket.authorized || certificate === undefined || username === undefined) return undefined;
  if (epochMsOf(certificate.validTo) < nowMs) return undefined;
  const fingerprint = createHash('sha256').update(certificate.raw).digest('hex');
  return { username, groups: listOf(subject.O), extra: { [credentialIDKey]: [`X509SHA256=${fingerprint}`] } };
}

function listOf(value: string | readonly string[] | undefined): readonly string[] {
  return typeof value === 'string' ? [value] : (value ?? []);
}

function withGroup({ groups = [], ...user }: UserInfo): UserInfo {
  return { ...user, groups: groups.includes(authenticated) ? groups : [...groups, authenticated] };
}

function bearerToken({ headers }: IncomingMessage): string | undefined {
  return /^bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1];
}
