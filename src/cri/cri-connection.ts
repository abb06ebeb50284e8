import type { criMethods } from './cri-api.ts';
import type { CRIError } from './cri-error.ts';
import type { CRIMessage, CRIMethod, CRIRequest } from './cri-messages.ts';
import type { MessageCodec } from './message-codec.ts';

export type RequestOf<Method extends CRIMethod> = CRIRequest<(typeof criMethods)[Method][1]>;
export type ResponseOf<Method extends CRIMethod> = CRIMessage<(typeof criMethods)[Method][2]>;

/** Options of one call of the runtime. */
export interface CRICallOptions {
  readonly signal?: AbortSignal | undefined;
}

/** A call of any service of the runtime's endpoint whose response is a stream. */
export interface StreamCall {
  /** `/containerd.services.events.v1.Events/Subscribe` */
  readonly path: string;
  readonly request: object;
  readonly requestCodec: MessageCodec;
  readonly responseCodec: MessageCodec;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

export interface StreamListener<Message> {
  readonly onMessage: (message: Message) => void;
  /** Called once, with the reason if it is known; not after `cancel`. */
  readonly onEnd: (error?: CRIError) => void;
}

/** A stream of messages that can be ended. */
export interface CRIStream {
  cancel(): void;
}

/** A connection to a runtime of the CRI, version 1. */
export interface CRIConnection {
  /** Whether the connection is established: calls and streams wait while it is not. */
  readonly isConnected: boolean;
  /** Rejects with a `CRIError`, or with the reason of the signal. The caller sets the deadline with its signal. */
  call<Method extends CRIMethod>(
    method: Method,
    request: RequestOf<Method>,
    options?: CRICallOptions,
  ): Promise<ResponseOf<Method>>;
  /** Events of containers; the stream of a runtime without them ends with `Unimplemented`. Source: CRI `GetContainerEvents`. */
  containerEvents(listener: StreamListener<CRIMessage<'ContainerEventResponse'>>): CRIStream;
  /** A stream of another service of the same endpoint. */
  stream<Message extends object>(call: StreamCall, listener: StreamListener<Message>): CRIStream;
  /** Ends all calls and streams. */
  close(): void;
}
