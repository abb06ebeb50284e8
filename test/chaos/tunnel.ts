import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Random } from './random.ts';

const loopback = '127.0.0.1';
const silenceMs = 1_000;
const behaviours = { pass: 70, fin: 10, reset: 6, refuse: 8, silence: 6 };

/**
 * A forward proxy on loopback between an agent and the API server. It supports CONNECT, and sometimes
 * closes the connection, refuses it, or does not respond.
 */
export class Tunnel {
  /** When each connection arrived, by `Date.now()`. */
  readonly arrivalsMs: number[] = [];
  readonly #server: Server;
  readonly #random: Random;
  readonly #onFault: (fault: string) => void;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #areFaultsStopped = false;

  static async start(random: Random, onFault: (fault: string) => void): Promise<Tunnel> {
    const tunnel = new Tunnel(random, onFault);
    tunnel.#server.listen(0, loopback);
    await once(tunnel.#server, 'listening');
    return tunnel;
  }

  private constructor(random: Random, onFault: (fault: string) => void) {
    this.#random = random;
    this.#onFault = onFault;
    this.#server = createServer((_request, response) => response.writeHead(405).end());
    this.#server.on('connection', (socket) => {
      this.arrivalsMs.push(Date.now());
      this.#keep(socket);
    });
    this.#server.on('connect', (request, socket, head) => this.#connect(request, socket as Socket, head));
  }

  get url(): string {
    return `http://${loopback}:${(this.#server.address() as AddressInfo).port}`;
  }

  /** From now on, every connection is forwarded. */
  stopFaults(): void {
    this.#areFaultsStopped = true;
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    const closed = once(this.#server, 'close');
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #connect({ url = '' }: IncomingMessage, client: Socket, head: Buffer): void {
    const behaviour = this.#areFaultsStopped ? 'pass' : this.#random.weighted(behaviours);
    if (behaviour !== 'pass') this.#onFault(`proxy ${behaviour}`);
    switch (behaviour) {
      case 'fin':
        client.end();
        return;
      case 'reset':
        client.resetAndDestroy();
        return;
      case 'refuse':
        client.end('HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n');
        return;
      case 'silence': {
        const timer = setTimeout(() => {
          this.#timers.delete(timer);
          client.destroy();
        }, silenceMs);
        this.#timers.add(timer);
        return;
      }
      case 'pass':
    }
    const { hostname, port } = new URL(`http://${url}`);
    const server = connect(Number(port), hostname);
    this.#keep(server);
    server.once('connect', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      if (head.length > 0) server.write(head);
      client.pipe(server).pipe(client);
    });
    server.once('close', () => client.destroy());
    client.once('close', () => server.destroy());
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => this.#sockets.delete(socket));
  }
}
