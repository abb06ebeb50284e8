import { once } from 'node:events';
import {
  Agent as HTTPAgent,
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type RequestOptions,
  type Server,
  type ServerResponse,
} from 'node:http';
import { Agent as HTTPSAgent, request as httpsRequest } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Json } from '../support/kube-http.ts';
import { fault, type Fault, type FaultOf } from '../../src/api-server/faults/fault.ts';
import type { FaultRequest } from '../../src/api-server/faults/fault-match.ts';
import { HTTPExchange } from '../../src/api-server/faults/http-exchange.ts';
import { LoopLag } from './loop-lag.ts';
import { type ChaosFault, FaultSchedule, htmlPage, kitFault, type RequestKind } from './faults.ts';

const loopback = '127.0.0.1';

/** One request of an agent, as the proxy saw it. Times are those of `Date.now()`. */
export interface Call {
  readonly kind: RequestKind;
  /** `namespace/name` of the pod; '' for lists and watches. */
  readonly pod: string;
  readonly incarnation: number;
  readonly fault: string | undefined;
  readonly arrivedAtMs: number;
  /** undefined while the request is in flight. */
  endedAtMs: number | undefined;
  /** What ended it: a complete response, the agent, or the proxy with a broken response. */
  endedBy: 'response' | 'agent' | 'proxy' | undefined;
  /** How long the event loop of the proxy was blocked while the request was in flight, in ms. */
  proxyLagMs: number;
  /** The status code of the response to the agent. */
  status: number | undefined;
  /** The `Retry-After` of the response, in ms. */
  retryAfterMs: number | undefined;
  /** The UID that a PATCH or DELETE has as its precondition. */
  uid: string | undefined;
  /** Only for a DELETE: its options, and the pod in the response of the API server. */
  deletion?: Deletion | undefined;
}

export interface Deletion {
  readonly gracePeriodSeconds: unknown;
  /** undefined if the API server did not accept it. */
  readonly deleted: { readonly phase: unknown; readonly deletionTimestamp: unknown } | undefined;
}

export interface FaultyProxyOptions {
  /** The URL of the API server: `https://127.0.0.1:PORT`. */
  readonly target: string;
  /** PEM. */
  readonly ca: () => string;
  readonly seed: string;
  /** Called for each request before it is forwarded. */
  readonly onCall?: ((call: Call) => void) | undefined;
}

interface BufferedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** An HTTP proxy on loopback, between an agent and an API server, that fails in the ways in which networks and overloaded servers fail. */
export class FaultyProxy {
  /** Every request, in order of arrival. */
  readonly calls: Call[] = [];
  /** The number of faults, by kind. */
  readonly faults: Record<string, number> = {};
  readonly #options: FaultyProxyOptions;
  readonly #schedule: FaultSchedule;
  readonly #server: Server;
  readonly #upstream: HTTPAgent | HTTPSAgent;
  readonly #sockets = new Set<Socket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #lag = new LoopLag();
  #startedAtMs = Date.now();
  #areFaultsStopped = false;
  #isDown = false;
  #port = 0;

