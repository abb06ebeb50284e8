import type { APIServerHandler } from '../../../src/api-server/api-server-handler.ts';
import type { Random } from '../../chaos/random.ts';
import { DirectRequest, DirectResponse } from '../../support/direct-exchange.ts';
import type { Json } from '../../support/kube-http.ts';

/** A container uses 10 MB: the smallest limit is below that. */
const memory = ['8Mi', '16Mi', '32Mi', '64Mi', '128Mi'];
const cpu = ['10m', '50m', '100m', '250m', '1'];

/** Requests and limits of the containers of a pod. Kept through a change are the names, so that its QoS class stays. */
export function withResources(spec: Json, random: Random): Json {
  if (random.chance(0.4)) return spec;
  const isGuaranteed = random.chance(0.3);
  const ofContainer = (container: Json): Json => {
    const resources = isGuaranteed ? guaranteed(random) : random.pick([burstable, requestsOnly, () => ({})])(random);
    const disk = random.chance(0.05) && { 'ephemeral-storage': random.pick(['1Mi', '1Gi']) };
    if (disk !== false) Object.assign(resources, { limits: { ...resources.limits, ...disk } });
    const restart = { resourceName: 'memory', restartPolicy: 'RestartContainer' };
    return { ...container, resources, ...(random.chance(0.3) && { resizePolicy: [restart] }) };
  };
  const { containers, initContainers } = spec;
  return {
    ...spec,
    containers: containers.map(ofContainer),
    ...(initContainers !== undefined && { initContainers: initContainers.map(ofContainer) }),
    ...(random.chance(0.1) && { resources: { requests: { cpu: '500m', memory: '256Mi' }, limits: { memory: '1Gi' } } }),
  };
}

/** Other amounts for a container or sidecar of a pod that has some; undefined if none has. */
export function resizedSpec({ spec }: Json, random: Random): object | undefined {
  const resizable = (spec.containers as Json[]).filter(({ resources }) => resources?.requests !== undefined);
  if (resizable.length === 0) return undefined;
  const { name, resources } = random.pick(resizable);
  const { limits, requests } = resources;
  const isGuaranteed = JSON.stringify(limits) === JSON.stringify(requests);
  const next = isGuaranteed ? guaranteed(random) : limits === undefined ? requestsOnly(random) : burstable(random);
  return { containers: [{ name, resources: next }] };
}

/** Requests new resources as a user, which the API server may refuse. */
export function resize(server: APIServerHandler, name: string, spec: object): void {
  const headers = {
    authorization: `Bearer ${server.token}`,
    'content-type': 'application/strategic-merge-patch+json',
    host: 'localhost',
  };
  const path = `/api/v1/namespaces/default/pods/${name}/resize`;
  const response = new DirectResponse({ onHead() {}, onChunk() {}, onEnd() {} });
  void server.serve(new DirectRequest('PATCH', path, headers, JSON.stringify({ spec })), response);
}

function guaranteed(random: Random): Json {
  const amounts = { cpu: random.pick(cpu), memory: random.pick(memory) };
  return { requests: amounts, limits: amounts };
}

function burstable(random: Random): Json {
  const [i, j] = [random.integer(0, 3), random.integer(0, 3)];
  return { requests: { cpu: cpu[i], memory: memory[j] }, limits: { cpu: cpu[i + 1], memory: memory[j + 1] } };
}

function requestsOnly(random: Random): Json {
  return { requests: { cpu: random.pick(cpu), memory: random.pick(memory) } };
}
