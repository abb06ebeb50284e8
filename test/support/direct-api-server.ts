import { APIServerHandler, type APIServerHandlerOptions } from '../../src/api-server/api-server-handler.ts';
import { describeAbort } from '../../src/kube/client/api-error.ts';
import { queryString } from '../../src/kube/http/api-path.ts';
import { type HTTPPodClient, podClientOf } from '../../src/kube/http/http-pod-client.ts';
import type {
  KubeRequestOptions,
  KubeResponse,
  KubeStream,
  KubeStreamOptions,
  KubeTransport,
} from '../../src/kube/http/kube-transport.ts';
import { errorOfConnection, errorOfResponse } from '../../src/kube/http/transport-errors.ts';
import type { Clock } from '../../src/shared/clock.ts';
import { connectionError, DirectRequest, DirectResponse } from './direct-exchange.ts';

const host = '127.0.0.1';
const noCredentials = { headers: {}, tls: {}, files: {} };

/**
 * The API server of `testing` without HTTP: its own handlers, and clients that call them. Nothing waits for sockets, so
 * that `settle` needs no real time.
 */
export class DirectAPIServer {
  readonly pods: APIServerHandler['pods'];
  readonly nodes: APIServerHandler['nodes'];
  readonly namespaces: APIServerHandler['namespaces'];
  readonly configMaps: APIServerHandler['configMaps'];
  readonly secrets: APIServerHandler['secrets'];
  readonly faults: APIServerHandler['faults']['plan'];
  readonly #handler: APIServerHandler;
  readonly #clock: Clock;
  readonly #open = new Set<() => void>();
  #isUp = true;

  constructor(options: APIServerHandlerOptions & { readonly clock: Clock }) {
    const handler = new APIServerHandler(options);
    handler.addKubernetesService(host, 6443);
    ({
      pods: this.pods,
      nodes: this.nodes,
      namespaces: this.namespaces,
      configMaps: this.configMaps,
      secrets: this.secrets,
    } = handler);
    this.faults = handler.faults.plan;
    this.#handler = handler;
    this.#clock = options.clock;
  }

  /** The error of connections that are cut. */
  cutCode = 'ECONNRESET';

  /** Requests and watches that are being served now. */
  get inFlight() {
    return this.#handler.faults.inFlight.counts;
  }

  /** The last 1,000 requests, oldest first. */
  get requests() {
    return this.#handler.requests.newest;
  }

