import type { PodProvider, ProviderPod } from 'kubelet-status-manager/virtual-nodes';
import { ProviderError } from 'kubelet-status-manager/virtual-nodes';
import type { Instance } from './cloud.ts';

interface CloudRequest {
  readonly signal: AbortSignal;
  readonly epoch?: number;
  readonly node?: string | undefined;
  readonly body?: unknown;
}

/** Runs pods as instances of the cloud in cloud.ts. */
export function cloudProvider(url: string): PodProvider {
  async function send(method: string, path: string, { signal, epoch = 0, node = '', body }: CloudRequest) {
    const sent = fetch(`${url}/instances${path}`, {
      ...{ method, signal },
      headers: { 'x-epoch': String(epoch), 'x-node': node },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const response = await sent.catch((error: Error) => {
      const { code } = (error.cause ?? {}) as { readonly code?: string };
      throw new ProviderError(`the cloud cannot be reached: ${code ?? error.message}`);
    });
    if (response.ok || response.status === 404) return response;
    throw new ProviderError(`the cloud answers ${response.status} ${await response.text()}`, {
      permanent: response.status === 400,
      retryAfterMs: Number(response.headers.get('retry-after')) * 1000,
    });
  }

  async function call(method: string, path: string, request: CloudRequest) {
    const response = await send(method, path, request);
    const text = await response.text();
    return response.ok && text !== '' ? JSON.parse(text) : undefined;
  }

  const put: PodProvider['createPod'] = async ({ metadata, spec }, { signal, epoch, podHash, materials }) => {
    const { containers: materialsOf } = await materials();
    const containers = spec?.containers?.map(({ name, image }) => ({ name, image, ...materialsOf.get(name) }));
    const { uid, namespace, name, labels } = metadata;
    const node = spec?.nodeName;
    const body = { namespace, name, node, labels, podHash, containers };
    await call('PUT', `/${uid}`, { signal, epoch, node, body });
  };

  return {
    createPod: put,
    updatePod: (pod, _previous, options) => put(pod, options),
    async deletePod({ uid, nodeName }, { gracePeriodSeconds, signal, epoch }) {
      await call('DELETE', `/${uid}?gracePeriodSeconds=${gracePeriodSeconds}`, { signal, epoch, node: nodeName });
    },
    async listPods({ signal }) {
      return ((await call('GET', '', { signal })) as Instance[]).map(podOf);
    },
    async logs({ uid, nodeName }, _containerName, { tailLines, follow }, { signal, epoch }) {
      const query = new URLSearchParams({
        ...(tailLines !== undefined && { tail: String(tailLines) }),
        ...(follow && { follow: 'true' }),
      });
      const { ok, body } = await send('GET', `/${uid}/log?${query.toString()}`, { signal, epoch, node: nodeName });
      if (!ok || body === null) throw new ProviderError('the cloud has no log of this pod');
      return body;
    },
    async exec({ uid, nodeName }, _containerName, command, { stdout }, { signal, epoch }) {
      const result = await call('POST', `/${uid}/exec`, { signal, epoch, node: nodeName, body: { command } });
      if (result === undefined) throw new ProviderError('the cloud does not run this pod');
      stdout?.write(result.output);
      return result.exitCode;
    },
  };
}

function podOf({
  id,
  namespace,
  name,
  node,
  state,
  podHash,
  ip,
  startedAt,
  exitCode,
  containers,
}: Instance): ProviderPod {
  return {
    ...{ uid: id, namespace, name, nodeName: node, state, podHash },
    ...(state !== 'creating' && { ips: [ip] }),
    ...(startedAt !== undefined && { startedAt: new Date(startedAt) }),
    ...(exitCode !== undefined && {
      containers: containers.map((container) => ({ name: container.name, exit: { exitCode } })),
    }),
  };
}
