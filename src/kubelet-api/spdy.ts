import { Duplex } from 'node:stream';
import { createInflate } from 'node:zlib';
import type { IncomingMessage } from 'node:http';
import { HTTPError } from './http-error.ts';
import type { UpgradeRequest } from './streaming-proxy.ts';

/*
 * The server side of SPDY/3.1, limited to what Kubernetes' clients use: only the client opens streams, and there is no
 * flow control for a single stream. Source: moby/spdystream.
 */

/** Called with each stream that the client opens. Names of headers are in lower case. */
export type SPDYStreamListener = (headers: ReadonlyMap<string, string>, stream: Duplex) => void;

interface Frame {
  /** Of a control frame; undefined for data. */
  readonly type: number | undefined;
  readonly streamID: number;
  readonly isLast: boolean;
  readonly payload: Buffer;
}

/** Source: spdystream `ControlFrameType`. HEADERS is not used. */
const types = { synStream: 1, synReply: 2, rstStream: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 9 } as const;
/** Source: spdystream `RstStreamStatus`. */
const statuses = { refusedStream: 3, cancel: 5 } as const;
const maxDataBytes = 1024 * 1024;
/** Control frames with Kubernetes' headers have fewer than 200 bytes. */
const maxControlBytes = 1024;
/** Inflated, a frame may have 1 MiB of headers, which would take 10,000 times as long to read as to send. */
const maxHeaderBytes = 8 * 1024;
/** Divergence: the kubelet has no limit. */
const maxStreams = 1024;
/** The maximum delay between the first and the last of the streams that belong together. Source: cri-streaming `DefaultStreamCreationTimeout`. */
export const streamCreationTimeoutMs = 30_000;
/** The client is disconnected if it does not read more than this. */
const maxUnsentBytes = 64 * 1024 * 1024;
/** While more replies than this are unsent, no frame is read: a client may send requests without reading the replies. */
const maxUnsentReplies = 2 * maxStreams;

export function isSPDY({ headers }: IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'spdy/3.1';
}

