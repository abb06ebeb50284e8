import type { ServerResponse } from 'node:http';
import { reasonOf } from '../shared/logger.ts';
import type { ContainerLogOptions } from '../node/index.ts';
import type { ContainerStatusInput, PodStatusInput } from '../kube/objects/types.ts';
import { HTTPError } from './http-error.ts';
import { allContainersOf } from '../kube/pods/pod-containers.ts';
import { type KubeletAPIContext, type KubeletRequest, requireServedPod } from './kubelet-api-context.ts';
import { containerStatusesOf } from '../status-manager/status/container-statuses.ts';
import { readLogs } from './read-logs.ts';
import { Readable } from 'node:stream';
import { untilAborted } from '../shared/abort.ts';
import { boundedCall } from '../shared/deadline.ts';
import { requestTimeoutMs } from './bounded-streaming-runtime.ts';
import { fromRuntime } from './streaming.ts';
import { canonicalTime, epochMsOf } from '../shared/time.ts';

/** `/containerLogs/{namespace}/{pod}/{container}`. Source: kubelet `getContainerLogs`, `GetKubeletContainerLogs` */
export async function serveContainerLogs(
  context: KubeletAPIContext,
  { segments, query, signal }: KubeletRequest,
  response: ServerResponse,
): Promise<void> {
  const { agent, runtime, clock } = context;
  const [namespace, podName = '', containerName = ''] = segments;
  if (containerName === '') throw new HTTPError(404, '404: Page Not Found');
  const { previous, ...options } = parseLogOptions(query, clock.now());
  const pod = requireServedPod(context, namespace, podName);
  if (!allContainersOf(pod.spec).some(({ name }) => name === containerName))
    throw new HTTPError(404, `container "${containerName}" not found in pod "${podName}"`);
  if (runtime.getContainerLog === undefined && runtime.streamContainerLog === undefined)
    throw new HTTPError(501, 'The runtime has no logs');
  const status = agent.statusManager.getPodStatus(pod.metadata.uid) ?? pod.status ?? {};
  // A runtime that streams logs finds the previous run itself.
  const isPreviousRun = previous && runtime.streamContainerLog === undefined;
  const containerID = containerIDForLogs(podName, status, containerName, isPreviousRun);
  const text = await openText(context, containerID, { ...options, previous }, signal);
  response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).flushHeaders();
  try {
    if (text !== undefined) await writeText(text, options, signal, (chunk) => write(response, chunk, signal));
    else await writeFile(context, containerID, options, signal, (chunk) => write(response, chunk, signal));
  } catch (error) {
    // The status code has been sent, so the reason is appended to the text, as in the kubelet.
    if (!signal.aborted) response.write(reasonOf(error));
  }
  response.end();
}

async function writeFile(
  { runtime, clock }: KubeletAPIContext,
  containerID: string,
  options: ContainerLogOptions,
  signal: AbortSignal,
  write: (chunk: Buffer) => Promise<void>,
): Promise<void> {
  const log = await runtime.getContainerLog?.(containerID, { signal });
  if (log === undefined) throw new Error(`unable to retrieve container logs for ${containerID}`);
  await readLogs(log.path, options, {
    ...{ clock, signal, write },
    // While the runtime does not respond, its containers still run.
    isRunning: async () => {
      try {
        return (await runtime.getContainerLog!(containerID, { signal }))?.isRunning ?? false;
      } catch {
        return true;
      }
    },
  });
}

/** Resolves when the client can take more. */
async function write(response: ServerResponse, chunk: Buffer, signal: AbortSignal): Promise<void> {
  if (signal.aborted || response.write(chunk)) return;
  await new Promise<void>((resolve) => {
    const done = (): void => {
      response.off('drain', done);
      signal.removeEventListener('abort', done);
      resolve();
    };
    response.once('drain', done);
    signal.addEventListener('abort', done, { once: true });
  });
}

/** The container run whose log is wanted. Source: kubelet `validateContainerLogStatus`. */
export function containerIDForLogs(
  podName: string,
  status: PodStatusInput,
  containerName: string,
  isPrevious: boolean,
): string {
  const container = `container "${containerName}" in pod "${podName}"`;
  const refuse = (message: string): never => {
    throw new HTTPError(400, message);
  };
  const found = findContainerStatus(status, containerName) ?? refuse(`${container} is not available`);
  const { waiting, running, terminated } = found.state ?? {};
  const lastID = found.lastState?.terminated?.containerID;
  if (isPrevious) return lastID || refuse(`previous terminated ${container} not found`);
  if (running) return found.containerID ?? '';
  // If the next run has not started, `terminated` has no ID.
  if (terminated) return terminated.containerID || lastID || refuse(`${container} is terminated`);
  if (found.lastState?.terminated) return lastID || refuse(`${container} is terminated`);
  if (waiting) {
    if (waiting.reason === 'ErrImagePull') return refuse(`${container} is waiting to start: image can't be pulled`);
    if (waiting.reason === 'ImagePullBackOff')
      return refuse(`${container} is waiting to start: trying and failing to pull image`);
    return refuse(`${container} is waiting to start: ${waiting.reason ?? ''}`);
  }
  return refuse(`${container} is waiting to start - no logs yet`);
}

