import { setMaxListeners } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { APIRequests } from '../kube/client/api-requests.ts';
import type { Clock } from '../shared/clock.ts';
import type { Logger } from '../shared/logger.ts';
import { Authenticator, type KubeletAuthentication } from './authenticator.ts';
import { Authorizer, type KubeletAuthorization } from './authorizer.ts';
import { HTTPError } from './http-error.ts';
import { requestAttributes } from './request-attributes.ts';
import { createReview, type ReviewOptions } from './review.ts';

export interface AccessControlOptions {
  /** Undefined: permissions must be for all nodes. */
  readonly nodeName: string | undefined;
  readonly requests: APIRequests | undefined;
  readonly authentication: KubeletAuthentication;
  readonly authorization: KubeletAuthorization;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly metrics: ReviewOptions['metrics'];
  /** Aborted when the server is closed. */
  readonly signal: AbortSignal;
}

/**
 * Admits requests of known users with permission, and no others. Source: kubelet `InstallAuthFilter`.
 *
 * Divergence: a failed review is not retried for the same request; the kubelet retries for a few seconds. The
 * UID in a client certificate is ignored, and the file of the client CA is read once.
 */
export class AccessControl {
  readonly #authenticator: Authenticator;
  readonly #authorizer: Authorizer;
  readonly #logger: Logger;

  constructor({ authentication, authorization, signal, requests, metrics, ...options }: AccessControlOptions) {
    setMaxListeners(0, signal);
    const bounds = { ...options, requests, metrics, signal };
    const reviewToken = createReview(
      { resource: 'tokenreviews', what: 'Reviewing a token for the kubelet API' },
      bounds,
    );
    const reviewAccess = createReview(
      { resource: 'subjectaccessreviews', what: 'Reviewing access to the kubelet API' },
      bounds,
    );
    this.#authenticator = new Authenticator({ ...authentication, ...options, review: reviewToken });
    this.#authorizer = new Authorizer({ ...authorization, ...options, review: reviewAccess });
    this.#logger = options.logger;
  }

  /**
   * Rejects with an `HTTPError`: 401 for an unknown user, 403 without permission, 429 if too many reviews wait, 500 if
   * the review fails.
   *
   * @param path decoded
   */
  async check(request: IncomingMessage, path: string): Promise<void> {
    const user = await this.#authenticate(request);
    if (user === undefined) throw new HTTPError(401, 'Unauthorized');
    const attributes = requestAttributes(request.method ?? '', path);
    const { verb, subresources } = attributes;
    const text = `user=${user.username}, verb=${verb}, resource=nodes`;
    let isAllowed: boolean;
    try {
      isAllowed = await this.#authorizer.isAllowed(user, attributes);
    } catch (cause) {
      if (cause instanceof HTTPError) throw cause;
      throw new HTTPError(500, `Authorization error (${text}, subresource=${subresources[0]})`, { cause });
    }
    if (isAllowed) return;
    this.#logger.debug({ user: user.username, verb, subresources }, 'A request to the kubelet API is forbidden');
    throw new HTTPError(403, `Forbidden (${text}, subresource(s)=[${subresources.join(' ')}])\n`);
  }

  async #authenticate(request: IncomingMessage): ReturnType<Authenticator['authenticate']> {
    try {
      return await this.#authenticator.authenticate(request);
    } catch (error) {
      if (error instanceof HTTPError) throw error;
      // The failed review of the token is logged elsewhere.
      return undefined;
    }
  }
}
