import { createServer as createHTTPServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createHTTPSServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { systemClock } from '../../shared/clock.ts';
import { createSelfSignedCertificate } from '../../shared/x509.ts';

export const loopback = '127.0.0.1';

/** Listens on 127.0.0.1, with or without TLS, and tracks its connections. */
export class LoopbackListener {
  /** The certificate to trust, PEM; `''` without TLS. */
  readonly certificateAuthority: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #bytesOfClosed = 0;
  #port = 0;

  constructor(tls: boolean, serve: (request: IncomingMessage, response: ServerResponse) => void) {
    if (tls) {
      // Clients check the validity of the certificate against the real clock.
      const names = { commonName: 'api-server', hosts: ['localhost', loopback, '::1'] };
      const { pem: cert, key } = createSelfSignedCertificate(names, systemClock.now(), { isAuthority: true });
      this.certificateAuthority = cert;
      this.#server = createHTTPSServer({ cert, key }, serve);
    } else {
      this.certificateAuthority = '';
      this.#server = createHTTPServer(serve);
    }
    // Idle connections stay open until the client or close() ends them.
    this.#server.keepAliveTimeout = 0;
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => {
        this.#sockets.delete(socket);
        this.#bytesOfClosed += socket.bytesRead + socket.bytesWritten;
      });
    });
  }

  /** `https://127.0.0.1:PORT`, without a slash at the end. */
  get url(): string {
    return `${this.certificateAuthority === '' ? 'http' : 'https'}://${loopback}:${this.#port}`;
  }

  get port(): number {
    return this.#port;
  }

  /** Bytes received and sent so far, over all connections. */
  get bytesTransferred(): number {
    let bytes = this.#bytesOfClosed;
    for (const socket of this.#sockets) bytes += socket.bytesRead + socket.bytesWritten;
    return bytes;
  }

  /** Whether a Host header names this server. */
  isOwnHost(host: string): boolean {
    return [loopback, 'localhost', '[::1]'].some((name) => host === `${name}:${this.#port}`);
  }

  /** Resolves when it listens. @param port default: the previous port, or any free one the first time */
  listen(port = this.#port): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(port, loopback, () => {
        this.#server.off('error', reject);
        this.#port = (this.#server.address() as AddressInfo).port;
        resolve();
      });
    });
  }

  /** Cuts all connections and stops listening; `listen` starts again. */
  close(): Promise<void> {
    return new Promise((resolve) => {
      this.#server.close(() => resolve());
      // closeAllConnections() does not close connections that are still in the TLS handshake.
      for (const socket of this.#sockets) socket.destroy();
    });
  }
}
