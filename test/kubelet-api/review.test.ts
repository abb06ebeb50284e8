import { setMaxListeners } from 'node:events';
import { FakeClock, recordingLogger } from 'kubelet-status-manager/testing';
import { expect, it } from 'vitest';
import type { APIRequests } from '../../src/kube/client/api-requests.ts';
import { createReview, type ReviewOptions } from '../../src/kubelet-api/review.ts';
import { linesAtInfo } from '../support/log-lines.ts';

/** An API server whose responses the test gives. */
class Requests implements APIRequests {
  readonly sent: {
    method: string;
    path: string;
    body: unknown;
    respond(review: object): void;
    fail(error: Error): void;
  }[] = [];

  request(
    method: string,
    path: string,
    { body, signal }: { readonly body?: unknown; readonly signal?: AbortSignal | undefined } = {},
  ): Promise<{ json(): unknown }> {
    return new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(new Error('aborted')));
      this.sent.push({ method, path, body, respond: (review) => resolve({ json: () => review }), fail: reject });
    });
  }
}

function reviewWith(options: Partial<ReviewOptions> = {}) {
  const [clock, logger, requests] = [new FakeClock(), recordingLogger(), new Requests()];
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const review = createReview(
    { resource: 'tokenreviews', what: 'Reviewing a token' },
    { ...{ clock, logger, requests, signal, metrics: undefined }, ...options },
  );
  return { review: (name = 'a') => review('/reviews', { name }, false), clock, logger, requests };
}

it('creates the review, and resolves with what the API server has made of it', async () => {
  const { review, requests, clock } = reviewWith();
  const reviewed = review();
  await expect.poll(() => requests.sent.length).toBe(1);
  expect(requests.sent).toMatchObject([{ method: 'POST', path: '/reviews', body: { name: 'a' } }]);
  requests.sent[0]!.respond({ status: { allowed: true } });
  expect(await reviewed).toEqual({ status: { allowed: true } });
  expect(clock.pendingTimers).toBe(0);
});

it('a review that takes 10 s fails, and so does one in progress when the server is closed', async () => {
  const { review, requests, clock } = reviewWith();
  const late = review();
  await expect.poll(() => requests.sent.length).toBe(1);
  const failed = late.catch((error: Error) => error.message);
  clock.advance(9999);
  expect(clock.pendingTimers).toBe(1);
  clock.advance(1);
  expect(await failed).toBe('aborted');

  const closing = new AbortController();
  const other = reviewWith({ signal: closing.signal });
  const reviewed = other.review().catch((error: Error) => error.message);
  await expect.poll(() => other.requests.sent.length).toBe(1);
  closing.abort();
  expect(await reviewed).toBe('aborted');
});

it('eight are in flight; each that ends, however it ends, makes room for the next', async () => {
  const { review, requests } = reviewWith();
  const all = Array.from({ length: 10 }, (_, i) => review(`${i}`).catch((error: Error) => error.message));
  await expect.poll(() => requests.sent.length).toBe(8);
  requests.sent[0]!.respond({});
  await expect.poll(() => requests.sent.length).toBe(9);
  requests.sent[1]!.fail(new Error('refused'));
  await expect.poll(() => requests.sent.length).toBe(10);
  for (const { respond } of requests.sent) respond({});
  expect(await Promise.all(all)).toEqual([{}, 'refused', ...Array.from({ length: 8 }, () => ({}))]);
});

it('when 72 are pending, another gets 429 at once; when they have failed, it does not', async () => {
  const { review, requests, logger } = reviewWith();
  const pending = Array.from({ length: 72 }, (_, i) => review(`${i}`).catch((error: Error) => error.message));
  await expect(review()).rejects.toMatchObject({
    statusCode: 429,
    message: 'Too many requests: reviews by the API server are pending',
  });
  expect(logger.warnings).toMatchObject([
    {
      message: 'Too many reviews for the kubelet API: requests get 429',
      fields: { resource: 'tokenreviews', maxPending: 72 },
    },
  ]);
  for (let i = 0; i < 72; i++) {
    await expect.poll(() => requests.sent.length).toBeGreaterThan(i);
    requests.sent[i]!.fail(new Error('refused'));
  }
  expect(new Set(await Promise.all(pending))).toEqual(new Set(['refused']));
  const last = review();
  await expect.poll(() => requests.sent.length).toBe(73);
  requests.sent[72]!.respond({});
  expect(await last).toEqual({});
});

it('failures and their end are logged once', async () => {
  const { review, requests, logger } = reviewWith();
  for (const [i, response] of [undefined, undefined, {}, {}].entries()) {
    const reviewed = review().catch(() => {});
    await expect.poll(() => requests.sent.length).toBe(i + 1);
    if (response === undefined) requests.sent[i]!.fail(new Error('refused'));
    else requests.sent[i]!.respond(response);
    await reviewed;
  }
  expect(linesAtInfo(logger)).toMatchObject([
    { message: 'Reviewing a token failed', fields: { reason: 'refused' } },
    { message: 'Reviewing a token succeeded again', fields: { failures: 2 } },
  ]);
});

it('metrics that throw do not change what the request gets', async () => {
  const recordKubeletMetric = (): never => {
    throw new Error('no metrics');
  };
  const { review, logger } = reviewWith({ metrics: { recordKubeletMetric } as unknown as ReviewOptions['metrics'] });
  for (let i = 0; i < 72; i++) void review(`${i}`);
  await expect(review()).rejects.toMatchObject({ statusCode: 429 });
  expect(logger.errors).toMatchObject([
    { message: 'User callback threw', fields: { reason: 'no metrics', method: 'metrics.recordKubeletMetric' } },
  ]);
});

it('without an API server, every review fails', async () => {
  await expect(reviewWith({ requests: undefined }).review()).rejects.toThrow(TypeError);
});
