import { podSpecOf } from '../../kube/objects/kube-object.ts';
import type { APIRequests } from '../../kube/client/api-requests.ts';
import { pathSegment } from '../../kube/http/api-path.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { Clock } from '../../shared/clock.ts';
import { Expiry } from '../../shared/time.ts';
import type { PodScope } from '../pod-scope.ts';
import type { TokenRequest } from './api-object-reader.ts';
import type { CallOptions } from '../runtime/container-runtime.ts';

const defaultExpirationSeconds = 3600;
/** Only while the API server does not respond is a token older. Source: kubelet `token.maxTTL`. */
const maxAgeMs = 24 * 3600 * 1000;
/** Source: kubelet `token.Manager.requiresRefresh`. */
const refreshFraction = 0.8;

interface PodToken {
  issued?: IssuedToken | undefined;
  /** The request in progress, for which all callers wait. */
  requested?: Promise<IssuedToken> | undefined;
}

interface IssuedToken {
  readonly token: string;
  /** When it is requested again. */
  readonly refresh: Expiry;
  readonly expiry: Expiry;
}

interface TokenResponse {
  /** The API server may have shortened the lifetime. */
  readonly spec?: { readonly expirationSeconds?: number };
  readonly status: { readonly token: string };
}

/**
 * Tokens of pods, bound to the pod, requested again after 80 % of their lifetime. Source: kubelet `token.Manager`.
 *
 * Divergence: their lifetime is what the API server granted, on either clock; the kubelet compares `expirationTimestamp`
 * with the wall clock.
 */
export class TokenManager {
  readonly #requests: APIRequests;
  readonly #clock: Clock;
  /** By audience and requested lifetime. */
  readonly #tokens = new WeakMap<PodScope, Map<string, PodToken>>();

  constructor(requests: APIRequests, clock: Clock) {
    this.#requests = requests;
    this.#clock = clock;
  }

  async get(pod: Pod, request: TokenRequest, scope: PodScope): Promise<string> {
    const token = this.#tokenOf(scope, request);
    if (token.issued?.refresh.isOver === false) return token.issued.token;
    try {
      token.requested ??= scope.run('TokenRequest', {}, (options) => this.#request(pod, request, options));
      const { requested } = token;
      token.issued = await requested.finally(() => {
        if (token.requested === requested) token.requested = undefined;
      });
      return token.issued.token;
    } catch (cause) {
      scope.signal.throwIfAborted();
      if (token.issued?.expiry.isOver === false) return token.issued.token;
      throw new Error(`failed to fetch token: ${(cause as Error).message}`, { cause });
    }
  }

  #tokenOf(scope: PodScope, { audience, expirationSeconds }: TokenRequest): PodToken {
    const tokens = this.#tokens.get(scope) ?? new Map<string, PodToken>();
    this.#tokens.set(scope, tokens);
    const key = JSON.stringify([audience, expirationSeconds]);
    const token = tokens.get(key) ?? {};
    tokens.set(key, token);
    return token;
  }

  async #request(
    pod: Pod,
    { audience, expirationSeconds = defaultExpirationSeconds }: TokenRequest,
    { signal }: CallOptions,
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
    const { spec, status } = (await this.#requests.request('POST', path, { body, signal })).json() as TokenResponse;
    const lifeMs = (spec?.expirationSeconds ?? expirationSeconds) * 1000;
    const refresh = new Expiry(this.#clock, Math.min(lifeMs * refreshFraction, maxAgeMs));
    return { token: status.token, refresh, expiry: new Expiry(this.#clock, lifeMs) };
  }
}
