import type { ContainerIO, StreamOptions } from '../node/index.ts';
import { isStaticPod } from '../kube/pods/static-pods.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import { reasonOf } from '../shared/logger.ts';
import type { PortForward } from './forward-port.ts';
import { HTTPError } from './http-error.ts';
import { allContainersOf } from '../kube/pods/pod-containers.ts';
import { type KubeletAPIContext, type KubeletRequest, requireServedPod } from './kubelet-api-context.ts';
import { isSPDY } from './spdy.ts';
import { serveSPDYCommand } from './spdy-streams.ts';
import type { StreamedCommand } from './streamed-command.ts';
import { proxyUpgrade, type UpgradeRequest } from './streaming-proxy.ts';
import { isTunnel, servePortForward } from './port-forward.ts';
import { requireWebSocket, serveWebSocket } from './websocket-streams.ts';

/** Serves an exec, attach or portForward request. Rejects with an `HTTPError` if it is refused. */
export async function serveStreaming(
  context: KubeletAPIContext,
  root: string,
  request: KubeletRequest,
  upgrade: UpgradeRequest,
): Promise<void> {
  switch (root) {
    case 'exec':
      return serveExec(context, request, upgrade);
    case 'attach':
      return serveAttach(context, request, upgrade);
    case 'portForward':
      return servePorts(context, request, upgrade);
    default:
      throw new HTTPError(404, '404: Page Not Found');
  }
}

/** `/exec/{namespace}/{pod}/[{uid}/]{container}`. Source: kubelet `getExec` */
async function serveExec(
  context: KubeletAPIContext,
  { segments, query, signal }: KubeletRequest,
  upgrade: UpgradeRequest,
): Promise<void> {
  const streams = streamOptions(query);
  const { containerName, pod } = containerOf(context, segments);
  const id = await runningContainerID(context, pod, containerName, signal);
  if (id === undefined) throw new HTTPError(500, `container not found ("${containerName}")`);
  const { runtime } = context;
  const command = query.getAll('command');
  if (runtime.getExec !== undefined)
    return proxyUpgrade(context.clock, await fromRuntime(runtime.getExec(id, command, streams, { signal })), upgrade);
  if (runtime.exec === undefined) throw new HTTPError(501, 'The runtime cannot run commands');
  const run = async (io: ContainerIO, signal: AbortSignal): Promise<number> =>
    runtime.exec!(id, command, io, { signal });
  return serveCommand(context, upgrade, { streams, requested: streams, signal, run });
}

/** `/attach/{namespace}/{pod}/[{uid}/]{container}`. Source: kubelet `getAttach` */
async function serveAttach(
  context: KubeletAPIContext,
  { segments, query, signal }: KubeletRequest,
  upgrade: UpgradeRequest,
): Promise<void> {
  const wanted = streamOptions(query);
  const { containerName, pod } = containerOf(context, segments);
  const id = await runningContainerID(context, pod, containerName, signal);
  const container = allContainersOf(pod.spec).find(({ name }) => name === containerName);
  if (id === undefined || container === undefined)
    throw new HTTPError(500, `container ${containerName} not found in pod ${fullNameOf(pod)}`);
  const { runtime } = context;
  // Whether a process has a terminal is decided when it is started.
  const tty = container.tty === true;
  const streams = { ...wanted, tty, stderr: wanted.stderr && !tty };
  if (runtime.getAttach !== undefined)
    return proxyUpgrade(context.clock, await fromRuntime(runtime.getAttach(id, streams, { signal })), upgrade);
  if (runtime.attach === undefined) throw new HTTPError(501, 'The runtime cannot attach to containers');
  const run = async (io: ContainerIO, signal: AbortSignal): Promise<number> => {
    await runtime.attach!(id, io, { signal });
    return 0;
  };
  return serveCommand(context, upgrade, { streams, requested: wanted, signal, run });
}

async function serveCommand(
  { clock }: KubeletAPIContext,
  upgrade: UpgradeRequest,
  command: StreamedCommand & { readonly requested: StreamOptions },
): Promise<void> {
  if (isSPDY(upgrade.request)) return serveSPDYCommand(clock, upgrade, command);
  requireWebSocket(upgrade.request);
  return serveWebSocket(upgrade, command);
}

