import type { Timer } from '../../src/shared/clock.ts';
import type { APIServerHandler } from '../../src/api-server/api-server-handler.ts';
import { describeAbort } from '../../src/kube/client/api-error.ts';
import { queryString } from '../../src/kube/http/api-path.ts';
import type {
  KubeRequestOptions,
  KubeResponse,
  KubeStream,
  KubeStreamOptions,
  KubeTransport,
} from '../../src/kube/http/kube-transport.ts';
import { errorOfConnection, errorOfResponse } from '../../src/kube/http/transport-errors.ts';
import type { Random } from '../chaos/random.ts';
import { connectionError, DirectRequest, DirectResponse } from '../support/direct-exchange.ts';
import { LaggingPods, type PodWrite } from './lagging-pods.ts';
import type { SimulatedProcess } from './simulated-process.ts';
import type { World } from './world.ts';

/** Probabilities of what happens to a request. */
export interface NetworkFaults {
  readonly slow: number;
  /** The request does not arrive; half of them never get an answer. */
  readonly lostBefore: number;
  /** The request has its effect, and the response is lost. */
  readonly lostAfter: number;
  /** A proxy sends the request twice. */
  readonly duplicate: number;
  /** The server refuses the request without an effect. */
  readonly refused: number;
  /** The server responds with 500 or 504 after the effect. */
  readonly failedAfter: number;
  /** A list that may be stale comes from a server that lags. */
  readonly staleList: number;
  /** A proxy has no way to the server, and says 404. */
  readonly notFound: number;
  /** The request arrives long after it was sent, also if its sender has given up or is dead. */
  readonly late: number;
}

export const noFaults: NetworkFaults = {
  ...{
    slow: 0,
    lostBefore: 0,
    lostAfter: 0,
    duplicate: 0,
    refused: 0,
    failedAfter: 0,
    staleList: 0,
    notFound: 0,
    late: 0,
  },
};

/** One request, for the invariants. */
export interface Call {
  readonly process: SimulatedProcess;
  readonly id: number;
  readonly method: string;
  readonly path: string;
  readonly query: KubeRequestOptions['query'];
  readonly body: unknown;
  readonly sentMs: number;
  /** When it had its effect, if it had one. */
  processedMs?: number;
  endedMs?: number;
  endedBy?: 'response' | 'network' | 'abort';
  status?: number;
  /** What the response asked for. */
  retryAfterMs?: number;
}

/** What is known of a request, and of a watch once it is refused. */
export type RefusableCall = Pick<
  Call,
  'endedMs' | 'method' | 'path' | 'process' | 'retryAfterMs' | 'sentMs' | 'status'
>;

/** A request that a server has handled, also if its response was lost. */
export interface ServedCall extends Call {
  readonly servedStatus: number;
  /** Its process was stopped before it had sent it, or before it arrived, and could not give it up. */
  readonly wasHeld: boolean;
}

interface Refusal {
  readonly code: number;
  readonly reason: string;
}

const tooManyRequests: Refusal = { code: 429, reason: 'TooManyRequests' };

/** Refusals that a server may give although nothing is wrong with the request. */
const refusals: readonly Refusal[] = [
  { code: 401, reason: 'Unauthorized' },
  { code: 403, reason: 'Forbidden' },
  { code: 409, reason: 'Conflict' },
  { code: 429, reason: 'TooManyRequests' },
  { code: 429, reason: 'TooManyRequests' },
  { code: 500, reason: 'InternalError' },
  { code: 500, reason: 'InternalError' },
  { code: 503, reason: 'ServiceUnavailable' },
  { code: 503, reason: 'ServiceUnavailable' },
  { code: 504, reason: 'Timeout' },
];
const refusalsOfPatch: readonly Refusal[] = [...refusals, { code: 422, reason: 'Invalid' }];
const refusalsOfList: readonly Refusal[] = [...refusals, { code: 410, reason: 'Expired' }];

const host = '127.0.0.1';
const noCredentials = { headers: {}, tls: {}, files: {} };
const tickMs = 1 / 1024;
const maxLateMs = 40_000;
const behindMs = 10_000;
const notFoundByProxy: Settled = { status: 404, headers: {}, text: '404 page not found\n' };

