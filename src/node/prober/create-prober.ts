import { type Clock, systemClock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import { probeTypes } from '../probes/probe-types.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';
import { runProbe } from './probe-handlers.ts';
import { type ProbeOutcome, type Prober, UnfinishedProbeError } from './prober.ts';
import { podFieldsOf } from '../../kube/pods/pod-log-fields.ts';

/** Options of `createProber`. */
export interface ProberOptions {
  /** Runs the commands of exec probes. */
  readonly runtime: Pick<ContainerRuntime, 'execSync'>;
  /** Receives the events `Unhealthy`, for each failed probe, and `ProbeWarning`. Default: they are logged at `debug`. */
  readonly recorder?: EventRecorder | undefined;
  /** Used without a `recorder`. Default: none. */
  readonly logger?: Pick<Logger, 'debug'> | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
}

const attempts = 3;
/**
 * Runs probes as the kubelet does: `exec` through the runtime, `httpGet`, `tcpSocket`, and `grpc` if
 * the package `@grpc/grpc-js` is installed, each within its `timeoutSeconds` (default 1). A probe that
 * cannot be run is tried three times; then `probe` rejects, and the previous result stays.
 * `httpGet.protocol` and `grpc.mode` have no effect, as their feature gates are off by default.
 * Source: kubelet `newProber`, `prober.probe`.
 */
export function createProber({ runtime, recorder, logger, clock = systemClock }: ProberOptions): Prober {
  return {
    async probe(request, signal) {
      const { probeType, pod, container } = request;
      const { name } = probeTypes[probeType];
      const record = (reason: string, message: string): void => {
        if (signal.aborted) return;
        if (recorder !== undefined) {
          return recorder.event({ pod, container: container.name, type: 'Warning', reason, message });
        }
        logger?.debug({ ...podFieldsOf(pod), container: container.name, reason: message }, 'A probe failed');
      };
      let outcome: ProbeOutcome;
      try {
        outcome = await withRetries(() => runProbe({ request, runtime, clock, signal }), signal);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        const state = error instanceof UnfinishedProbeError ? 'failure' : 'unknown';
        record('Unhealthy', `${name} probe errored and resulted in ${state} state: ${reason}`);
        throw error;
      }
      const { result, output } = outcome;
      if (result === 'failure') record('Unhealthy', `${name} probe failed: ${output}`);
      if (result === 'warning') record('ProbeWarning', `${name} probe warning: ${output}`);
      return result === 'failure' ? 'failure' : 'success';
    },
  };
}

/** Source: kubelet `runProbeWithRetries`. */
async function withRetries(run: () => Promise<ProbeOutcome>, signal: AbortSignal): Promise<ProbeOutcome> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await run();
    } catch (error) {
      if (attempt === attempts || signal.aborted) throw error;
    }
  }
}