function findContainerStatus(status: PodStatusInput, name: string): ContainerStatusInput | undefined {
  return containerStatusesOf(status).find((one) => one.name === name);
}

type Text = AsyncIterable<Uint8Array>;

/**
 * Resolves with the text of a log that the runtime streams, for `writeText`; undefined if the runtime has log files. Rejects
 * when the client has disconnected; a text that the runtime returns later is then ended. @throws HTTPError
 */
async function openText(
  { runtime, clock }: Pick<KubeletAPIContext, 'runtime' | 'clock'>,
  containerID: string,
  log: ContainerLogOptions & { readonly previous: boolean },
  signal: AbortSignal,
): Promise<Text | undefined> {
  const { streamContainerLog } = runtime;
  if (streamContainerLog === undefined) return undefined;
  const bounds = { clock, timeoutMs: requestTimeoutMs, signals: [signal] };
  const opening = boundedCall('streamContainerLog of the runtime', bounds, async (options) => {
    // The text continues after this call, until the client disconnects.
    const text = await streamContainerLog(containerID, log, { signal });
    if (typeof (text as Partial<Text> | undefined)?.[Symbol.asyncIterator] !== 'function')
      throw new TypeError('The log is not an async iterable, for example a stream of Node.js');
    if (options.signal.aborted) end(text);
    return text;
  });
  return fromRuntime(opening);
}

/** Writes a text. Ends it after `limitBytes`, and when the client disconnects, even if it never yields again. */
async function writeText(
  text: Text,
  { limitBytes = Number.POSITIVE_INFINITY }: ContainerLogOptions,
  signal: AbortSignal,
  write: (chunk: Buffer) => Promise<void>,
): Promise<void> {
  const chunks = text[Symbol.asyncIterator]();
  try {
    for (let left = limitBytes; left > 0;) {
      const { done, value } = await untilAborted(chunks.next(), signal);
      if (done === true) return;
      const chunk = Buffer.from(value).subarray(0, left);
      left -= chunk.length;
      await write(chunk);
    }
  } finally {
    end(text, chunks);
  }
}

/** A generator ends only at its next `yield`, so nothing waits for it. */
function end(text: Text, chunks = text[Symbol.asyncIterator]()): void {
  if (text instanceof Readable) text.destroy();
  else Promise.resolve(chunks.return?.()).catch(() => {});
}

/** @throws HTTPError 400 for a query that cannot be parsed, 422 for an invalid one. Source: `ValidatePodLogOptions` */
export function parseLogOptions(
  query: URLSearchParams,
  nowMs: number,
): ContainerLogOptions & { readonly previous: boolean } {
  // Its deprecated name.
  const tail = query.get('tail');
  const tailLines = tail === 'all' ? undefined : integer(tail ?? query.get('tailLines'));
  const limitBytes = integer(query.get('limitBytes'));
  const sinceSeconds = integer(query.get('sinceSeconds'));
  const sinceTime = query.get('sinceTime') || undefined;
  const stream = query.get('stream') || 'All';
  const sinceTimeMs = sinceTime === undefined ? undefined : timeMs(sinceTime);
  const isInvalid =
    (tailLines !== undefined && tailLines < 0) ||
    (limitBytes !== undefined && limitBytes < 1) ||
    (sinceSeconds !== undefined && (sinceSeconds < 1 || sinceTime !== undefined)) ||
    !['All', 'Stdout', 'Stderr'].includes(stream) ||
    (stream !== 'All' && tailLines !== undefined);
  if (isInvalid) throw new HTTPError(422, '{"message": "Invalid request."}');
  return {
    tailLines,
    limitBytes,
    sinceMs: sinceSeconds === undefined ? sinceTimeMs : nowMs - sinceSeconds * 1000,
    stream: stream === 'All' ? undefined : stream === 'Stdout' ? 'stdout' : 'stderr',
    follow: boolean(query.get('follow')),
    timestamps: boolean(query.get('timestamps')),
    previous: boolean(query.get('previous')),
  };
}

function integer(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^[+-]?\d{1,15}$/.test(text)) refuse();
  return Number(text);
}

/** Source: apimachinery `Convert_Slice_string_To_bool`: anything but these is true. */
function boolean(text: string | null): boolean {
  return text !== null && text !== '0' && text.toLowerCase() !== 'false';
}

function timeMs(text: string): number {
  const time = canonicalTime(text);
  if (typeof time !== 'string') return refuse();
  return epochMsOf(time);
}

function refuse(): never {
  throw new HTTPError(400, '{"message": "Unable to decode query."}');
}
