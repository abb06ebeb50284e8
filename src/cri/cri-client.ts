import {
  Client,
  type ClientReadableStream,
  connectivityState,
  credentials,
  Metadata,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { criEnums, criMessages, criMethods } from './cri-api.ts';
import type { CRIMessage, CRIMethod, CRIRequest } from './cri-messages.ts';
import { createCodecs, type MessageCodec } from './message-codec.ts';

type RequestOf<Method extends CRIMethod> = CRIRequest<(typeof criMethods)[Method][1]>;
type ResponseOf<Method extends CRIMethod> = CRIMessage<(typeof criMethods)[Method][2]>;

/** Options of one call of the runtime. */
export interface CRICallOptions {
  readonly signal?: AbortSignal | undefined;
}

interface StreamCall {
  readonly request: object;
  readonly requestCodec: MessageCodec;
  readonly responseCodec: MessageCodec;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/**
 * A call that the runtime refused. `message` is the plain text of the runtime; `goMessage` is the error text of Go's
 * gRPC client, which the kubelet shows in some places.
 */
export class CRIError extends Error {
  override readonly name = 'CRIError';
  /** The gRPC code, as Go prints it: `NotFound`. */
  readonly code: string;

  constructor({ code, details, message }: ServiceError) {
    // grpc-js ends its own messages with an empty note.
    super((details || message).replace(/\. Resolution note: $/, ''));
    this.code = goCodeName(code);
  }

  get goMessage(): string {
    return `rpc error: code = ${this.code} desc = ${this.message}`;
  }
}

export function hasCode(error: unknown, code: string): boolean {
  return error instanceof CRIError && error.code === code;
}

/** Ignores a NotFound error: the container or sandbox is already gone. */
export async function ignoreNotFound(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!hasCode(error, 'NotFound')) throw error;
  }
}

/** The kubelet shows the errors of some calls as Go formats them. */
export async function withGoMessage<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    throw error instanceof CRIError ? new Error(error.goMessage, { cause: error }) : error;
  }
}

/** Maximum size of a message. Source: cri-client `maxMsgSize`. */
const maxMessageBytes = 16 * 1024 * 1024;

/** A client of the CRI, version 1, for one endpoint. Callers set deadlines with a signal. */
export class CRIClient {
  readonly #client: Client;
  readonly #codecs = createCodecs(criMessages, criEnums);

  /** @param endpoint `unix:///run/containerd/containerd.sock` */
  constructor(endpoint: string) {
    this.#client = new Client(endpoint, credentials.createInsecure(), {
      'grpc.max_receive_message_length': maxMessageBytes,
      'grpc.initial_reconnect_backoff_ms': 200,
      'grpc.max_reconnect_backoff_ms': 3000,
      'grpc.enable_http_proxy': 0,
    });
  }

  /** Whether the connection is established: calls and streams wait while it is not. */
  get isConnected(): boolean {
    return this.#client.getChannel().getConnectivityState(false) === connectivityState.READY;
  }

  /** Rejects with a `CRIError`, or with the reason of the signal. */
  call<Method extends CRIMethod>(
    method: Method,
    request: RequestOf<Method>,
    { signal }: CRICallOptions = {},
  ): Promise<ResponseOf<Method>> {
    const [service, requestName, responseName] = criMethods[method];
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const call = this.#client.makeUnaryRequest<object, object>(
        `/runtime.v1.${service}/${method}`,
        this.#codecs[requestName].encode,
        this.#codecs[responseName].decode,
        request,
        (error, response) => {
          signal?.removeEventListener('abort', cancel);
          if (error === null) resolve(response as ResponseOf<Method>);
          else reject(signal?.aborted === true ? signal.reason : new CRIError(error));
        },
      );
      const cancel = (): void => call.cancel();
      signal?.addEventListener('abort', cancel);
    });
  }

  /** Events of containers. The stream emits `data`, `error` and `end`; containerd before 1.7 has none. */
  getContainerEvents(): ClientReadableStream<CRIMessage<'ContainerEventResponse'>> {
    return this.stream('/runtime.v1.RuntimeService/GetContainerEvents', {
      request: {},
      requestCodec: this.#codecs.GetEventsRequest,
      responseCodec: this.#codecs.ContainerEventResponse,
    });
  }

  /** A stream of any service of the same endpoint. */
  stream<Response extends object>(
    path: string,
    { request, requestCodec, responseCodec, headers = {} }: StreamCall,
  ): ClientReadableStream<Response> {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    return this.#client.makeServerStreamRequest<object, Response>(
      path,
      requestCodec.encode,
      (bytes) => responseCodec.decode(bytes) as Response,
      request,
      metadata,
    );
  }

  /** Ends all calls. */
  close(): void {
    this.#client.close();
  }
}

/** `NOT_FOUND` → `NotFound`. Go formats one code differently. */
function goCodeName(code: number): string {
  const name = status[code];
  if (name === undefined) return `Code(${code})`;
  if (name === 'CANCELLED') return 'Canceled';
  return name.toLowerCase().replaceAll(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
}
