import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Random } from '../random.ts';

/** One call of a replica for a node, as the cloud saw it. Times are those of `Date.now()`. */
export interface CloudCall {
  readonly node: string;
  readonly replica: string;
  readonly epoch: number;
  readonly startMs: number;
  /** When the work of the call was done; undefined while it is not. */
  endMs: number | undefined;
}

/** A cloud that takes some time for each call, and records all of them. */
export class Cloud {
  /** In order of their start. */
  readonly calls: CloudCall[] = [];
  readonly #server: Server;
  readonly #random: Random;

  static async start(random: Random): Promise<Cloud> {
    const cloud = new Cloud(random);
    cloud.#server.listen(0, '127.0.0.1');
    await once(cloud.#server, 'listening');
    return cloud;
  }

  private constructor(random: Random) {
    this.#random = random;
    this.#server = createServer((request, response) => this.#serve(request, response));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  /** `/NODE/REPLICA/EPOCH`. The work ends in its own time, whether or not the caller waits for it. */
  #serve(request: IncomingMessage, response: ServerResponse): void {
    const [, node = '', replica = '', epoch] = (request.url ?? '').split('/');
    const call: CloudCall = { node, replica, epoch: Number(epoch), startMs: Date.now(), endMs: undefined };
    this.calls.push(call);
    response.on('error', () => {});
    setTimeout(
      () => {
        call.endMs = Date.now();
        response.end();
      },
      this.#random.integer(1, 200),
    );
  }
}
