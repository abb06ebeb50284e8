import { formatPod } from '../../kube/pods/pod-log-fields.ts';
import type { Bounded } from '../../shared/bounded-port.ts';
import { type Clock, sleep } from '../../shared/clock.ts';
import type { Container, HTTPGetAction, LifecycleHandler, ValidPod } from '../../kube/objects/types.ts';
import {
  type ContainerRuntime,
  type HTTPProbeRequest,
  httpProbeRequest,
  httpResponseToHTTPSClient,
  lifecycleUserAgent,
  noTimeoutMs,
  type PodEventRecorder,
  sendHTTPRequest,
} from '../../node/index.ts';
import { reasonOf } from '../../shared/logger.ts';

/** A hook of a container to run. */
export interface HandlerRequest {
  readonly pod: ValidPod;
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

/** The runner that all parts of the agent get. */
export type BoundedHandlerRunner = Bounded<HandlerRunner>;

/** Options of `HandlerRunner`. */
export interface HandlerRunnerOptions {
  readonly runtime: Pick<ContainerRuntime, 'execSync'>;
  readonly clock: Pick<Clock, 'afterFunc'>;
  /** Resolves with any response, whatever its status. Default: a request that does not verify certificates. */
  readonly httpGet?: ((request: HTTPProbeRequest, signal: AbortSignal) => Promise<void>) | undefined;
  /** Receives an event if an HTTPS hook got an HTTP response. */
  readonly eventRecorder: PodEventRecorder;
}

/** One run of a hook. */
interface HookRun {
  readonly request: HandlerRequest;
  readonly runner: { readonly [Name in keyof HandlerRunnerOptions]-?: NonNullable<HandlerRunnerOptions[Name]> };
  readonly signal: AbortSignal;
  /** For the error: the container and its pod. */
  readonly where: string;
}

type LifecycleHandlerName = keyof LifecycleHandler;

type RunHook<Name extends LifecycleHandlerName> = (
  action: NonNullable<LifecycleHandler[Name]>,
  run: HookRun,
) => Promise<void>;

/** How each handler of a hook is run, in the kubelet's order. A handler without a row does not compile. */
const lifecycleHandlers: { readonly [Name in LifecycleHandlerName]: RunHook<Name> } = {
  async exec({ command = [] }, { request, runner, signal, where }) {
    const hook = `Exec lifecycle hook ([${command.join(' ')}]) ${where}`;
    // `signal` ends it.
    const result = await runner.runtime
      .execSync(request.containerID, command, noTimeoutMs, { signal })
      .catch((thrown: unknown) => {
        throw new Error(`${hook} ${reasonOf(thrown)}, message: ""`, { cause: thrown });
      });
    if (result.exitCode === 0) return;
    const output = JSON.stringify(result.stdout + result.stderr);
    throw new Error(
      `${hook} command '${command.join(' ')}' exited with ${result.exitCode}: ${result.stderr}, message: ${output}`,
    );
  },
  async httpGet(action, run) {
    try {
      await runHTTPHook(action, run);
    } catch (thrown) {
      const { path = '' } = action;
      throw new Error(`HTTP lifecycle hook (${path}) ${run.where} ${reasonOf(thrown)}`, { cause: thrown });
    }
  },
  sleep({ seconds }, { runner, signal }) {
    return pause(runner.clock, seconds * 1000, signal);
  },
  // The API accepts it, but no kubelet runs it.
  async tcpSocket() {
    throw new Error(cannotRun);
  },
};

const cannotRun = 'Cannot run handler: it has neither exec, httpGet nor sleep';

/** Runs hooks as the kubelet does: a command, a GET request, or a pause. Source: kubelet `handlerRunner`. */
export function createHandlerRunner(options: HandlerRunnerOptions): HandlerRunner {
  const { runtime, clock, httpGet = sendHTTPHook, eventRecorder } = options;
  const runner = { runtime, clock, httpGet, eventRecorder };
  return {
    async run(request, signal) {
      const where = `for Container "${request.container.name}" in Pod "${formatPod(request.pod)}" failed - error:`;
      const run = { request, runner, signal, where };
      for (const name of Object.keys(lifecycleHandlers) as LifecycleHandlerName[]) {
        const hook = runHandler(name, request.handler, run);
        if (hook !== undefined) return hook;
      }
      throw new Error(cannotRun);
    },
  };
}

function runHandler<Name extends LifecycleHandlerName>(
  name: Name,
  { [name]: action }: Pick<LifecycleHandler, Name>,
  run: HookRun,
): Promise<void> | undefined {
  return action == null ? undefined : lifecycleHandlers[name](action, run);
}

/** An HTTPS request that got an HTTP response is sent again as HTTP. */
async function runHTTPHook(action: HTTPGetAction, { request, runner, signal }: HookRun): Promise<void> {
  const { pod, container, podIP } = request;
  if (!action.host && !podIP) throw new Error('failed to find networking container: the pod has no address');
  const httpRequest = httpProbeRequest(action, container, podIP ?? '', lifecycleUserAgent);
  try {
    await runner.httpGet(httpRequest, signal);
  } catch (thrown) {
    if (!reasonOf(thrown).includes(httpResponseToHTTPSClient)) throw thrown;
    const headers = new Map(httpRequest.headers);
    headers.delete('Authorization');
    const url = httpRequest.url.replace(/^https:/, 'http:');
    await runner.httpGet({ ...httpRequest, url, scheme: 'http', headers }, signal).catch(() => {
      throw thrown;
    });
    const message = `request to HTTPS lifecycle hook ${new URL(url).host} got HTTP response, retry with HTTP succeeded`;
    runner.eventRecorder.event({ pod, type: 'Warning', reason: 'LifecycleHTTPFallback', message });
  }
}

async function pause(clock: Pick<Clock, 'afterFunc'>, ms: number, signal: AbortSignal): Promise<void> {
  await sleep(clock, ms, signal);
  if (signal.aborted) throw new Error('container terminated before sleep hook finished');
}

/** Maximum length of the response that is read. */
const maxResponseBytes = 10 * 1024;

/**
 * Sends the GET request of a hook and resolves with any response, whatever its status.
 * Source: kubelet `runHTTPHandler`.
 */
async function sendHTTPHook(request: HTTPProbeRequest, signal: AbortSignal): Promise<void> {
  const response = await sendHTTPRequest(request, { signal, isExceeded: false });
  try {
    let length = 0;
    for await (const chunk of response.body as AsyncIterable<Buffer>)
      if ((length += chunk.length) >= maxResponseBytes) break;
  } catch {
    // As in the kubelet, the hook has been received.
  } finally {
    response.close();
  }
}
