const minCapacityBytes = 16 * 1024;
const noBytes: Buffer = Buffer.alloc(0);

/**
 * The bytes of chunks that arrived one after the other. Chunks are copied together instead of being
 * kept in a list: a server that sends one byte at a time would otherwise take a hundred times the
 * memory, because each chunk is an object of its own and keeps the socket's read buffer alive.
 */
export class ChunkBuffer {
  /** A single chunk is used without a copy. A second one allocates a buffer with spare capacity. */
  #bytes = noBytes;
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (this.#length === 0) this.#bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    else {
      if (length > this.#bytes.length)
        this.#bytes = Buffer.concat([this.#bytes], Math.max(minCapacityBytes, 2 * this.#length, length));
      this.#bytes.set(chunk, this.#length);
    }
    this.#length = length;
  }

  /** The collected bytes; empties the buffer. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = noBytes;
    this.#length = 0;
    return bytes;
  }
}