/** A watch that is open, for those who disturb it. */
export interface OpenStream {
  readonly process: SimulatedProcess;
  readonly isStalled: boolean;
  /** The connection breaks. */
  cut(): void;
  /** Nothing arrives any more, and nobody notices. */
  stall(): void;
}

/** The requests of a transport that have not ended. */
interface OpenRequests {
  readonly abort: Set<() => void>;
  isClosed: boolean;
}

interface Connection {
  readonly process: SimulatedProcess;
  readonly token: string;
  readonly requests: OpenRequests;
}

interface Settled {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly text: string;
}

/**
 * The network between processes and API servers, which share one store. Requests are answered by the API server's own
 * handlers, without HTTP. Several requests of one process may overtake each other; what a watch sends stays in order.
 */
export class Network {
  readonly calls: Call[] = [];
  readonly watches: RefusableCall[] = [];
  /** The resource versions of what was written by requests whose senders had given up. */
  readonly lateWrites = new Set<number>();
  readonly streams = new Set<OpenStream>();
  faults = noFaults;
  /** Requests of these paths take seconds. */
  slowPaths: RegExp | undefined;
  /** Says of a request that it does not arrive, and gets no answer. */
  isLost: ((call: Call) => boolean) | undefined;
  /** The watch of a process whose list came from a server that is behind comes from there, too, and stays behind. */
  watchesLag = false;
  /** No packet arrives in either direction. */
  isDown = false;
  /** While it is down, each request fails at once; otherwise half of them get no answer. */
  isRefusing = false;
  /** Nor does one of these processes. */
  readonly cutOff = new Set<SimulatedProcess>();
  /** In the order in which they were handled. */
  readonly served: ServedCall[] = [];
  /** An API server runs. */
  isServerUp = true;
  /** The share of requests that are refused with 429, as by an API server that has too much to do. */
  busyShare = 0;
  readonly #world: World;
  readonly #random: Random;
  readonly #busy: Random;
  readonly #server: APIServerHandler;
  readonly #lagging: readonly LaggingPods[];
  /** Whose last list of pods came from a server that is behind. */
  readonly #behind = new Set<SimulatedProcess>();

  /**
   * @param writes every write to a pod so far
   * @param lagging API servers of which lists may come that are behind
   */
  constructor(world: World, server: APIServerHandler, writes: readonly PodWrite[], lagging = 2) {
    this.#world = world;
    this.#random = world.random.fork('network');
    this.#busy = world.random.fork('busy');
    this.#server = server;
    this.#lagging = Array.from({ length: lagging }, () => new LaggingPods(world, writes));
  }

  /** What a process uses to reach the API servers as one user. */
  transport(process: SimulatedProcess, token: string): KubeTransport {
    let lastMs: number | undefined;
    const succeeded = <T>(result: T): T => {
      lastMs = this.#world.nowMs;
      return result;
    };
    const requests: OpenRequests = { abort: new Set(), isClosed: false };
    return {
      get lastSuccessAgeMs() {
        return lastMs === undefined ? undefined : process.world.nowMs - lastMs;
      },
      request: async (method, path, options = {}) =>
        succeeded(await this.#request({ process, token, requests }, method, path, options)),
      stream: async (path, options = {}) => succeeded(await this.#stream(process, token, path, options)),
      closeIdle: async () => {},
      async close() {
        requests.isClosed = true;
        for (const abort of requests.abort) abort();
      },
    };
  }

  /** The streams of one process end with it. */
  killed(process: SimulatedProcess): void {
    for (const stream of this.streams) if (stream.process === process) stream.cut();
  }

  #isDownFor(process: SimulatedProcess): boolean {
    return this.isDown || this.cutOff.has(process);
  }

  #latencyMs(isSlow: boolean): number {
    return isSlow ? 500 + this.#random.next() * 8_500 : 0.2 + this.#random.next() * 20;
  }

  /** Whether a fault of this kind happens to this request. */
  #strikes(kind: keyof NetworkFaults): boolean {
    if (this.faults[kind] === 0 || !this.#random.chance(this.faults[kind])) return false;
    if (!this.#world.happens(`network: ${kind}`)) return false;
    this.#world.count(`network: ${kind}`);
    return true;
  }

  #headers(token: string, headers: KubeRequestOptions['headers']): Record<string, string> {
    return { host, accept: 'application/json', authorization: `Bearer ${token}`, ...headers };
  }

