import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { constants, gzip } from 'node:zlib';
import type { Clock } from '../../shared/clock.ts';
import type { Content } from './responder.ts';

const compress = promisify(gzip);

/** A value as JSON. The ETag is weak because the plain and the compressed response share it. */
export function jsonContent(value: unknown): Content {
  const body = Buffer.from(JSON.stringify(value));
  return { type: 'application/json', body, etag: etagOf(body) };
}

export function etagOf(body: Buffer): string {
  return `W/"${createHash('sha256').update(body).digest('base64url')}"`;
}

interface Rendered {
  readonly content: Content;
  readonly atMs: number;
  compressed?: Promise<Content>;
}

/** A document that is rendered on request, at most once in each interval for all clients. */
export class RenderedJSON {
  readonly #clock: Clock;
  readonly #intervalMs: number;
  readonly #read: () => object;
  #rendered: Rendered | undefined;

  constructor(clock: Clock, intervalMs: number, read: () => object) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#read = read;
  }

  get plain(): Content {
    return this.#current().content;
  }

  /** Compressed once, outside of the event loop. */
  get compressed(): Promise<Content> {
    const rendered = this.#current();
    rendered.compressed ??= compressContent(rendered.content);
    return rendered.compressed;
  }

  clear(): void {
    this.#rendered = undefined;
  }

  #current(): Rendered {
    const nowMs = this.#clock.monotonicMs();
    if (this.#rendered === undefined || nowMs - this.#rendered.atMs >= this.#intervalMs) {
      const content = jsonContent(this.#read());
      // An unchanged document keeps its compressed form.
      const { compressed } = this.#rendered?.content.etag === content.etag ? this.#rendered : {};
      this.#rendered = { content, atMs: nowMs, ...(compressed && { compressed }) };
    }
    return this.#rendered;
  }
}

async function compressContent(content: Content): Promise<Content> {
  return {
    ...content,
    body: await compress(content.body, { level: constants.Z_BEST_SPEED }),
    encoding: 'gzip',
  };
}