/** Upgrades the connection. @throws HTTPError 403 if the client does not have the protocol. Source: streaming `Handshake` */
export function acceptSPDY({ request, socket, head }: UpgradeRequest, protocol: string): Duplex {
  const offered = String(request.headers['x-stream-protocol-version'] ?? '').split(',');
  if (!offered.some((name) => name.trim() === protocol))
    throw new HTTPError(403, `unable to upgrade: the protocol of the streams must be ${protocol}`);
  socket.unshift(head);
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n' +
      `X-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
  );
  return socket;
}

/**
 * Serves the streams of a connection. Resolves when the connection has ended and all streams are destroyed. Never rejects:
 * a client that violates the protocol is disconnected.
 */
export async function serveSPDY(connection: Duplex, onStream: SPDYStreamListener): Promise<void> {
  const streams = new SPDYStreams(connection, onStream);
  connection.on('error', () => {});
  // The loop below does not notice the end of the connection while a stream is full.
  connection.once('close', () => streams.destroy());
  try {
    for await (const frame of framesOf(connection)) await streams.handle(frame);
  } catch {
    // The client has disconnected or does not speak SPDY.
  }
  connection.destroy();
  streams.destroy();
}

class SPDYStreams {
  readonly #connection: Duplex;
  readonly #onStream: SPDYStreamListener;
  readonly #streams = new Map<number, Duplex>();
  readonly #headers = new HeaderReader();
  #hasReplied = false;
  #unsentReplies = 0;
  #onReplySent = (): void => {};
  /** The stream whose buffer is full, and the function that continues reading. */
  #full: { readonly stream: Duplex; readonly resume: () => void } | undefined;

  constructor(connection: Duplex, onStream: SPDYStreamListener) {
    this.#connection = connection;
    this.#onStream = onStream;
  }

  /** Resolves when the next frame may be read. Rejects for an invalid frame. */
  async handle({ type, streamID, isLast, payload }: Frame): Promise<void> {
    if (this.#connection.writableLength > maxUnsentBytes) throw new Error('The client does not read');
    if (this.#unsentReplies > maxUnsentReplies) await new Promise<void>((resume) => (this.#onReplySent = resume));
    if (this.#connection.destroyed) throw new Error('The client is gone');
    switch (type) {
      case undefined:
        return this.#receive(streamID, payload, isLast);
      case types.synStream:
        return this.#open(streamID, await this.#headers.read(payload.subarray(10)), isLast);
      case types.rstStream: {
        const stream = this.#streams.get(streamID);
        this.#streams.delete(streamID);
        return void stream?.destroy();
      }
      case types.ping:
        return this.#reply(controlFrame(types.ping, payload.subarray(0, 4)));
      case types.settings:
      case types.goAway:
      case types.windowUpdate:
        return;
      default:
        throw new Error(`A frame of the type ${type}`);
    }
  }

  destroy(): void {
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    for (const stream of streams) stream.destroy();
    this.#headers.close();
    this.#onReplySent();
  }

  #open(id: number, headers: ReadonlyMap<string, string>, isLast: boolean): void {
    if (this.#streams.has(id) || this.#streams.size >= maxStreams) return this.#reset(id, statuses.refusedStream);
    const stream: Duplex = new Duplex({
      // The end of the input must not end the output.
      autoDestroy: false,
      read: () => this.#resume(stream),
      write: (chunk: Buffer, _encoding, done) => this.#send(dataFrame(id, chunk), done),
      final: (done) => this.#send(dataFrame(id, Buffer.alloc(0), true), done),
      destroy: (error, done) => {
        this.#resume(stream);
        if (this.#streams.delete(id) && !isDone(stream)) this.#reset(id, statuses.cancel);
        done(error);
      },
    });
    const close = (): void => void (isDone(stream) && stream.destroy());
    stream
      .on('error', () => stream.destroy())
      .once('end', close)
      .once('finish', close);
    this.#streams.set(id, stream);
    this.#reply(controlFrame(types.synReply, uint32(id), this.#hasReplied ? noHeaders : firstHeaders));
    this.#hasReplied = true;
    this.#onStream(headers, stream);
    if (isLast) stream.push(null);
  }

  async #receive(id: number, payload: Buffer, isLast: boolean): Promise<void> {
    const stream = this.#streams.get(id);
    if (stream === undefined || stream.destroyed) return;
    const isFull = payload.length > 0 && !stream.push(payload);
    if (isLast) stream.push(null);
    else if (isFull && !stream.destroyed) await new Promise<void>((resume) => (this.#full = { stream, resume }));
  }

  #resume(stream: Duplex): void {
    if (this.#full?.stream === stream) this.#full.resume();
  }

  #reset(id: number, status: number): void {
    this.#reply(controlFrame(types.rstStream, uint32(id), uint32(status)));
  }

  #reply(frame: Buffer): void {
    this.#unsentReplies += 1;
    this.#send(frame, () => {
      this.#unsentReplies -= 1;
      this.#onReplySent();
    });
  }

  #send(frame: Buffer, done: (error?: Error | null) => void = () => {}): void {
    this.#connection.write(frame, done);
  }
}

function isDone({ readableEnded, writableFinished }: Duplex): boolean {
  return readableEnded && writableFinished;
}

async function* framesOf(connection: AsyncIterable<Buffer>): AsyncGenerator<Frame> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of connection) {
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    while (rest.length >= 8) {
      const isControl = rest[0]! >= 0x80;
      const length = rest.readUIntBE(5, 3);
      if (length > (isControl ? maxControlBytes : maxDataBytes)) throw new Error('The frame is too long');
      if (rest.length < 8 + length) break;
      const payload = rest.subarray(8, 8 + length);
      const id = isControl ? (length >= 4 ? payload.readUInt32BE(0) : 0) : rest.readUInt32BE(0);
      const type = isControl ? rest.readUInt16BE(2) : undefined;
      yield { type, streamID: id & 0x7fff_ffff, isLast: (rest[4]! & 1) === 1, payload };
      rest = rest.subarray(8 + length);
    }
  }
}

function dataFrame(id: number, payload: Buffer, isLast = false): Buffer {
  return Buffer.concat([uint32(id), uint32(payload.length + (isLast ? 0x100_0000 : 0)), payload]);
}

function controlFrame(type: number, ...payload: readonly Buffer[]): Buffer {
  const content = Buffer.concat(payload);
  return Buffer.concat([uint32(0x8003_0000 + type), uint32(content.length), content]);
}

function uint32(value: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32BE(value);
  return buffer;
}

/** Reads the headers of the streams, which a client sends as one compressed text. */
class HeaderReader {
  // Larger than the longest block of headers.
  readonly #inflate = createInflate({ dictionary: headerDictionary, ...{ readableHighWaterMark: 2 * 1024 * 1024 } });

  constructor() {
    this.#inflate.on('error', () => {});
  }

  /** Rejects if they are not valid. */
  async read(block: Buffer): Promise<ReadonlyMap<string, string>> {
    const inflate = this.#inflate;
    const text = await new Promise<Buffer>((resolve, reject) => {
      const refuse = (): void => reject(new Error('The headers are not valid'));
      inflate.once('close', refuse);
      inflate.write(block, () => {
        inflate.off('close', refuse);
        resolve((inflate.read() as Buffer | null) ?? Buffer.alloc(0));
      });
    });
    if (text.length > maxHeaderBytes) throw new Error('The headers are too long');
    let offset = 0;
    const next = (): number => text.readUInt32BE((offset += 4) - 4);
    const word = (): string => {
      const length = next();
      return text.toString('utf8', offset, (offset += length));
    };
    const headers = new Map<string, string>();
    for (let count = next(); count > 0; count--) headers.set(word().toLowerCase(), word());
    return headers;
  }

  close(): void {
    this.#inflate.destroy();
  }
}

/** No headers, as a block of zlib that is not compressed, and an empty one, at which Go's reader stops. */
const noHeaders = Buffer.from('000400fbff00000000000000ffff', 'hex');
/** The first one of a connection names the dictionary by its checksum. */
const firstHeaders = Buffer.concat([Buffer.from('78bbe3c6a7c2', 'hex'), noHeaders]);

/** With their lengths, the first part of the dictionary with which SPDY/3 compresses headers. */
const dictionaryWords =
  'options,head,post,put,delete,trace,accept,accept-charset,accept-encoding,accept-language,accept-ranges,age,allow,' +
  'authorization,cache-control,connection,content-base,content-encoding,content-language,content-length,' +
  'content-location,content-md5,content-range,content-type,date,etag,expect,expires,from,host,if-match,' +
  'if-modified-since,if-none-match,if-range,if-unmodified-since,last-modified,location,max-forwards,pragma,' +
  'proxy-authenticate,proxy-authorization,range,referer,retry-after,server,te,trailer,transfer-encoding,upgrade,' +
  'user-agent,vary,via,warning,www-authenticate,method,get,status,200 OK,version,HTTP/1.1,url,public,set-cookie,' +
  'keep-alive,origin';
const dictionaryText =
  '100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative ' +
  'Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 Internal ' +
  'Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 ' +
  'Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,' +
  'application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8' +
  'charset=iso-8859-1,utf-,*,enq=0.';
/** Source: spdystream `headerDictionary`. */
export const headerDictionary = Buffer.concat([
  ...dictionaryWords.split(',').flatMap((word) => [uint32(word.length), Buffer.from(word)]),
  Buffer.from(dictionaryText),
]);