  static async start(options: FaultyProxyOptions): Promise<FaultyProxy> {
    const proxy = new FaultyProxy(options);
    proxy.#server.listen(0, loopback);
    await once(proxy.#server, 'listening');
    proxy.#port = (proxy.#server.address() as AddressInfo).port;
    proxy.#startedAtMs = Date.now();
    return proxy;
  }

  private constructor(options: FaultyProxyOptions) {
    this.#options = options;
    this.#schedule = new FaultSchedule(options.seed);
    this.#upstream = isHTTPS(options.target) ? new HTTPSAgent({ keepAlive: true }) : new HTTPAgent({ keepAlive: true });
    this.#server = createServer((request, response) => void this.#serve(request, response));
    this.#server.keepAliveTimeout = 0;
    this.#server.requestTimeout = 0;
    this.#server.on('clientError', (_error, socket) => socket.destroy());
    this.#server.on('connection', (socket) => {
      if (this.#isDown) return socket.destroy();
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.once('close', () => this.#sockets.delete(socket));
      return undefined;
    });
  }

  get url(): string {
    return `http://${loopback}:${this.#port}`;
  }

  /** Stops all faults: requests that hang are cut, and from now on everything is forwarded unchanged. */
  stopFaults(): void {
    this.#areFaultsStopped = true;
    this.#isDown = false;
    for (const call of this.calls) if (call.endedAtMs === undefined) end(call, 'proxy');
    this.#cutAll();
  }

  /** Accepts no connections for this long, as when the network is down. */
  goDown(ms: number): void {
    this.#count('outage');
    this.#isDown = true;
    for (const call of this.calls) if (call.endedAtMs === undefined) end(call, 'proxy');
    this.#cutAll();
    this.#later(ms, () => {
      this.#isDown = false;
    });
  }

  /** Resolves with the number of connections of agents that were still open. */
  async close(): Promise<number> {
    const open = this.#sockets.size;
    this.#lag.stop();
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#cutAll();
    await closed;
    this.#upstream.destroy();
    return open;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const exchange = new HTTPExchange(request, response);
    const target = classify(exchange.about);
    const now = Date.now();
    const fault = this.#areFaultsStopped
      ? undefined
      : this.#schedule.faultFor(target.kind, target.pod, now - this.#startedAtMs);
    const call: Call = {
      ...target,
      incarnation: Number(/^chaos-agent\/(\d+)/.exec(request.headers['user-agent'] ?? '')?.[1] ?? 0),
      fault: fault?.kind,
      arrivedAtMs: now,
      endedAtMs: undefined,
      endedBy: undefined,
      proxyLagMs: 0,
      status: undefined,
      retryAfterMs: undefined,
      uid: undefined,
    };
    this.calls.push(call);
    if (fault !== undefined) this.#count(fault.kind);
    const aborter = new AbortController();
    response.on('error', () => {});
    response.once('close', () => {
      call.proxyLagMs = this.#lag.sinceMs(call.arrivedAtMs);
      end(call, 'agent');
      aborter.abort();
    });
    try {
      const body = await readBody(request);
      call.uid = readUID(body);
      this.#options.onCall?.(call);
      if (target.kind === 'watch') await this.#watch(request, response, exchange, call, fault, aborter.signal);
      else await this.#exchange(request, body, response, exchange, call, fault, aborter.signal);
    } catch {
      // The API server is down, or the agent has disconnected. In both cases no response can be sent.
      this.#cut(response, call);
    }
  }

  async #exchange(
    request: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
    exchange: HTTPExchange,
    call: Call,
    fault: ChaosFault | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const kit = fault && kitFault(fault);
    if (kit !== undefined && this.#isMetBefore(kit, exchange, call)) return;
    const buffered = await this.#forward(request, body, signal);
    if (fault?.kind === 'duplicate-request') await this.#forward(request, body, signal);
    if (call.kind === 'delete') call.deletion = readDeletion(body, buffered);
    if (signal.aborted) return;
    if (fault === undefined) return send(response, call, buffered);
    if (kit?.kind !== 'hang') await this.#breakResponse(fault, buffered, response, exchange, call);
  }

  /** Faults that keep a request from the API server. */
  #isMetBefore(fault: Fault, exchange: HTTPExchange, call: Call): boolean {
    switch (fault.kind) {
      case 'status':
        call.retryAfterMs = fault.retryAfterMs;
        respond(exchange, call, fault, fault.code);
        return true;
      case 'body':
        respond(exchange, call, fault, 200);
        return true;
      case 'cut':
        end(call, 'proxy');
        exchange.cut();
        return true;
      case 'hang':
        return !fault.isProcessed;
      default:
        return false;
    }
  }

  /** Faults that affect the response. */
  async #breakResponse(
    { kind, random }: ChaosFault,
    buffered: BufferedResponse,
    response: ServerResponse,
    exchange: HTTPExchange,
    call: Call,
  ): Promise<void> {
    const { body } = buffered;
    switch (kind) {
      case 'lost-response':
        return random.chance(0.5) ? this.#cut(response, call) : respond(exchange, call, fault.status(500), 500);
      case 'html-response':
        return send(response, call, {
          ...buffered,
          headers: { 'content-type': 'text/html' },
          body: Buffer.from(htmlPage),
        });
      case 'reset-mid-body':
        end(call, 'proxy');
        exchange.cutAfter(Math.floor(body.length / 2));
        writeHead(response, buffered, body.length);
        response.end(body);
        return;
      case 'trickle': {
        const pieces = random.integer(5, 40);
        writeHead(response, buffered, body.length);
        call.status = buffered.status;
        for (let i = 0; i < pieces - 1 && !response.destroyed; i++) {
          response.write(body.subarray(cutAt(body, i, pieces), cutAt(body, i + 1, pieces)));
          await this.#delay(random.integer(1, 60));
        }
        end(call, 'response');
        response.end(body.subarray(cutAt(body, pieces - 1, pieces)));
        return;
      }
      case 'delay':
        await this.#delay(random.integer(20, 1_200));
        return send(response, call, buffered);
      case 'duplicate-response':
        return sendTwice(response, call, buffered);
      default:
        return send(response, call, buffered);
    }
  }

  async #watch(
    request: IncomingMessage,
    response: ServerResponse,
    exchange: HTTPExchange,
    call: Call,
    fault: ChaosFault | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const kit = fault && kitFault(fault);
    const isOfRunningWatch = fault?.kind.startsWith('watch-') === true && fault.kind !== 'watch-gone';
    if (kit !== undefined && !isOfRunningWatch && this.#isMetBefore(kit, exchange, call)) return;
    const upstream = await this.#open(request, Buffer.alloc(0), signal);
    writeHead(response, { status: upstream.statusCode ?? 0, headers: upstream.headers, body: Buffer.alloc(0) });
    call.status = upstream.statusCode;
    response.flushHeaders();
    let isSilent = false;
    if (fault !== undefined) {
      this.#later(fault.random.integer(50, 3_000), () => {
        if (call.endedAtMs !== undefined) return;
        if (fault.kind === 'watch-reset') return this.#resetWatch(fault, response, call);
        isSilent = kit?.kind === 'hang';
        if (!isSilent) end(call, 'response');
        if (kit !== undefined) exchange.apply(kit);
        return undefined;
      });
    }
    for await (const chunk of upstream) if (!response.destroyed) response.write(chunk as Buffer);
    // An agent that gets no events is not told about the end of the watch either.
    if (isSilent) return;
    end(call, 'response');
    response.end();
  }

  #resetWatch({ random }: ChaosFault, response: ServerResponse, call: Call): void {
    response.write('{"type":"MODIFIED","object":{"kind":"Po');
    void this.#delay(random.integer(0, 20)).then(() => this.#cut(response, call));
  }

  async #forward(request: IncomingMessage, body: Buffer, signal: AbortSignal): Promise<BufferedResponse> {
    const upstream = await this.#open(request, body, signal);
    return { status: upstream.statusCode ?? 0, headers: upstream.headers, body: await readBody(upstream) };
  }

  /** Forwards the request. Rejects when the API server does not respond or the agent disconnects. */
  #open(request: IncomingMessage, body: Buffer, signal: AbortSignal): Promise<IncomingMessage> {
    const { host: _host, connection: _connection, 'transfer-encoding': _encoding, ...headers } = request.headers;
    // The response to a DELETE is read here.
    if (request.method === 'DELETE') delete headers['accept-encoding'];
    const options: RequestOptions & { ca?: string } = {
      method: request.method,
      headers: { ...headers, ...(body.length > 0 && { 'content-length': body.length }) },
      agent: this.#upstream,
      signal,
      ca: this.#options.ca(),
    };
    const url = new URL(request.url ?? '/', this.#options.target);
    return new Promise((resolve, reject) => {
      const upstream = (isHTTPS(this.#options.target) ? httpsRequest : httpRequest)(url, options, resolve);
      upstream.on('error', reject);
      upstream.end(body);
    });
  }

  #cut(response: ServerResponse, call: Call): void {
    end(call, 'proxy');
    response.destroy();
  }

  #cutAll(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #count(kind: string): void {
    this.faults[kind] = (this.faults[kind] ?? 0) + 1;
  }

  #later(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
  }

  #delay(ms: number): Promise<void> {
    return new Promise((resolve) => this.#later(ms, resolve));
  }
}

