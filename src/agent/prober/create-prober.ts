import { type Clock, systemClock } from '../../shared/clock.ts';
import type { Logger } from '../../shared/logger.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';
import { resolveContainerPort } from './container-port.ts';
import { probeExec } from './exec-probe.ts';
import { expandCommand } from './expand-command.ts';
import { probeGRPC } from './grpc-probe.ts';
import { probeHTTP } from './http-probe.ts';
import { httpProbeRequest } from './http-probe-request.ts';
import type { ProbeOutcome } from './probe-outcome.ts';
import type { ProbeType } from './probe-results.ts';
import type { ProbeRequest, Prober } from './prober.ts';
import { probeTCP } from './tcp-probe.ts';
import { podFields } from '../log-fields.ts';

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
/** The API server's default, which a static pod may lack. */
const defaultTimeoutSeconds = 1;

const nameOf: Readonly<Record<ProbeType, string>> = {
  startup: 'Startup',
  readiness: 'Readiness',
  liveness: 'Liveness',
};

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
      const record = (reason: string, message: string): void => {
        if (signal.aborted) return;
        if (recorder !== undefined) {
          return recorder.event({ pod, container: container.name, type: 'Warning', reason, message });
        }
        logger?.debug({ ...podFields(pod), container: container.name, reason: message }, 'A probe failed');
      };
      let outcome: ProbeOutcome;
      try {
        outcome = await withRetries(() => runProbe(request, runtime, clock, signal), signal);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        record('Unhealthy', `${nameOf[probeType]} probe errored and resulted in unknown state: ${reason}`);
        throw error;
      }
      const { result, output } = outcome;
      if (result === 'failure') record('Unhealthy', `${nameOf[probeType]} probe failed: ${output}`);
      if (result === 'warning') record('ProbeWarning', `${nameOf[probeType]} probe warning: ${output}`);
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

/** Source: kubelet `runProbe`. */
async function runProbe(
  { probe, pod, status, container, containerID }: ProbeRequest,
  runtime: Pick<ContainerRuntime, 'execSync'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const timeoutMs = (probe.timeoutSeconds || defaultTimeoutSeconds) * 1000;
  const podIP = status.podIP ?? '';
  const { exec, httpGet, tcpSocket, grpc } = probe;
  if (exec != null) {
    const command = expandCommand(exec.command ?? [], container.env);
    return probeExec({ containerID, command, timeoutMs }, runtime, clock, signal);
  }
  if (httpGet != null) return probeHTTP(httpProbeRequest(httpGet, container, podIP), timeoutMs, clock, signal);
  if (tcpSocket != null) {
    const port = resolveContainerPort(tcpSocket.port, container);
    return probeTCP({ host: tcpSocket.host || podIP, port, timeoutMs }, clock, signal);
  }
  if (grpc != null) {
    return probeGRPC({ host: podIP, port: grpc.port, service: grpc.service ?? '', timeoutMs }, clock, signal);
  }
  throw new Error(`missing probe handler for ${pod.metadata?.namespace}/${pod.metadata?.name}:${container.name}`);
}
