import { Readable } from 'node:stream';
import type { ContainerLogOptions } from '../node/index.ts';
import { untilAborted } from '../shared/abort.ts';
import { boundedCall } from '../shared/deadline.ts';
import { requestTimeoutMs } from './bounded-streaming-runtime.ts';
import type { KubeletAPIContext } from './kubelet-api-context.ts';
import { fromRuntime } from './streaming.ts';

type Text = AsyncIterable<Uint8Array>;

/**
 * Resolves with the text of a log that the runtime streams, for `writeText`; undefined if the runtime has log files. Rejects
 * when the client has disconnected; a text that the runtime returns later is then ended. @throws HTTPError
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
    // The text continues after this call, until the client disconnects.
    const text = await streamContainerLog(containerID, log, { signal });
    if (options.signal.aborted) end(text);
    return text;
  });
  return fromRuntime(opening);
}

/** Writes a text. Ends it after `limitBytes`, and when the client disconnects, even if it never yields again. */
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

/** A generator ends only at its next `yield`, so nothing waits for it. */
function end(text: Text, chunks = text[Symbol.asyncIterator]()): void {
  if (text instanceof Readable) text.destroy();
  else Promise.resolve(chunks.return?.()).catch(() => {});
}