function classify({ verb, resource, namespace, name }: FaultRequest): {
  readonly kind: RequestKind;
  readonly pod: string;
} {
  if (resource !== 'pods') return { kind: 'other', pod: '' };
  if (name === '') return { kind: namespace === '' && (verb === 'list' || verb === 'watch') ? verb : 'other', pod: '' };
  const pod = `${namespace}/${name}`;
  return verb === 'get' || verb === 'patch' || verb === 'delete' ? { kind: verb, pod } : { kind: 'other', pod: '' };
}

async function readBody(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

/** The UID that a strategic merge patch, a JSON patch or a DELETE has as its precondition. */
function readUID(body: Buffer): string | undefined {
  const asked = parse(body) as Json;
  if (!Array.isArray(asked)) return asked?.metadata?.uid ?? asked?.preconditions?.uid;
  return asked.find(({ op, path }) => op === 'test' && path === '/metadata/uid')?.value;
}

function readDeletion(body: Buffer, buffered: BufferedResponse): Deletion {
  const pod = parse(buffered.body) as Json;
  return {
    gracePeriodSeconds: (parse(body) as Json)?.gracePeriodSeconds,
    deleted:
      buffered.status === 200
        ? { phase: pod?.status?.phase, deletionTimestamp: pod?.metadata?.deletionTimestamp }
        : undefined,
  };
}

function parse(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString());
  } catch {
    return undefined;
  }
}

