import { context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { traceStatusManager } from '../../../examples/opentelemetry/trace-status-manager.ts';
import { SyncHarness, uidOf } from '../sync/sync-harness.ts';

const exporter = new InMemorySpanExporter();
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });

beforeAll(() => {
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  traceStatusManager();
});
beforeEach(() => exporter.reset());
afterAll(async () => {
  await provider.shutdown();
  context.disable();
  trace.disable();
});

/** Runs `work` in a span of its own, as code of an agent that handles a container event. */
function inSpan(name: string, work: () => void): Span {
  return trace.getTracer('agent').startActiveSpan(name, (span) => {
    work();
    span.end();
    return span;
  });
}

function spansNamed(name: string): ReadableSpan[] {
  return exporter.getFinishedSpans().filter((span) => span.name === name);
}

describe('the bridge of examples/opentelemetry, with the OpenTelemetry SDK', () => {
  it('shows a container event, the sync and its requests in one trace', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.manager.start();
    const event = inSpan('container started', () => h.set('a', '1'));
    await h.settle();
    const [sync] = spansNamed('sync pod status');
    expect(sync!.parentSpanContext?.spanId).toBe(event.spanContext().spanId);
    expect(sync!.attributes).toEqual({ 'k8s.pod.uid': uidOf('a'), version: 1, outcome: 'written' });
    const requests = [...spansNamed('get pod'), ...spansNamed('patch pod')];
    expect(requests.map((span) => span.parentSpanContext?.spanId)).toEqual([
      sync!.spanContext().spanId,
      sync!.spanContext().spanId,
    ]);
    const traces = new Set(exporter.getFinishedSpans().map((span) => span.spanContext().traceId));
    expect([...traces]).toEqual([event.spanContext().traceId]);
    await h.manager.stop();
  });

  it('links the other changes that one PATCH has written', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    const events = ['1', '2', '3'].map((message) => inSpan(`event ${message}`, () => h.set('a', message)));
    h.manager.start();
    await h.settle();
    const [sync] = spansNamed('sync pod status');
    expect(sync!.parentSpanContext?.spanId).toBe(events[0]!.spanContext().spanId);
    expect(sync!.links.map((link) => link.context.spanId)).toEqual(
      events.slice(1).map((span) => span.spanContext().spanId),
    );
    await h.manager.stop();
  });

  it('a failed request is an error in the trace, and its retry is in the same trace', async () => {
    const h = new SyncHarness();
    h.addPods('a');
    h.client.fail({ verb: 'patch' }, new APIError('500 InternalError', { kind: 'http', statusCode: 500 }), 1);
    h.manager.start();
    const event = inSpan('container started', () => h.set('a', '1'));
    await h.clock.advanceAsync(1_000);
    expect(spansNamed('patch pod').map(({ status }) => status)).toEqual([
      { code: SpanStatusCode.ERROR, message: 'APIError: 500 InternalError' },
      { code: SpanStatusCode.UNSET },
    ]);
    expect(spansNamed('sync pod status').map((span) => [span.attributes.outcome, span.spanContext().traceId])).toEqual([
      ['failed', event.spanContext().traceId],
      ['written', event.spanContext().traceId],
    ]);
    await h.manager.stop();
  });
});
