import { Writable } from 'node:stream';

/** Keeps the beginning of what is written, and drops the rest. Errors, such as a write after the end, have no effect. */
export class LimitedOutput extends Writable {
  readonly #maxBytes: number;
  readonly #chunks: Buffer[] = [];
  #keptBytes = 0;

  constructor(maxBytes: number) {
    super();
    this.#maxBytes = maxBytes;
    this.on('error', () => {});
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    const kept = chunk.subarray(0, this.#maxBytes - this.#keptBytes);
    // A copy: a part of a chunk would hold all of it.
    if (kept.length > 0) this.#chunks.push(Buffer.from(kept));
    this.#keptBytes += kept.length;
    done();
  }
}