  /** The admin's client, or that of a node's user. */
  client(node?: string): HTTPPodClient {
    return podClientOf(this.#transport(node === undefined ? this.#handler.token : this.#handler.nodeToken(node)));
  }

  /** Ends the server as a crash would: connections are cut, and new ones refused. */
  kill(): void {
    this.#isUp = false;
    this.#handler.close();
    for (const cut of this.#open) cut();
  }

  /** Starts a killed server again. Earlier writes are forgotten, as after a restart of the watch cache. */
  startAgain(): void {
    this.#handler.compact();
    this.#isUp = true;
  }

  #transport(token: string): KubeTransport {
    const clock = this.#clock;
    let lastMs: number | undefined;
    const aborts = new Set<() => void>();
    let isClosed = false;
    const exchange = <T>(
      method: string,
      path: string,
      options: KubeRequestOptions,
      start: (settle: Settle<T>) => ConstructorParameters<typeof DirectResponse>[0],
    ): Promise<T> =>
      new Promise((resolve, reject) => {
        const { signal, query, contentType = 'application/json' } = options;
        const body = options.body === undefined ? undefined : JSON.stringify(options.body);
        const end = (): void => {
          signal?.removeEventListener('abort', onAbort);
          aborts.delete(onAbort);
          this.#open.delete(cut);
        };
        const settle: Settle<T> = {
          end,
          resolve: (result) => {
            lastMs = clock.monotonicMs();
            resolve(result);
          },
          reject,
          cutError: () => errorOfConnection(connectionError(this.cutCode), host, noCredentials, clock.now()),
          errorOf: (statusCode, headers, text) =>
            errorOfResponse({ statusCode, headers, body: Buffer.from(text) }, noCredentials, clock.now()),
          abort: () => response.destroy(),
        };
        const response = new DirectResponse(start(settle));
        const cut = (): void => response.destroy();
        const onAbort = (): void => {
          end();
          reject(describeAbort(signal ?? { reason: undefined }));
          response.destroy();
        };
        if (signal?.aborted === true || isClosed) return onAbort();
        if (!this.#isUp) {
          const error = connectionError('ECONNREFUSED');
          return reject(errorOfConnection(error, host, noCredentials, clock.now()));
        }
        signal?.addEventListener('abort', onAbort);
        aborts.add(onAbort);
        this.#open.add(cut);
        const headers = {
          ...{ host, accept: 'application/json', authorization: `Bearer ${token}` },
          ...(body !== undefined && { 'content-type': contentType }),
          ...options.headers,
        };
        void this.#handler.serve(new DirectRequest(method, `${path}${queryString(query)}`, headers, body), response);
      });
    return {
      get lastSuccessAgeMs() {
        return lastMs === undefined ? undefined : clock.monotonicMs() - lastMs;
      },
      request: (method, path, options = {}) => exchange<KubeResponse>(method, path, options, buffered),
      stream: (path, options: KubeStreamOptions = {}) => exchange<KubeStream>('GET', path, options, streamed),
      closeIdle: async () => {},
      async close() {
        isClosed = true;
        for (const abort of aborts) abort();
      },
    };
  }
}

/** How an exchange ends. */
interface Settle<T> {
  readonly resolve: (result: T) => void;
  readonly reject: (error: unknown) => void;
  /** The exchange is over: nothing aborts or cuts it. */
  readonly end: () => void;
  /** Closes the connection. */
  readonly abort: () => void;
  readonly cutError: () => Error;
  readonly errorOf: (statusCode: number, headers: Record<string, string>, text: string) => Promise<unknown>;
}

function buffered({ resolve, reject, end, cutError, errorOf }: Settle<KubeResponse>) {
  let text = '';
  return {
    onHead() {},
    onChunk: (chunk: string) => void (text += chunk),
    onEnd(isCut: boolean, { statusCode, headers }: Head) {
      end();
      if (isCut) reject(cutError());
      else if (statusCode < 300) resolve({ statusCode, headers, text, json: () => JSON.parse(text) as unknown });
      else void errorOf(statusCode, headers, text).then(reject);
    },
  };
}

function streamed({ resolve, reject, end, abort, cutError, errorOf }: Settle<KubeStream>) {
  const chunks: Buffer[] = [];
  let wake = (): void => {};
  let isOpen = false;
  let ended: { readonly error?: Error } | undefined;
  const body = (async function* read(): AsyncGenerator<Uint8Array, void> {
    try {
      for (;;) {
        const chunk = chunks.shift();
        if (chunk !== undefined) yield chunk;
        else if (ended === undefined) await new Promise<void>((resolved) => (wake = resolved));
        else if (ended.error === undefined) return;
        else throw ended.error;
      }
    } finally {
      end();
      abort();
    }
  })();
  return {
    onHead(statusCode: number) {
      isOpen = true;
      resolve({ statusCode, body });
    },
    onChunk(chunk: string) {
      chunks.push(Buffer.from(chunk));
      wake();
    },
    onEnd(isCut: boolean, { statusCode, headers }: Head) {
      if (isOpen) {
        ended = isCut ? { error: cutError() } : {};
        return wake();
      }
      end();
      if (isCut) reject(cutError());
      else void errorOf(statusCode, headers, Buffer.concat(chunks).toString()).then(reject);
    },
  };
}

interface Head {
  readonly statusCode: number;
  readonly headers: Record<string, string>;
}
