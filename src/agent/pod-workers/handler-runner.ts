import { type Clock, type Container, type HTTPGetAction, type LifecycleHandler, type Pod } from '../../index.ts';
import type { ContainerRuntime } from '../runtime/container-runtime.ts';
import { sendHTTPHook } from './http-hook.ts';
import { messageOf } from './sync-result.ts';

/** A hook of a container that is to be run. */
export interface HandlerRequest {
  readonly pod: Pod;
  readonly container: Container;
  readonly containerID: string;
  /** Where an HTTP hook without a host is sent; undefined: the pod has no address. */
  readonly podIP: string | undefined;
  readonly handler: LifecycleHandler;
}

/** Runs postStart and preStop hooks. Source: kubelet `HandlerRunner`. */
export interface HandlerRunner {
  /** Resolves when the hook has succeeded; the message of the error that it rejects with is shown in the pod's status. */
  run(request: HandlerRequest, signal: AbortSignal): Promise<void>;
}

/** Where the request of an HTTP hook goes. */
export interface HookHTTPRequest {
  readonly url: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

/** Options of `HandlerRunner`. */
export interface HandlerRunnerOptions {
  readonly runtime: Pick<ContainerRuntime, 'execSync'>;
  readonly clock: Pick<Clock, 'afterFunc'>;
  /** Resolves when a response came, whatever its status. Default: a request without verifying certificates. */
  readonly httpGet?: ((request: HookHTTPRequest, signal: AbortSignal) => Promise<void>) | undefined;
}

/** A command has no time-out of its own, only the longest that a timer can have: `signal` ends it. */
const noTimeoutMs = 2 ** 31 - 1;

/** Hooks as the kubelet runs them: a command, a GET request, a pause. Source: kubelet `handlerRunner`. */
export function createHandlerRunner({ runtime, clock, httpGet = sendHTTPHook }: HandlerRunnerOptions): HandlerRunner {
  return {
    async run({ pod, container, containerID, podIP, handler }, signal) {
      const where = `for Container "${container.name}" in Pod "${formatPod(pod)}" failed - error:`;
      if (handler.exec != null) {
        const command = handler.exec.command ?? [];
        const hook = `Exec lifecycle hook ([${command.join(' ')}]) ${where}`;
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
        const { path = '', httpHeaders = [] } = handler.httpGet;
        try {
          await httpGet({ url: urlOf(handler.httpGet, container, podIP), headers: httpHeaders }, signal);
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

function urlOf(
  { scheme = 'HTTP', host, port, path = '' }: HTTPGetAction,
  container: Container,
  podIP?: string,
): string {
  const address = host || podIP;
  if (!address) throw new Error('failed to find networking container: the pod has no address');
  const url = new URL(path, `${scheme.toLowerCase()}://${address.includes(':') ? `[${address}]` : address}`);
  url.port = String(portNumber(port, container));
  return url.href;
}

/** Source: kubelet `probe.ResolveContainerPort`. */
function portNumber(port: number | string, container: Container): number {
  const ports = (container.ports ?? []) as readonly { readonly name?: string; readonly containerPort?: number }[];
  const number = Number(ports.find(({ name }) => name === port)?.containerPort ?? port);
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
  throw new Error(`invalid port number: ${port}`);
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
