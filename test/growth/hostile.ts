import type { RuntimePodStatus } from '../../src/node/runtime/runtime-pod-status.ts';
import type { Container, PodStatus, ValidPod } from '../../src/kube/objects/types.ts';

/** The names in a list, except for those of containers, which every API server keeps different: all different, or all the same. */
export type Names = (i: number) => string;
export const different: Names = (i) => `n${i}`;
export const same: Names = () => 'n';

const time = '2026-01-01T00:00:00Z';

export function repeat<T>(size: number, of: (i: number) => T): T[] {
  return Array.from({ length: size }, (_, i) => of(i));
}

export function record(size: number, names: Names, value: string): Record<string, string> {
  return Object.fromEntries(repeat(size, (i) => [`example.com/${names(i)}`, value]));
}

function container(name: string, size: number, names: Names): Container {
  const resources = { cpu: '1', memory: '1Mi', ...record(size, names, '1') };
  return {
    name,
    image: `registry.example/${name}:1`,
    command: repeat(size, (i) => `$(${names(i)})`),
    args: repeat(size, (i) => `$(${names(i)}`),
    env: repeat(size, (i) => ({ name: names(i), value: `x$(${names(i + 1)})` })),
    ports: repeat(size, (i) => ({ name: names(i), containerPort: 1 + (i % 60_000), hostPort: 1 + (i % 60_000) })),
    resources: { requests: resources, limits: resources, claims: repeat(size, (i) => ({ name: names(i) })) },
    resizePolicy: repeat(size, (i) => ({ resourceName: names(i), restartPolicy: 'NotRequired' })),
    restartPolicyRules: repeat(size, (i) => ({
      action: 'Restart',
      exitCodes: { operator: 'In', values: repeat(i === 0 ? size : 1, (value) => value + 2) },
    })),
    volumeMounts: repeat(size, (i) => ({ name: names(size - 1 - i), mountPath: `/a/${names(i)}/b` })),
    readinessProbe: {
      httpGet: { port: names(size), httpHeaders: repeat(size, (i) => ({ name: names(i), value: 'x' })) },
    },
    securityContext: { capabilities: { add: repeat(size, names), drop: repeat(size, names) } },
  };
}

/** A pod with many entries in each of its lists, and in each list of the first container. */
export function hostilePod(size: number, names: Names = different): ValidPod {
  const containers = (prefix: string, fields: object = {}): Container[] =>
    repeat(size, (i) => ({ ...container(`${prefix}${different(i)}`, i === 0 ? size : 1, names), ...fields }));
  const terms = repeat(size, (i) => ({
    matchExpressions: repeat(i === 0 ? size : 1, (at) => ({ key: names(at), operator: 'In', values: [names(at)] })),
  }));
  const spec = {
    containers: containers('c'),
    initContainers: containers('i', { restartPolicy: 'Always' }),
    ephemeralContainers: containers('e', { targetContainerName: `c${different(size - 1)}` }),
    volumes: repeat(size, (i) => ({
      name: names(i),
      ...(i % 2 === 0
        ? { emptyDir: {} }
        : { projected: { sources: repeat(i === 1 ? size : 1, (at) => ({ configMap: { name: names(at) } })) } }),
    })),
    readinessGates: repeat(size, (i) => ({ conditionType: names(i) })),
    tolerations: repeat(size, (i) => ({ key: names(i), operator: 'Exists' })),
    hostAliases: repeat(size, (i) => ({ ip: '10.0.0.1', hostnames: [names(i)] })),
    imagePullSecrets: repeat(size, (i) => ({ name: names(i) })),
    schedulingGates: repeat(size, (i) => ({ name: names(i) })),
    topologySpreadConstraints: repeat(size, (i) => ({
      topologyKey: names(i),
      maxSkew: 1,
      whenUnsatisfiable: 'DoNotSchedule',
    })),
    nodeSelector: record(size, names, 'x'),
    overhead: record(size, names, '1'),
    resourceClaims: repeat(size, (i) => ({ name: names(i), resourceClaimName: names(i) })),
    dnsConfig: {
      nameservers: repeat(size, (i) => `10.0.${i >> 8}.${i & 255}`),
      searches: repeat(size, names),
      options: repeat(size, (i) => ({ name: names(i), value: '1' })),
    },
    securityContext: {
      sysctls: repeat(size, (i) => ({ name: names(i), value: '1' })),
      supplementalGroups: repeat(size, Number),
    },
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...{
        name: 'pod',
        namespace: 'default',
        uid: 'uid',
        resourceVersion: '1',
        generation: 1,
        creationTimestamp: time,
      },
      labels: record(size, names, 'x'),
      annotations: record(size, names, 'x'),
      finalizers: repeat(size, names),
      ownerReferences: repeat(size, (i) => ({ apiVersion: 'v1', kind: 'K', name: names(i), uid: names(i) })),
      managedFields: repeat(size, (i) => ({
        manager: names(i),
        fieldsV1: { 'f:status': { 'f:conditions': { [`k:{"type":"${names(i)}"}`]: {} } } },
      })),
    },
    spec,
    status: hostileStatus(size, names),
  };
}

