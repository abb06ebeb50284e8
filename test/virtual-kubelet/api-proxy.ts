import type { ControlPlane } from '../support/control-plane.ts';
import { HTTPProxy } from '../support/http-proxy.ts';

/** Between one side and the API server, as an administrator: counts its requests, and is the API server's outage for it alone. */
export class APIProxy {
  /** `GET /api/v1/pods?watch=true`, in the order of arrival. */
  readonly requests: string[] = [];
  /** Called before a request is forwarded, which waits for it. */
  onRequest: (request: string) => Promise<void> | void = () => {};
  readonly #controlPlane: ControlPlane;
  readonly #proxy: HTTPProxy;

  static async start(controlPlane: ControlPlane): Promise<APIProxy> {
    const proxy = new APIProxy(controlPlane);
    await proxy.#proxy.listen();
    return proxy;
  }

  private constructor(controlPlane: ControlPlane) {
    this.#controlPlane = controlPlane;
    this.#proxy = new HTTPProxy({
      target: controlPlane.url,
      ca: Buffer.from(controlPlane.caData, 'base64').toString(),
      headers: { authorization: `Bearer ${controlPlane.adminToken}` },
      prepare: async ({ method, url }) => {
        this.requests.push(`${method} ${url}`);
        await this.onRequest(`${method} ${url}`);
        return {};
      },
    });
  }

  get kubeConfig(): object {
    const { clusters, ...rest } = this.#controlPlane.kubeConfig('admin');
    return { ...rest, clusters: clusters.map(({ name }) => ({ name, cluster: { server: this.#proxy.url } })) };
  }

  set isDown(isDown: boolean) {
    this.#proxy.isDown = isDown;
  }

  close(): Promise<void> {
    return this.#proxy.close();
  }
}
