import { Client, connectivityState, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';
import { criEnums, criMessages, criMethods } from './cri-api.ts';
import type {
  CRICallOptions,
  CRIConnection,
  CRIStream,
  RequestOf,
  ResponseOf,
  StreamCall,
  StreamListener,
} from './cri-connection.ts';
import { CRIError } from './cri-error.ts';
import type { CRIMessage, CRIMethod } from './cri-messages.ts';
import { createCodecs } from './message-codec.ts';

/** Maximum size of a message. Source: cri-client `maxMsgSize`. */
const maxMessageBytes = 16 * 1024 * 1024;

/** A connection over gRPC to one endpoint. */
export class CRIClient implements CRIConnection {
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

  get isConnected(): boolean {
    return this.#client.getChannel().getConnectivityState(false) === connectivityState.READY;
  }

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

  containerEvents(listener: StreamListener<CRIMessage<'ContainerEventResponse'>>): CRIStream {
    const { GetEventsRequest: requestCodec, ContainerEventResponse: responseCodec } = this.#codecs;
    const path = '/runtime.v1.RuntimeService/GetContainerEvents';
    return this.stream({ path, request: {}, requestCodec, responseCodec }, listener);
  }

  stream<Message extends object>(
    { path, request, requestCodec, responseCodec, headers = {} }: StreamCall,
    { onMessage, onEnd }: StreamListener<Message>,
  ): CRIStream {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    const stream = this.#client.makeServerStreamRequest<object, Message>(
      path,
      requestCodec.encode,
      (bytes) => responseCodec.decode(bytes) as Message,
      request,
      metadata,
    );
    let hasEnded = false;
    const end = (error?: ServiceError): void => {
      if (hasEnded) return;
      hasEnded = true;
      onEnd(error && new CRIError(error));
    };
    stream.on('data', onMessage).on('error', end).on('end', end);
    const cancel = (): void => {
      hasEnded = true;
      stream.cancel();
    };
    return { cancel };
  }

  close(): void {
    this.#client.close();
  }
}
