import { APIError } from '../../../src/kube/client/api-error.ts';
import type { KubeTransport } from '../../../src/kube/http/kube-transport.ts';
import type { InformerPodManager } from '../../../src/kube/informer/index.ts';

/**
 * The transport of an informer of the caller whose first list may be old. That a pod is gone is known only from a later
 * list, which follows the next watch.
 */
export class OldFirstList {
  readonly transport: KubeTransport;
  #lists = 0;
  #isAsked = false;

  constructor(inner: KubeTransport) {
    this.transport = {
      ...inner,
      get lastSuccessAgeMs() {
        return inner.lastSuccessAgeMs;
      },
      request: async (method, path, options) => {
        const query = this.#lists === 0 ? { ...options?.query, resourceVersion: '0' } : options?.query;
        const response = await inner.request(method, path, { ...options, query });
        this.#lists++;
        return response;
      },
      stream: async (path, options) => {
        if (this.#lists === 1 && this.#isAsked)
          throw new APIError('too old resource version', { kind: 'http', statusCode: 410 });
        return inner.stream(path, options);
      },
    };
  }

  /** Makes `pods` answer as its first list permits. */
  restrict(pods: InformerPodManager): void {
    const isGone = pods.isGone.bind(pods);
    pods.isGone = (uid) => {
      this.#isAsked = true;
      return this.#lists > 1 && isGone(uid);
    };
  }
}
