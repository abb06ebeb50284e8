import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** What the cloud runs in place of a pod. */
export interface Instance {
  readonly id: string;
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  labels?: Readonly<Record<string, string>>;
  podHash: string;
  readonly containers: readonly { readonly name: string; readonly image: string }[];
  state: 'creating' | 'running' | 'stopped';
  readonly ip: string;
  /** Milliseconds since the epoch. */
  startedAt?: number;
  exitCode?: number;
}

type Asked = Pick<Instance, 'namespace' | 'name' | 'node' | 'labels' | 'podHash' | 'containers'>;

interface Log {
  readonly lines: string[];
  /** They get each new line. */
  readonly followers: Set<ServerResponse>;
}

/** How the cloud behaves. */
export interface CloudOptions {
  /** The same seed gives the same failures in the same order of requests. Default: 1. */
  readonly seed?: number;
  /** The longest time of an answer in milliseconds. Default: 300. */
  readonly slowMs?: number;
  /** The share of requests that fail. Default: 0.2. */
  readonly failures?: number;
  /** The share of lists in which an instance is missing. Default: 0.1. */
  readonly forgotten?: number;
}

const startMs = 800;

/** A slow, forgetful cloud that often fails, as an HTTP server in this process. It has nothing of Kubernetes. */
export class Cloud {
  readonly instances = new Map<string, Instance>();
  /** While it is true, connections are reset. */
  isDown = false;
  readonly #options: Required<CloudOptions>;
  readonly #logs = new Map<string, Log>();
  readonly #epochs = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #server: Server;
  #random: number;
  #created = 0;

  constructor({ seed = 1, slowMs = 300, failures = 0.2, forgotten = 0.1 }: CloudOptions = {}) {
    this.#options = { seed, slowMs, failures, forgotten };
    this.#random = seed;
    this.#server = createServer((request, response) => this.#handle(request, response));
  }

  /** Listens on a free port of this machine, and resolves with the URL. */
  async start(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close');
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    if (this.isDown) return void request.socket.destroy();
    const answer = (code: number, body?: unknown): void =>
      void response.writeHead(code, { 'content-type': 'application/json' }).end(body && JSON.stringify(body));
    this.#later(this.#chance() * this.#options.slowMs, () => {
      if (this.#chance() >= this.#options.failures) {
        this.#serve(request, response, answer).catch((error: unknown) => answer(400, { message: String(error) }));
      } else if (this.#chance() < 0.5) answer(500, { message: 'the cloud has a bad day' });
      else response.writeHead(429, { 'retry-after': '1' }).end();
    });
  }

  async #serve(
    request: IncomingMessage,
    response: ServerResponse,
    answer: (code: number, body?: unknown) => void,
  ): Promise<void> {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://cloud');
    const [, , id = '', part] = pathname.split('/');
    const instance = this.instances.get(id);
    if (id === '') return answer(200, this.#list());
    if (!this.#isCurrent(request)) return answer(412, { message: 'another process owns the node now' });
    switch (request.method) {
      case 'PUT': {
        const asked = (await json(request)) as Asked;
        if (instance === undefined) this.#create(id, asked);
        else Object.assign(instance, { labels: asked.labels, podHash: asked.podHash });
        return answer(200);
      }
      case 'DELETE':
        this.#later(Math.min(Number(searchParams.get('gracePeriodSeconds')), 1) * 1000, () => this.#delete(id));
        return answer(202);
      case 'POST': {
        if (instance?.state !== 'running') return answer(404);
        const { command } = (await json(request)) as { readonly command: readonly string[] };
        this.#write(id, `exec ${command.join(' ')}`);
        return answer(200, run(command));
      }
      default:
        if (instance === undefined) return answer(404);
        if (part === 'log') return this.#sendLog(id, searchParams, response);
        return answer(200, instance);
    }
  }

  /** A process that another one has replaced must not change anything. */
  #isCurrent({ headers }: IncomingMessage): boolean {
    const node = String(headers['x-node']);
    const epoch = Number(headers['x-epoch']);
    if (epoch < (this.#epochs.get(node) ?? 0)) return false;
    this.#epochs.set(node, epoch);
    return true;
  }

  #create(id: string, asked: Asked): void {
    const instance: Instance = { ...asked, id, ip: `10.20.0.${++this.#created % 250}`, state: 'creating' };
    this.instances.set(id, instance);
    this.#logs.set(id, { lines: [], followers: new Set() });
    this.#later(startMs, () => {
      this.#write(id, `${instance.name} has started`);
      instance.state = 'running';
      instance.startedAt = Date.now();
      // An image whose name says so ends.
      const [, seconds] = /:ends-after-(\d{1,3})s$/.exec(asked.containers[0]?.image ?? '') ?? [];
      if (seconds === undefined) return;
      this.#later(Number(seconds) * 1000, () => {
        Object.assign(instance, { state: 'stopped', exitCode: 0 });
        this.#endFollowers(id);
      });
    });
  }

  #delete(id: string): void {
    this.instances.delete(id);
    this.#endFollowers(id);
    this.#logs.delete(id);
  }

  #endFollowers(id: string): void {
    for (const follower of this.#logs.get(id)?.followers ?? []) follower.end();
  }

  #write(id: string, line: string): void {
    const log = this.#logs.get(id);
    log?.lines.push(`${line}\n`);
    for (const follower of log?.followers ?? []) follower.write(`${line}\n`);
  }

  #sendLog(id: string, query: URLSearchParams, response: ServerResponse): void {
    const { lines, followers } = this.#logs.get(id)!;
    const tail = query.has('tail') ? Number(query.get('tail')) : lines.length;
    response.writeHead(200, { 'content-type': 'text/plain' });
    response.write(lines.slice(lines.length - Math.min(tail, lines.length)).join(''));
    if (!query.has('follow') || this.instances.get(id)?.state === 'stopped') return void response.end();
    followers.add(response);
    response.once('close', () => followers.delete(response));
  }

  #list(): Instance[] {
    const all = [...this.instances.values()];
    if (this.#chance() < this.#options.forgotten) all.splice(Math.floor(this.#chance() * all.length), 1);
    return all;
  }

  #later(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
  }

  /** In [0, 1). Source: the generator of Lehmer, "minimal standard". */
  #chance(): number {
    this.#random = (this.#random * 48_271) % 2_147_483_647;
    return this.#random / 2_147_483_647;
  }
}

/** The cloud has one program. */
function run([program, ...args]: readonly string[]): { readonly exitCode: number; readonly output: string } {
  if (program === 'echo') return { exitCode: 0, output: `${args.join(' ')}\n` };
  return { exitCode: 127, output: `${program}: not found\n` };
}
