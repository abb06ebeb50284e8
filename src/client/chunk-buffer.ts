const minCapacityBytes = 16 * 1024;

/**
 * The bytes of chunks that arrived one after the other. Chunks are copied together instead of being
 * kept in a list: a server that sends one byte at a time would otherwise take a hundred times the
 * memory, because each chunk is an object of its own and keeps the socket's read buffer alive.
 */
export class ChunkBuffer {
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;
  /** A single chunk is used as it is; from the second one on, the bytes are in a buffer of our own. */
  #isOwn = false;

  get length(): number {
    return this.#length;
  }

  add(chunk: Uint8Array): void {
    if (this.#length === 0) this.#bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    else this.#append(chunk);
    this.#length += chunk.length;
  }

  /** The collected bytes; empties the buffer. */
  take(): Buffer {
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    this.#isOwn = false;
    return bytes;
  }

  #append(chunk: Uint8Array): void {
    const length = this.#length + chunk.length;
    if (!this.#isOwn || length > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(minCapacityBytes, 2 * this.#length, length));
      grown.set(this.#bytes.subarray(0, this.#length));
      this.#bytes = grown;
      this.#isOwn = true;
    }
    this.#bytes.set(chunk, this.#length);
  }
}
