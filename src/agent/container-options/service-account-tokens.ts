import type { APIRequests } from '../../kube/client/api-requests.ts';
import { pathSegment } from '../../kube/http/api-path.ts';
import type { Pod } from '../../kube/types.ts';
import type { Clock } from '../../shared/clock.ts';
import { Expiry } from '../../shared/time.ts';
import type { TokenRequest } from './object-reader.ts';
import { podSpecOf } from './pod-fields.ts';

const defaultExpirationSeconds = 3600;
/** A token is older than that only if the API server does not respond. Source: kubelet `token.maxTTL`. */
const maxAgeMs = 24 * 3600 * 1000;
/** Source: kubelet `token.Manager.requiresRefresh`. */
const refreshFraction = 0.8;

interface IssuedToken {
  readonly token: string;
  /** When it is requested again. */
  readonly refresh: Expiry;
  readonly expiry: Expiry;
}

interface TokenResponse {
  /** The API server may have shortened the time. */
  readonly spec?: { readonly expirationSeconds?: number };
  readonly status: { readonly token: string };
}

/**
 * Tokens of pods, bound to the pod, requested again after 80 % of their time. Source: kubelet `token.Manager`.
 *
 * Divergence: their time is what the API server granted, on either clock; the kubelet compares `expirationTimestamp` with
 * the wall clock.
 */
export class ServiceAccountTokens {
  readonly #requests: APIRequests;
  readonly #clock: Clock;
  /** By pod, then by audience and time: kept here, because a runtime may use the tokens without pod workers. */
  readonly #tokens = new Map<string, Map<string, IssuedToken>>();

  constructor(requests: APIRequests, clock: Clock) {
    this.#requests = requests;
    this.#clock = clock;
  }

  async get(pod: Pod, request: TokenRequest): Promise<string> {
    const uid = pod.metadata?.uid ?? '';
    const tokens = this.#tokens.get(uid) ?? new Map<string, IssuedToken>();
    this.#tokens.set(uid, tokens);
    const key = JSON.stringify([request.audience, request.expirationSeconds]);
    const issued = tokens.get(key);
    if (issued?.refresh.isOver === false) return issued.token;
    try {
      const renewed = await this.#request(pod, request);
      tokens.set(key, renewed);
      return renewed.token;
    } catch (cause) {
      if (issued?.expiry.isOver === false) return issued.token;
      throw new Error(`failed to fetch token: ${(cause as Error).message}`, { cause });
    }
  }

  forgetPod(uid: string): void {
    this.#tokens.delete(uid);
  }

  async #request(
    pod: Pod,
    { audience, expirationSeconds = defaultExpirationSeconds }: TokenRequest,
  ): Promise<IssuedToken> {
    const { namespace = '', name, uid } = pod.metadata ?? {};
    const account = podSpecOf(pod).serviceAccountName || 'default';
    const path = `/api/v1/namespaces/${pathSegment(namespace, 'namespace')}/serviceaccounts/${pathSegment(account, 'serviceAccountName')}/token`;
    const body = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: {
        audiences: audience ? [audience] : [],
        expirationSeconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
      },
    };
    const { spec, status } = (await this.#requests.request('POST', path, { body })).json() as TokenResponse;
    const lifeMs = (spec?.expirationSeconds ?? expirationSeconds) * 1000;
    const refresh = new Expiry(this.#clock, Math.min(lifeMs * refreshFraction, maxAgeMs));
    return { token: status.token, refresh, expiry: new Expiry(this.#clock, lifeMs) };
  }
}
