import { channel, tracingChannel } from 'node:diagnostics_channel';
import { type Context, context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import { type RequestMessage, type SyncMessage, tracingChannelNames } from 'kubelet-status-manager';

export function traceStatusManager(): void {
  const tracer = trace.getTracer('kubelet-status-manager');
  const contexts = new WeakMap<object, Context>();
  const spans = new WeakMap<object, Span>();
  const end = (message: object): void => spans.get(message)?.end();
  const ignore = (): void => {};
  channel(tracingChannelNames.accepted).subscribe((message) => contexts.set(message as object, context.active()));
  tracingChannel<string, SyncMessage>(tracingChannelNames.sync).subscribe({
    start(sync) {
      const parent = contexts.get(sync.accepted[0] ?? sync);
      const span = tracer.startSpan('sync pod status', { attributes: { 'k8s.pod.uid': sync.podUID } }, parent);
      spans.set(sync, span);
      contexts.set(sync, trace.setSpan(parent ?? context.active(), span));
    },
    asyncEnd(sync) {
      const linked = sync.accepted.slice(1).map((accepted) => trace.getSpan(contexts.get(accepted)!));
      for (const other of linked) if (other) spans.get(sync)?.addLink({ context: other.spanContext() });
      spans.get(sync)?.setAttributes({ version: sync.version ?? 0, outcome: sync.outcome ?? 'unknown' });
      end(sync);
    },
    ...{ end: ignore, asyncStart: ignore, error: ignore },
  });
  tracingChannel<string, RequestMessage>(tracingChannelNames.request).subscribe({
    start(request) {
      const attributes = { 'k8s.pod.name': request.podName, 'k8s.namespace.name': request.podNamespace };
      const parent = request.sync && contexts.get(request.sync);
      spans.set(request, tracer.startSpan(`${request.verb} pod`, { attributes }, parent));
    },
    error: (message) => spans.get(message)?.setStatus({ code: SpanStatusCode.ERROR, message: String(message.error) }),
    asyncEnd: end,
    ...{ end: ignore, asyncStart: ignore },
  });
}
