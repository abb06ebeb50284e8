import type { Clock } from '../../shared/clock.ts';
import type { Probe } from '../../kube/objects/types.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';
import { resolveContainerPort } from './container-port.ts';
import { expandCommand, probeExec } from './exec-probe.ts';
import { probeGRPC } from './grpc-probe.ts';
import { httpProbeRequest } from './http-probe-request.ts';
import { probeHTTP } from './http-probe.ts';
import { defaultTimeoutSeconds, type ProbeOutcome, type ProbeRequest } from './prober.ts';
import { probeTCP } from './tcp-probe.ts';

/** One attempt of a probe. */
export interface ProbeAttempt {
  readonly request: ProbeRequest;
  readonly runtime: Pick<ContainerRuntime, 'execSync'>;
  readonly clock: Clock;
  /** Aborted when the result is no longer needed. */
  readonly signal: AbortSignal;
}

/** The fields of a probe that are handlers: their values are objects. The others are settings. */
type ProbeHandlerName = {
  [Name in keyof Probe]-?: NonNullable<Probe[Name]> extends object ? Name : never;
}[keyof Probe];

/** Rejects if the probe could not be run. */
type RunProbe<Name extends ProbeHandlerName> = (
  handler: NonNullable<Probe[Name]>,
  attempt: ProbeAttempt,
) => Promise<ProbeOutcome>;

/** How each handler of a probe is run. A handler without a row does not compile. */
const probeHandlers: { readonly [Name in ProbeHandlerName]: RunProbe<Name> } = {
  async exec({ command = [] }, { request, runtime, clock, signal }) {
    const { container, containerID } = request;
    const expanded = expandCommand(command, container.env);
    return probeExec({ containerID, command: expanded, timeoutMs: timeoutMsOf(request) }, runtime, clock, signal);
  },
  async httpGet(action, { request, clock, signal }) {
    const httpRequest = httpProbeRequest(action, request.container, action.host || podIPOf(request));
    return probeHTTP(httpRequest, timeoutMsOf(request), clock, signal);
  },
  async tcpSocket(action, { request, clock, signal }) {
    const port = resolveContainerPort(action.port, request.container);
    return probeTCP({ host: action.host || podIPOf(request), port, timeoutMs: timeoutMsOf(request) }, clock, signal);
  },
  async grpc({ port, service }, { request, clock, signal }) {
    const target = { host: podIPOf(request), port, service: service ?? '', timeoutMs: timeoutMsOf(request) };
    return probeGRPC(target, clock, signal);
  },
};

/** Runs the first handler that the probe has; rejects if it has none. Source: kubelet `runProbe`. */
export async function runProbe(attempt: ProbeAttempt): Promise<ProbeOutcome> {
  for (const name of Object.keys(probeHandlers) as ProbeHandlerName[]) {
    const outcome = runHandler(name, attempt.request.probe, attempt);
    if (outcome !== undefined) return outcome;
  }
  const { pod, container } = attempt.request;
  throw new Error(`missing probe handler for ${pod.metadata.namespace}/${pod.metadata.name}:${container.name}`);
}

function runHandler<Name extends ProbeHandlerName>(
  name: Name,
  { [name]: handler }: Pick<Probe, Name>,
  attempt: ProbeAttempt,
): Promise<ProbeOutcome> | undefined {
  return handler == null ? undefined : probeHandlers[name](handler, attempt);
}

function timeoutMsOf({ probe }: ProbeRequest): number {
  return (probe.timeoutSeconds || defaultTimeoutSeconds) * 1000;
}

/**
 * @throws Error
 *
 * Divergence: the kubelet connects to its own machine if the pod has no address.
 */
function podIPOf({ status }: ProbeRequest): string {
  if (!status.podIP) throw new Error('the pod has no IP address');
  return status.podIP;
}