/** `/portForward/{namespace}/{pod}[/{uid}]`. Source: kubelet `getPortForward` */
async function servePorts(
  context: KubeletAPIContext,
  { request, segments, query, signal }: KubeletRequest,
  upgrade: UpgradeRequest,
): Promise<void> {
  const [namespace, name, uid, ...rest] = segments;
  if (rest.length > 0) throw new HTTPError(404, '404: Page Not Found');
  const { runtime } = context;
  // Over SPDY, the streams name the ports.
  const isWebSocket = request.headers.upgrade?.toLowerCase() === 'websocket';
  const isOwnTunnel = isTunnel(request) && runtime.getPortForward === undefined;
  const ports = isWebSocket && !isOwnTunnel ? portsOf(query) : [];
  const pod = requireServedPod(context, namespace, name);
  requireUID(pod, uid);
  const { uid: podUID, name: podName } = pod.metadata;
  if (runtime.getPortForward !== undefined) {
    const url = await fromRuntime(runtime.getPortForward(podUID, ports, { signal }));
    return proxyUpgrade(context.clock, url, upgrade);
  }
  if (runtime.portForward === undefined) throw new HTTPError(501, 'The runtime cannot forward ports');
  const forward: PortForward['forward'] = async (port, stream, signal) =>
    runtime.portForward!(podUID, port, stream, { signal });
  return servePortForward(context.clock, upgrade, ports, { podName, podUID, forward });
}

/** `/run/{namespace}/{pod}/[{uid}/]{container}?cmd=`: the outputs of a command. Source: kubelet `getRun` */
export async function getRun(context: KubeletAPIContext, { segments, query, signal }: KubeletRequest): Promise<string> {
  const { containerName, pod } = containerOf(context, segments);
  const id = await runningContainerID(context, pod, containerName, signal);
  if (id === undefined) throw new HTTPError(500, `container not found ("${containerName}")`);
  const command = (query.get('cmd') ?? '').split(' ');
  const { stdout, stderr } = await fromRuntime(context.runtime.execSync(id, command, 2 ** 31 - 1, { signal }));
  return stdout + stderr;
}

/** Source: cri-streaming `NewOptions`. */
function streamOptions(query: URLSearchParams): StreamOptions {
  const isWanted = (name: string): boolean => query.get(name) === '1';
  const tty = isWanted('tty');
  const stdin = isWanted('input');
  const stdout = isWanted('output');
  const stderr = isWanted('error') && !tty;
  if (!stdin && !stdout && !stderr) throw new HTTPError(400, 'you must specify at least 1 of stdin, stdout, stderr');
  return { stdin, stdout, stderr, tty };
}

/** Source: cri-streaming `NewV4Options`. */
function portsOf(query: URLSearchParams): number[] {
  const texts = query.getAll('port').flatMap((text) => text.split(','));
  if (texts.length === 0) throw new HTTPError(400, 'query parameter "port" is required');
  return texts.map((text) => {
    const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (port < 1 || port > 65_535) throw new HTTPError(400, `unable to parse "${text}" as a port`);
    return port;
  });
}

function containerOf(
  context: KubeletAPIContext,
  segments: readonly string[],
): { readonly containerName: string; readonly pod: ValidPod } {
  const hasUID = segments.length === 4;
  const [namespace, podName] = segments;
  const containerName = segments[hasUID ? 3 : 2];
  if (segments.length > 4 || !containerName) throw new HTTPError(404, '404: Page Not Found');
  const pod = requireServedPod(context, namespace, podName);
  if (hasUID) requireUID(pod, segments[2]);
  return { containerName, pod };
}

/** The API server knows a static pod by the UID of its mirror pod. */
function requireUID(pod: ValidPod, uid: string | undefined): void {
  if (uid !== undefined && uid !== pod.metadata.uid && !isStaticPod(pod)) throw new HTTPError(404, 'pod not found');
}

/** Source: kubelet `findContainer`. */
async function runningContainerID(
  { runtime }: KubeletAPIContext,
  pod: ValidPod,
  containerName: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const runtimePod = await fromRuntime(runtime.getPod(pod.metadata.uid, { signal }));
  return runtimePod?.containers.find(({ name, state }) => name === containerName && state === 'running')?.id;
}

/** Source: cri-streaming `WriteError`. */
export async function fromRuntime<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (cause) {
    // The CRI's error may be the cause of one with the kubelet's message.
    const { code } = ((cause as Error).cause ?? cause) as { readonly code?: unknown };
    const statusCode = code === 'NotFound' ? 404 : code === 'ResourceExhausted' ? 429 : 500;
    throw new HTTPError(statusCode, reasonOf(cause), { cause });
  }
}

function fullNameOf({ metadata }: ValidPod): string {
  return `${metadata.name}_${metadata.namespace}`;
}