/** A status with many entries in each of its lists, in the opposite order of the pod's. */
export function hostileStatus(size: number, names: Names = different, text = 'x'): PodStatus {
  const resources = { limits: record(4, different, '1'), requests: record(4, different, '1') };
  const statuses = (prefix: string) =>
    repeat(size, (i) => ({
      ...{
        name: `${prefix}${different(size - 1 - i)}`,
        ready: true,
        started: true,
        restartCount: 1,
        image: text,
        imageID: text,
      },
      containerID: `runtime://${prefix}${size - 1 - i}`,
      state: { running: { startedAt: time } },
      lastState: { terminated: { exitCode: 1, startedAt: time, finishedAt: time, message: text } },
      allocatedResources: record(i === 0 ? size : 1, names, '1'),
      resources,
      volumeMounts: repeat(i === 0 ? size : 1, (at) => ({ name: names(at), mountPath: `/${names(at)}` })),
      allocatedResourcesStatus: repeat(i === 0 ? size : 1, (at) => ({
        name: names(at),
        resources: repeat(i === 0 && at === 0 ? size : 1, (id) => ({ resourceID: names(id), health: 'Healthy' })),
      })),
    }));
  return {
    phase: 'Running',
    startTime: time,
    message: text,
    podIP: '10.0.0.1',
    conditions: repeat(size, (i) => ({
      ...{ type: names(size - 1 - i), status: 'True', reason: text, message: text },
      ...{ lastProbeTime: null, lastTransitionTime: time },
    })),
    podIPs: repeat(size, (i) => ({ ip: `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}` })),
    hostIPs: repeat(size, (i) => ({ ip: `11.${i >> 16}.${(i >> 8) & 255}.${i & 255}` })),
    containerStatuses: statuses('c'),
    initContainerStatuses: statuses('i'),
    ephemeralContainerStatuses: statuses('e'),
    resourceClaimStatuses: repeat(size, (i) => ({ name: names(size - 1 - i), resourceClaimName: 'x' })),
    allocatedResources: record(size, names, '1'),
    volumeHealth: repeat(size, (i) => ({
      name: names(size - 1 - i),
      lastTransitionTime: time,
      healthConditions: repeat(i === 0 ? size : 1, (at) => ({ status: names(at), reason: 'x' })),
    })),
  };
}

/** Two runs of each container of `hostilePod`, in one sandbox of many, in the opposite order. */
export function hostileRuntimeStatus(
  size: number,
  names: Names = different,
  state: 'running' | 'exited' = 'running',
): RuntimePodStatus {
  const runs = (prefix: string) =>
    repeat(2 * size, (i) => ({
      id: `runtime://${prefix}${i}`,
      name: `${prefix}${different((2 * size - 1 - i) % size)}`,
      sandboxID: 's0',
      state: i < size ? state : ('exited' as const),
      attempt: i < size ? 1 : 0,
      createdAtMs: 2 * size - i,
      startedAtMs: 2 * size - i,
      ...((i >= size || state === 'exited') && { finishedAtMs: 2 * size - i, exitCode: 1, reason: 'Error' }),
      image: 'image',
      recursiveReadOnlyMounts: repeat(i === 0 ? size : 1, (at) => `/a/${names(at)}/b`),
    }));
  return {
    sandboxes: repeat(size, (i) => ({
      id: `s${i}`,
      ready: i === 0,
      createdAtMs: size - i,
      attempt: size - i,
      hasIP: true,
    })),
    containers: [...runs('c'), ...runs('i'), ...runs('e')],
    ips: repeat(size, (i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}`),
  };
}