/** Sends the response of the fault instead of a response of the API server. */
function respond(exchange: HTTPExchange, call: Call, fault: FaultOf<'status' | 'body'>, status: number): void {
  end(call, 'response');
  call.status = status;
  exchange.respond(fault);
}

/** Records what ended the request. The first call counts. */
function end(call: Call, by: NonNullable<Call['endedBy']>): void {
  if (call.endedAtMs !== undefined) return;
  call.endedAtMs = Date.now();
  call.endedBy = by;
}

function send(response: ServerResponse, call: Call, buffered: BufferedResponse): void {
  end(call, 'response');
  call.status = buffered.status;
  const retryAfter = buffered.headers['retry-after'];
  if (typeof retryAfter === 'string') call.retryAfterMs = Number(retryAfter) * 1000;
  writeHead(response, buffered, buffered.body.length);
  response.end(buffered.body);
}

/** Sends the same response a second time in the same write, without a request for it. */
function sendTwice(response: ServerResponse, call: Call, { status, headers, body }: BufferedResponse): void {
  end(call, 'response');
  call.status = status;
  const type = String(headers['content-type'] ?? 'application/json');
  const encoding =
    headers['content-encoding'] === undefined ? '' : `content-encoding: ${String(headers['content-encoding'])}\r\n`;
  const head = `HTTP/1.1 ${status} Again\r\ncontent-type: ${type}\r\n${encoding}content-length: ${body.length}\r\n\r\n`;
  const once = Buffer.concat([Buffer.from(head), body]);
  response.socket?.write(Buffer.concat([once, once]));
  // node:http would keep the connection open for this response.
  setTimeout(() => response.destroy(), 100).unref();
}

function writeHead(response: ServerResponse, { status, headers }: BufferedResponse, length?: number): void {
  const kept = ['content-type', 'content-encoding', 'retry-after', 'cache-control'].filter((name) => headers[name]);
  response.writeHead(status, {
    ...Object.fromEntries(kept.map((name) => [name, headers[name]])),
    ...(length !== undefined && { 'content-length': length }),
  });
}

function cutAt(body: Buffer, piece: number, pieces: number): number {
  return Math.floor((body.length * piece) / pieces);
}

function isHTTPS(url: string): boolean {
  return url.startsWith('https:');
}
