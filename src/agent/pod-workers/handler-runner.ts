import type { Clock } from '../../shared/clock.ts';
import type { Container, HTTPGetAction, LifecycleHandler, Pod } from '../../kube/types.ts';
import { type ContainerRuntime, noTimeoutMs } from '../runtime/container-runtime.ts';
import { httpProbeRequest, lifecycleUserAgent, urlOf } from '../prober/http-probe-request.ts';
import { type HookHTTPRequest, isHTTPResponseError, sendHTTPHook } from './http-hook.ts';
import { noPodEvents, type PodEventRecorder } from '../events/event-recorder.ts';
import { messageOf } from './sync-result.ts';

/** A hook of a container to run. */
export interface HandlerRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly containerID: string;
  /** The host for HTTP hooks that have none; undefined if the pod has no IP address. */
  readonly podIP: string | undefined;
  readonly handler: LifecycleHandler;
}

/** Runs postStart and preStop hooks. Source: kubelet `HandlerRunner`. */
export interface HandlerRunner {
  /** Resolves when the hook has succeeded. If it rejects, the error message is shown in the pod's status. */
  run(request: HandlerRequest, signal: AbortSignal): Promise<void>;
}

/** Options of `HandlerRunner`. */
export interface HandlerRunnerOptions {
  readonly runtime: Pick<ContainerRuntime, 'execSync'>;
  readonly clock: Pick<Clock, 'afterFunc'>;
  /** Resolves with any response, whatever its status. Default: a request that does not verify certificates. */
  readonly httpGet?: ((request: HookHTTPRequest, signal: AbortSignal) => Promise<void>) | undefined;
  /** Receives an event if an HTTPS hook got an HTTP response. Default: events are dropped. */
  readonly eventRecorder?: PodEventRecorder | undefined;
}

/** Runs hooks as the kubelet does: a command, a GET request, or a pause. Source: kubelet `handlerRunner`. */
export function createHandlerRunner(options: HandlerRunnerOptions): HandlerRunner {
  const { runtime, clock, httpGet = sendHTTPHook, eventRecorder = noPodEvents } = options;
  return {
    async run({ pod, container, containerID, podIP, handler }, signal) {
      const where = `for Container "${container.name}" in Pod "${formatPod(pod)}" failed - error:`;
      if (handler.exec != null) {
        const command = handler.exec.command ?? [];
        const hook = `Exec lifecycle hook ([${command.join(' ')}]) ${where}`;
        // `signal` ends it.
        const result = await runtime
          .execSync(containerID, command, noTimeoutMs, { signal })
          .catch((thrown: unknown) => {
            throw new Error(`${hook} ${messageOf(thrown)}, message: ""`, { cause: thrown });
          });
        if (result.exitCode === 0) return;
        const output = JSON.stringify(result.stdout + result.stderr);
        throw new Error(
          `${hook} command '${command.join(' ')}' exited with ${result.exitCode}: ${result.stderr}, message: ${output}`,
        );
      }
      if (handler.httpGet != null) {
        const { path = '' } = handler.httpGet;
        try {
          const request = hookRequest(handler.httpGet, container, podIP);
          await httpGet(request, signal).catch(async (thrown: unknown) => {
            if (!request.url.startsWith('https:') || !isHTTPResponseError(thrown)) throw thrown;
            await httpGet(hookRequest(handler.httpGet!, container, podIP, true), signal).catch(() => {
              throw thrown;
            });
            const message = `request to HTTPS lifecycle hook ${new URL(request.url).host} got HTTP response, retry with HTTP succeeded`;
            eventRecorder.event({ pod, type: 'Warning', reason: 'LifecycleHTTPFallback', message });
          });
        } catch (thrown) {
          throw new Error(`HTTP lifecycle hook (${path}) ${where} ${messageOf(thrown)}`, { cause: thrown });
        }
        return;
      }
      if (handler.sleep != null) return pause(clock, handler.sleep.seconds * 1000, signal);
      throw new Error('Cannot run handler: it has neither exec, httpGet nor sleep');
    },
  };
}

/** The GET request of a hook; without authorization if HTTPS is retried as HTTP. */
function hookRequest(
  httpGet: HTTPGetAction,
  container: Container,
  podIP: string | undefined,
  fallsBack = false,
): HookHTTPRequest {
  if (!httpGet.host && !podIP) throw new Error('failed to find networking container: the pod has no address');
  const request = httpProbeRequest(httpGet, container, podIP ?? '', lifecycleUserAgent);
  const headers = [...request.headers].flatMap(([name, values]) =>
    fallsBack && name === 'Authorization' ? [] : values.map((value) => ({ name, value })),
  );
  return { url: urlOf(fallsBack ? { ...request, scheme: 'http' } : request), headers };
}

function pause(clock: Pick<Clock, 'afterFunc'>, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      timer.stop();
      reject(new Error('container terminated before sleep hook finished'));
    };
    const timer = clock.afterFunc(ms, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort);
  });
}

function formatPod({ metadata }: Pod): string {
  return `${metadata?.name ?? ''}_${metadata?.namespace ?? ''}(${metadata?.uid ?? ''})`;
}