  #request(
    { process, token, requests }: Connection,
    method: string,
    path: string,
    options: KubeRequestOptions,
  ): Promise<KubeResponse> {
    // Killed in the middle of a turn, for example by a power loss at a write: what runs on sends nothing.
    if (!process.isAlive) return new Promise(() => {});
    const world = this.#world;
    const target = `${path}${queryString(options.query)}`;
    const body = options.body === undefined ? undefined : JSON.stringify(options.body);
    const headers = this.#headers(token, {
      ...(body !== undefined && { 'content-type': options.contentType ?? 'application/json' }),
      ...options.headers,
    });
    const id = this.calls.length + 1;
    const call: Call = { process, id, method, path, query: options.query, body: options.body, sentMs: world.nowMs };
    this.calls.push(call);
    world.note(process.name, `→ ${call.id}`, method, target, body ?? '');
    // All is drawn at once, so that a fault that is left out does not change those of other requests.
    const isSlow = this.#strikes('slow') || this.slowPaths?.test(path) === true;
    const latencyMs = this.#latencyMs(isSlow);
    const backMs = this.#latencyMs(false);
    const refused = this.#refusal(method, path);
    const retryAfter = this.#random.integer(1, 3);
    const isHanging = this.#random.chance(0.5);
    const lateMs = this.faults.late === 0 ? 0 : this.#random.integer(1_000, maxLateMs);
    const is = {
      notFound: this.#strikes('notFound'),
      late: this.#strikes('late'),
      lostBefore: this.#strikes('lostBefore'),
      lostAfter: this.#strikes('lostAfter'),
      duplicate: this.#strikes('duplicate'),
      failedAfter: this.#strikes('failedAfter'),
    };
    const { signal } = options;
    return new Promise((resolve, reject) => {
      let isOver = false;
      const settle = (by: NonNullable<Call['endedBy']>): boolean => {
        if (isOver) return false;
        isOver = true;
        signal?.removeEventListener('abort', onAbort);
        requests.abort.delete(onAbort);
        call.endedMs = world.nowMs;
        call.endedBy = by;
        return true;
      };
      const onAbort = (): void => {
        if (!settle('abort')) return;
        world.note(process.name, `✗ ${call.id}`, 'aborted');
        reject(describeAbort(signal ?? { reason: undefined }));
      };
      const fail = (code: string, delayMs: number): void => {
        process.receive(delayMs, () => {
          if (!settle('network')) return;
          world.note(process.name, `✗ ${call.id}`, code);
          reject(errorOfConnection(connectionError(code), host, noCredentials, process.clock.now()));
        });
      };
      const respond = ({ status, headers, text }: Settled): void => {
        process.receive(backMs, () => {
          if (this.#isDownFor(process)) {
            if (!isHanging) fail('ECONNRESET', backMs * 10);
            return;
          }
          if (!settle('response')) return;
          call.status = status;
          if (headers['retry-after'] !== undefined) call.retryAfterMs = Number(headers['retry-after']) * 1_000;
          world.note(process.name, `← ${call.id}`, status, text.length);
          if (status < 300) {
            let body: unknown;
            return resolve({ statusCode: status, headers, text, json: () => (body ??= JSON.parse(text)) });
          }
          const response = { statusCode: status, headers, body: Buffer.from(text) };
          void errorOfResponse(response, noCredentials, process.clock.now()).then(reject, reject);
        });
      };
      if (signal?.aborted === true || requests.isClosed) return onAbort();
      signal?.addEventListener('abort', onAbort);
      requests.abort.add(onAbort);
      if (this.#isDownFor(process) || !this.isServerUp) {
        if (!this.#isDownFor(process) || this.isRefusing || !isHanging) fail('ECONNREFUSED', backMs);
        return;
      }
      if (this.isLost?.(call) === true) return;
      if (is.lostBefore) {
        if (!isHanging) fail('ECONNRESET', latencyMs);
        return;
      }
      let wasHeld = false;
      const reach = (): void => {
        const isGivenUp = isOver || !process.isAlive;
        // Its connection was closed before it arrived.
        if (isGivenUp && !is.late) return;
        if (!this.isServerUp) return fail('ECONNRESET', 1);
        if (is.notFound) return respond(notFoundByProxy);
        if (refused !== undefined) return respond(refusalOf(refused, retryAfter));
        const isStale = method === 'GET' && options.query?.['resourceVersion'] === '0' && path === '/api/v1/pods';
        if (isStale && this.#strikes('staleList')) {
          call.processedMs = world.nowMs;
          this.#behind.add(process);
          return respond({ status: 200, headers: {}, text: this.#random.pick(this.#lagging).list(options.query) });
        }
        const arrive = (onDone: (settled: Settled) => void): void => {
          call.processedMs ??= world.nowMs;
          this.#serve(method, target, headers, body, (settled) => {
            this.served.push({ ...call, servedStatus: settled.status, wasHeld: wasHeld || process.isPaused });
            onDone(settled);
          });
        };
        const answer = (settled: Settled): void => {
          if (isGivenUp) return this.#noteLate(method, settled);
          if (is.lostAfter) {
            if (!isHanging) fail('ECONNRESET', backMs);
          } else respond(is.failedAfter ? refusalOf({ code: 504, reason: 'Timeout' }, retryAfter) : settled);
        };
        arrive(is.duplicate ? () => world.at(tickMs, () => arrive(answer)) : answer);
      };
      world.at(is.late ? latencyMs + lateMs : latencyMs, () => {
        // Stopped between its last check and the request: it sends it when it continues.
        wasHeld = process.isPaused && isHanging;
        if (wasHeld) process.receive(0, reach);
        else reach();
      });
    });
  }

  #noteLate(method: string, { status, text }: Settled): void {
    this.#world.note('network', 'late', method, status);
    if (method !== 'PATCH' || status >= 300) return;
    const { metadata } = JSON.parse(text) as { readonly metadata: { readonly resourceVersion: string } };
    this.lateWrites.add(Number(metadata.resourceVersion));
  }

  #refusal(method: string, path: string): Refusal | undefined {
    const isRefused = this.#strikes('refused');
    if (this.busyShare > 0 && this.#busy.chance(this.busyShare)) return tooManyRequests;
    if (!isRefused) return undefined;
    if (method === 'PATCH') return this.#random.pick(refusalsOfPatch);
    return this.#random.pick(method === 'GET' && path.endsWith('/pods') ? refusalsOfList : refusals);
  }

  #serve(
    method: string,
    target: string,
    headers: Record<string, string>,
    body: string | undefined,
    onDone: (settled: Settled) => void,
  ): void {
    let text = '';
    const response = new DirectResponse({
      onHead() {},
      onChunk: (chunk) => void (text += chunk),
      onEnd: (isCut, { statusCode, headers }) => {
        if (!isCut) onDone({ status: statusCode, headers, text });
      },
    });
    void this.#server.serve(new DirectRequest(method, target, headers, body), response);
  }

  #stream(process: SimulatedProcess, token: string, path: string, options: KubeStreamOptions): Promise<KubeStream> {
    if (!process.isAlive) return new Promise(() => {});
    const world = this.#world;
    const target = `${path}${queryString(options.query)}`;
    const { signal } = options;
    const call: RefusableCall = { process, method: 'watch', path, sentMs: world.nowMs };
    this.watches.push(call);
    world.note(process.name, '→ watch', target);
    const usualMs = this.#random.chance(0.3) ? this.#random.integer(50, 3_000) : 0;
    const laggingMs = this.watchesLag && this.#behind.delete(process) ? behindMs : usualMs;
    const refused = this.#refusal('GET', path);
    return new Promise((resolve, reject) => {
      const chunks: Uint8Array[] = [];
      let wake = (): void => {};
      let end: { readonly error?: unknown } | undefined;
      let isOpen = false;
      let isClosed = false;
      let isStalled = false;
      let lastArrivalMs = 0;
      let response: DirectResponse | undefined;
      /** In order, however long each takes. */
      const deliver = (run: () => void): Timer => {
        lastArrivalMs = Math.max(lastArrivalMs + tickMs, world.nowMs + laggingMs + this.#latencyMs(false));
        return process.receive(lastArrivalMs - world.nowMs, () => void (isClosed || isStalled || run()));
      };
      const finish = (error?: unknown): void => {
        end ??= error === undefined ? {} : { error };
        wake();
      };
      const close = (): void => {
        if (isClosed) return;
        isClosed = true;
        this.streams.delete(handle);
        signal?.removeEventListener('abort', onAbort);
        response?.destroy();
      };
      const failWith = (error: unknown): void => {
        close();
        if (isOpen) finish(error);
        else reject(error);
      };
      const onAbort = (): void => failWith(describeAbort(signal!));
      const cut = (): void => {
        if (isClosed) return;
        world.note(process.name, '✗ watch');
        const error = connectionError('ECONNRESET');
        failWith(errorOfConnection(error, host, isOpen ? undefined : noCredentials, process.clock.now()));
      };
      const handle: OpenStream = {
        process,
        get isStalled() {
          return isStalled;
        },
        cut: () => {
          if (process.isAlive) process.receive(0, cut);
          else close();
        },
        stall: () => void (isStalled = true),
      };
      if (signal?.aborted === true) return onAbort();
      signal?.addEventListener('abort', onAbort);
      if (this.#isDownFor(process) || !this.isServerUp) {
        process.receive(this.#latencyMs(false), cut);
        return;
      }
      this.streams.add(handle);
      const refuse = async ({ status, headers, text }: Settled): Promise<void> => {
        Object.assign(call, { endedMs: world.nowMs, status });
        if (headers['retry-after'] !== undefined) call.retryAfterMs = Number(headers['retry-after']) * 1_000;
        const body = { statusCode: status, headers, body: Buffer.from(text) };
        const error = await errorOfResponse(body, noCredentials, process.clock.now());
        failWith(error);
      };
      const body = (async function* (): AsyncGenerator<Uint8Array, void> {
        try {
          for (;;) {
            const chunk = chunks.shift();
            if (chunk !== undefined) yield chunk;
            else if (end !== undefined) {
              if (end.error !== undefined) throw end.error as Error;
              return;
            } else await new Promise<void>((resolve) => (wake = resolve));
          }
        } finally {
          close();
        }
      })();
      world.at(this.#latencyMs(false), () => {
        if (isClosed || !process.isAlive) return;
        if (!this.isServerUp) return handle.cut();
        if (refused !== undefined) return void deliver(() => void refuse(refusalOf(refused, this.#busy.integer(1, 3))));
        let isAccepted = false;
        let refusal = '';
        response = new DirectResponse({
          onHead: (status) => {
            isAccepted = true;
            deliver(() => {
              isOpen = true;
              world.note(process.name, '← watch', status);
              resolve({ statusCode: status, body });
            });
          },
          onChunk: (text) => {
            if (!isAccepted) refusal += text;
            deliver(() => {
              const chunk = Buffer.from(text);
              world.note(process.name, '← event', `${summaryOf(text)} ${chunk.length}`);
              chunks.push(chunk);
              wake();
            });
          },
          onEnd: (isCut, { statusCode, headers }) => {
            const settled = { status: statusCode, headers, text: refusal };
            deliver(() => {
              if (!isOpen) void refuse(settled);
              else if (isCut) cut();
              else finish();
            });
          },
        });
        void this.#server.serve(
          new DirectRequest('GET', target, this.#headers(token, options.headers), undefined),
          response,
        );
      });
    });
  }
}

function refusalOf({ code, reason }: Refusal, retryAfterSeconds: number): Settled {
  const isRetried = code === 429 || code === 503;
  const message = `simulated: ${reason}`;
  return {
    status: code,
    headers: isRetried ? { 'retry-after': String(retryAfterSeconds) } : {},
    text: JSON.stringify({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure', message, reason, code }),
  };
}

/** What a line of a watch is about, without parsing it. */
function summaryOf(text: string): string {
  const [, type] = /^\{"type":"([A-Z]+)"/.exec(text) ?? [];
  const [, name] = /"name":"([^"]+)"/.exec(text) ?? [];
  const [, revision] = /"resourceVersion":"(\d+)"/.exec(text) ?? [];
  return `${type ?? ''} ${name ?? ''}@${revision ?? ''}`;
}
