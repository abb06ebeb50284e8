import { CRIError } from '../../src/cri/cri-error.ts';
import type { CRIStream, StreamListener } from '../../src/cri/cri-connection.ts';

/** A stream whose messages and end a test decides. */
export class TestStream implements CRIStream {
  #listener: StreamListener<never> | undefined;

  /** For `containerEvents` and, with a call before the listener, for `stream` of a `CRIConnection`. */
  readonly open = (...parameters: readonly unknown[]): this => {
    this.#listener = parameters.at(-1) as StreamListener<never>;
    return this;
  };

  /** `error` with an error of grpc-js. */
  emit(type: 'data' | 'error' | 'end', value?: unknown): void {
    if (type === 'data') this.#listener!.onMessage(value as never);
    else this.#listener!.onEnd(type === 'error' ? new CRIError(value as never) : undefined);
  }

  cancel(): void {}
}
