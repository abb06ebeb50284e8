import { refuseOption } from '../../shared/errors.ts';
import { aFunction, duration, requireOptions, unchecked } from '../../shared/option-checks.ts';
import type { Timer } from '../../shared/clock.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import { withDeadline } from '../../shared/deadline.ts';
import { FailureLog } from '../../shared/failure-log.ts';
import { reasonOf } from '../../shared/logger.ts';
import { decodePods } from './decode-manifest.ts';
import {
  maxManifestBytes,
  type ManifestSourceOptions,
  type PodSink,
  type PodSource,
  podSource,
  type PodSourceContext,
  type RefusedManifest,
} from './pod-source.ts';

/** Options of `httpSource`. */
export interface HTTPSourceOptions extends ManifestSourceOptions {
  /** URL of a Pod or a PodList: http or https, without user and password. */
  readonly url: string;
  /** Headers that are sent with each request. Never logged. */
  readonly header?: Readonly<Record<string, string>> | undefined;
  /** Milliseconds from the end of a request to the next one. Default: 20,000. */
  readonly httpCheckFrequencyMs?: number | undefined;
}

const requestTimeoutMs = 10_000;

/**
 * Static pods from a URL that is polled. While requests fail or responses are invalid, the pods stay
 * as they are. An empty response means that there are no pods. Source: kubelet `sourceURL`.
 *
 * Divergence: a body that is served again after an empty one brings its pods back. The kubelet skips a
 * body that it has read before, so the pods stay away until the body changes.
 *
 * @throws StatusManagerError INVALID_OPTION
 *
 * @example
 * ```ts
 * import { createNodeAgent, httpSource } from 'kubelet-status-manager/agent';
 *
 * const sources = [httpSource({ url: 'https://config.example.com/pods.json' })];
 * const agent = createNodeAgent({ nodeName: 'node-a', client, runtime, sources });
 * ```
 */
export function httpSource(options: HTTPSourceOptions): PodSource {
  requireOptions(options, {
    url: unchecked,
    header: unchecked,
    parse: aFunction,
    httpCheckFrequencyMs: duration,
  });
  const { url, header } = options;
  const isUsable = URL.canParse(url) && /^https?:\/\/[^@/]+\//.test(new URL(url).href);
  if (!isUsable) refuseOption('url', 'an http or https URL without user and password');
  try {
    void new Headers(header);
  } catch {
    refuseOption('header', 'valid HTTP header names and values');
  }
  return podSource('http', (sink, context) => new HTTPSource(options, sink, context));
}

class HTTPSource {
  readonly #options: HTTPSourceOptions;
  readonly #sink: PodSink;
  readonly #context: PodSourceContext;
  readonly #failures: FailureLog;
  readonly #stopped = new AbortController();
  #timer: Timer | undefined;
  #polling: Promise<void> = Promise.resolve();
  /** The last valid response; an identical one is not decoded again. */
  #lastText: string | undefined;
  #refused: RefusedManifest | undefined;

  constructor(options: HTTPSourceOptions, sink: PodSink, context: PodSourceContext) {
    this.#options = options;
    this.#sink = sink;
    this.#context = context;
    this.#failures = new FailureLog({
      logger: context.logger,
      clock: context.clock,
      what: 'Reading pods from the URL',
    });
    this.#poll();
  }

  /** Also aborts a request in flight. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    this.#timer?.stop();
    await this.#polling;
  }

  refusedManifests(): RefusedManifest[] {
    return this.#refused === undefined ? [] : [this.#refused];
  }

  #poll(): void {
    const { httpCheckFrequencyMs = 20_000 } = this.#options;
    const { signal } = this.#stopped;
    this.#polling = this.#read().then(
      () => this.#failures.succeeded(),
      (thrown: unknown) => {
        if (!signal.aborted) this.#failures.failed(thrown);
      },
    );
    void this.#polling.then(() => {
      if (!signal.aborted) this.#timer = this.#context.clock.afterFunc(httpCheckFrequencyMs, () => this.#poll());
    });
  }

  /** Source: kubelet `extractFromURL`. */
  async #read(): Promise<void> {
    const { url, parse = JSON.parse } = this.#options;
    const { nodeName } = this.#context;
    const text = await this.#get();
    if (this.#stopped.signal.aborted) return;
    if (text === '') {
      this.#lastText = undefined;
      this.#sink([]);
      throw new Error('Received no data');
    }
    if (text === this.#lastText) return;
    try {
      this.#sink(decodePods(text, parse, { source: url, isFile: false, nodeName }));
    } catch (thrown) {
      this.#refuse(reasonOf(thrown));
      throw thrown;
    }
    // Only a valid response is remembered, so that an invalid one is reported at each poll.
    this.#lastText = text;
    this.#refused = undefined;
  }

  #refuse(reason: string): void {
    const { url } = this.#options;
    // A query can contain a token.
    const source = url.replace(/[?#].*/s, '');
    const since = this.#refused?.reason === reason ? this.#refused.since : timeFromEpochMs(this.#context.clock.now());
    this.#refused = { source, reason, since };
  }

  #get(): Promise<string> {
    const { url, header } = this.#options;
    return withDeadline(this.#context.clock, requestTimeoutMs, this.#stopped.signal, async (deadline) => {
      try {
        const response = await fetch(url, { signal: deadline.signal, ...(header && { headers: header }) });
        if (response.status === 200) return await textOf(response);
        await response.body?.cancel();
        throw new Error(`The response has status ${response.status}`);
      } catch (thrown) {
        if (deadline.isExceeded) throw new Error(`No response within ${requestTimeoutMs / 1000} s`, { cause: thrown });
        // fetch reports every failure as "fetch failed"; the code of the cause says what happened.
        const { code } = ((thrown as Error).cause ?? {}) as NodeJS.ErrnoException;
        throw code === undefined ? thrown : new Error(`The request failed: ${code}`, { cause: thrown });
      }
    });
  }
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    length += chunk.byteLength;
    if (length > maxManifestBytes) throw new Error(`The response is longer than ${maxManifestBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
