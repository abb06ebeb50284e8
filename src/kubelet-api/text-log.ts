import { Readable } from 'node:stream';
import type { ContainerLogOptions } from '../node/index.ts';
import { untilAborted } from '../shared/abort.ts';
import { boundedCall } from '../shared/deadline.ts';
import { requestTimeoutMs } from './bounded-streaming-runtime.ts';
import type { KubeletAPIContext } from './kubelet-api-context.ts';
import { fromRuntime } from './streaming.ts';

type Text = AsyncIterable<Uint8Array>;

/**
 * Resolves with the text of a log that the runtime streams, for `writeText`; undefined if the runtime has log files. When
 * the client is gone, it rejects, and a text that comes later is ended. @throws HTTPError
 */
export async function openText(
  { runtime, clock }: Pick<KubeletAPIContext, 'runtime' | 'clock'>,
  containerID: string,
  log: ContainerLogOptions & { readonly previous: boolean },
  signal: AbortSignal,
): Promise<Text | undefined> {
  const { streamContainerLog } = runtime;
  if (streamContainerLog === undefined) return undefined;
  const bounds = { clock, timeoutMs: requestTimeoutMs, signals: [signal] };
  const opening = boundedCall('streamContainerLog of the runtime', bounds, async (options) => {
    // The text goes on after this call, until the client is gone.
    const text = await streamContainerLog(containerID, log, { signal });
    if (options.signal.aborted) end(text);
    return text;
  });
  return fromRuntime(opening);
}

/** Writes a text, and ends it when enough is written or the client is gone, even if it yields nothing any more. */
export async function writeText(
  text: Text,
  { limitBytes = Number.POSITIVE_INFINITY }: ContainerLogOptions,
  signal: AbortSignal,
  write: (chunk: Buffer) => Promise<void>,
): Promise<void> {
  const chunks = text[Symbol.asyncIterator]();
  try {
    for (let left = limitBytes; left > 0;) {
      const { done, value } = await untilAborted(chunks.next(), signal);
      if (done === true) return;
      const chunk = Buffer.from(value).subarray(0, left);
      left -= chunk.length;
      await write(chunk);
    }
  } finally {
    end(text, chunks);
  }
}

/** A generator that waits for something else ends only after that. */
function end(text: Text, chunks = text[Symbol.asyncIterator]()): void {
  if (text instanceof Readable) text.destroy();
  else Promise.resolve(chunks.return?.()).catch(() => {});
}
