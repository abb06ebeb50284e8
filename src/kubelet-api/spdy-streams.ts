import { type Duplex, PassThrough } from 'node:stream';
import type { ContainerIO, StreamOptions, TerminalSize } from '../node/index.ts';
import type { Clock } from '../shared/clock.ts';
import { acceptSPDY, serveSPDY, streamCreationTimeoutMs } from './spdy.ts';
import { sizeOf, statusOfRun, type StreamedCommand } from './streamed-command.ts';
import { closeWriteAndWait, type UpgradeRequest } from './streaming-proxy.ts';

/** Source: apimachinery `StreamProtocolV4Name`. */
const protocol = 'v4.channel.k8s.io';
const maxSizeBytes = 1024;

/**
 * Runs a command over streams of SPDY/3.1, which API servers before 1.36 use. Resolves when the connection has ended. It is
 * ended after 30 s if the client has not opened all streams. Rejects with an `HTTPError` for another
 * protocol. Source: cri-streaming `createHTTPStreamStreams`.
 *
 * Divergence: no protocols before `v4.channel.k8s.io`.
 */
export async function serveSPDYCommand(
  clock: Pick<Clock, 'afterFunc'>,
  upgrade: UpgradeRequest,
  { streams, requested, signal, run }: StreamedCommand & { readonly requested: StreamOptions },
): Promise<void> {
  const missing = new Set(['error', ...typesOf(requested)]);
  const opened = new Map<string, Duplex>();
  const connection = acceptSPDY(upgrade, protocol);
  const timer = clock.afterFunc(streamCreationTimeoutMs, () => connection.destroy());
  const start = async (): Promise<void> => {
    timer.stop();
    const io = ioOf(opened, streams);
    const status = await statusOfRun(run(io, signal));
    for (const output of [io.stdout, io.stderr]) output?.end();
    opened.get('error')!.end(JSON.stringify(status), () => closeWriteAndWait(clock, upgrade.socket));
    // Unread input would keep the end of the connection from being read.
    opened.get('stdin')?.unpipe().resume();
  };
  await serveSPDY(connection, (headers, stream) => {
    const type = headers.get('streamtype') ?? '';
    if (!missing.delete(type)) return void stream.destroy();
    opened.set(type, stream);
    return missing.size === 0 ? void start() : undefined;
  });
  timer.stop();
}

function typesOf({ stdin, stdout, stderr, tty }: StreamOptions): string[] {
  return Object.entries({ stdin, stdout, stderr, resize: tty }).flatMap(([type, isWanted]) => (isWanted ? type : []));
}

function ioOf(opened: ReadonlyMap<string, Duplex>, { stdin, stdout, stderr, tty }: StreamOptions): ContainerIO {
  const input = stdin ? new PassThrough() : undefined;
  for (const [type, stream] of opened) if (type !== 'stdin') stream.resume();
  if (input !== undefined) {
    const sent = opened.get('stdin')!;
    sent.pipe(input).on('error', () => {});
    // The end of the connection is the end of the input.
    sent.once('close', () => input.end());
  }
  return {
    tty,
    stdin: input,
    stdout: stdout ? opened.get('stdout') : undefined,
    stderr: stderr ? opened.get('stderr') : undefined,
    onResize: (listener) => void opened.get('resize')?.on('data', sizeReader(listener)),
  };
}

/** Each line is a size. */
function sizeReader(listener: (size: TerminalSize) => void): (chunk: Buffer) => void {
  let text = '';
  return (chunk) => {
    const lines = (text + chunk.toString()).split('\n');
    text = lines.pop()!.slice(0, maxSizeBytes);
    for (const size of lines.map(sizeOf)) if (size !== undefined) listener(size);
  };
}
