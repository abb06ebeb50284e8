import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { ControlPlane } from '../support/control-plane.ts';

/** Between one side and the API server: counts its requests, and is the API server's outage for it alone. */
export class APIProxy {
  /** `GET /api/v1/pods?watch=true`, in the order of arrival. */
  readonly requests: string[] = [];
  /** Called before a request is forwarded, which waits for it. */
  onRequest: (request: string) => Promise<void> | void = () => {};
  readonly #controlPlane: ControlPlane;
  readonly #agent: Agent;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isDown = false;

  static async start(controlPlane: ControlPlane): Promise<APIProxy> {
    const proxy = new APIProxy(controlPlane);
    await once(proxy.#server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  private constructor(controlPlane: ControlPlane) {
    this.#controlPlane = controlPlane;
    this.#agent = new Agent({ keepAlive: true, ca: Buffer.from(controlPlane.caData, 'base64') });
    this.#server = createServer((request, response) => {
      this.#forward(request, response).catch(() => response.destroy());
    });
    this.#server.requestTimeout = 0;
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => {}).once('close', () => this.#sockets.delete(socket));
      if (this.#isDown) socket.destroy();
    });
  }

  /** As an administrator. */
  get kubeConfig(): object {
    const { clusters, ...rest } = this.#controlPlane.kubeConfig('admin');
    const server = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return { ...rest, clusters: clusters.map(({ name }) => ({ name, cluster: { server } })) };
  }

  set isDown(isDown: boolean) {
    this.#isDown = isDown;
    if (isDown) this.#cutAll();
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#cutAll();
    await closed;
    this.#agent.destroy();
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url: path, headers } = request;
    this.requests.push(`${method} ${path}`);
    await this.onRequest(`${method} ${path}`);
    const { host } = new URL(this.#controlPlane.url);
    const authorization = `Bearer ${this.#controlPlane.adminToken}`;
    const forwarded = httpsRequest(`${this.#controlPlane.url}${path}`, {
      method,
      agent: this.#agent,
      headers: { ...headers, host, authorization },
    });
    forwarded.on('error', () => response.destroy());
    forwarded.on('response', (answer) => {
      response.writeHead(answer.statusCode!, answer.headers).flushHeaders();
      answer.on('error', () => response.destroy()).pipe(response);
    });
    response.on('error', () => {}).once('close', () => forwarded.destroy());
    request.on('error', () => forwarded.destroy()).pipe(forwarded);
  }

  #cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
