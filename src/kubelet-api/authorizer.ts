import type { Clock } from '../shared/clock.ts';
import type { RequestAttributes, UserInfo } from './request-attributes.ts';
import type { Review } from './review.ts';
import { ReviewCache } from './review-cache.ts';

/** Options of `serveKubeletAPI`: who may do what. Source: `KubeletConfiguration.authorization`. */
export interface KubeletAuthorization {
  /** `AlwaysAllow` permits everything to everyone who is authenticated. Default: `Webhook`, by SubjectAccessReview. */
  readonly mode?: 'Webhook' | 'AlwaysAllow' | undefined;
  /** How long a permission is valid, in milliseconds. Default: 300,000. */
  readonly cacheAuthorizedTTLMs?: number | undefined;
  /** How long a refusal is valid, in milliseconds. Default: 30,000. */
  readonly cacheUnauthorizedTTLMs?: number | undefined;
}

export interface AuthorizerOptions extends KubeletAuthorization {
  readonly clock: Clock;
  /** Undefined: permissions must be for all nodes. */
  readonly nodeName: string | undefined;
  /** Rejects without an API server. */
  readonly review: Review;
}

const reviewsPath = '/apis/authorization.k8s.io/v1/subjectaccessreviews';

/** Source: kubelet `BuildAuthz`. */
export class Authorizer {
  readonly #options: AuthorizerOptions;
  readonly #reviews: ReviewCache<boolean>;

  constructor(options: AuthorizerOptions) {
    this.#options = options;
    const { cacheAuthorizedTTLMs = 300_000, cacheUnauthorizedTTLMs = 30_000 } = options;
    this.#reviews = new ReviewCache(options.clock, {
      acceptedMs: cacheAuthorizedTTLMs,
      refusedMs: cacheUnauthorizedTTLMs,
    });
  }

  /** Rejects if the review fails. */
  async isAllowed(user: UserInfo, { verb, subresources }: RequestAttributes): Promise<boolean> {
    if (this.#options.mode === 'AlwaysAllow') return true;
    for (const subresource of subresources) if (await this.#review(user, verb, subresource)) return true;
    return false;
  }

  #review(user: UserInfo, verb: string, subresource: string): Promise<boolean> {
    const { nodeName, review } = this.#options;
    const spec = {
      user: user.username,
      uid: user.uid,
      groups: user.groups,
      extra: user.extra,
      resourceAttributes: { verb, version: 'v1', resource: 'nodes', subresource, name: nodeName },
    };
    return this.#reviews.get(JSON.stringify(spec), async (isKnown) => {
      const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec };
      const { status } = (await review(reviewsPath, body, isKnown)) as {
        readonly status?: { readonly allowed?: boolean; readonly denied?: boolean };
      };
      return status?.allowed === true && status.denied !== true;
    });
  }
}
