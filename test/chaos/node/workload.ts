import { app, busybox, forever, pause, sh, stubborn } from '../../side-by-side/shape.ts';
import type { Json } from '../../support/kube-http.ts';
import { nodeName } from '../../support/node/machine.ts';
import type { Random } from '../random.ts';

/** A kind of pod, and the state that it reaches unless it is deleted before. */
interface PodKind {
  readonly spec: (random: Random) => Json;
  /** True in that state; by default in any. */
  readonly hasArrived?: (status: Json) => boolean;
}

const kindLabel = 'chaos.example.com/kind';
/** Names of the objects that pods mount. */
const settings = 'settings';

const idle = (more: Json = {}): Json => ({ name: 'app', image: pause, ...more });
const never = { restartPolicy: 'Never' };
const phase =
  (phase: string) =>
  (status: Json): boolean =>
    status.phase === phase;
const isReady = (status: Json): boolean =>
  status.conditions?.some((condition: Json) => condition.type === 'Ready' && condition.status === 'True') ?? false;
const hasRestarted =
  (list: 'initContainerStatuses' | 'containerStatuses') =>
  (status: Json): boolean =>
    status[list]?.[0]?.restartCount > 0;

const podKinds: Readonly<Record<string, PodKind>> = {
  runs: { spec: () => ({ containers: [idle()] }), hasArrived: isReady },
  'two-containers': { spec: () => ({ containers: [idle(), idle({ name: 'b' })] }), hasArrived: isReady },
  probed: {
    spec: () => ({
      containers: [app(forever, { readinessProbe: { exec: { command: ['true'] }, periodSeconds: 5 } })],
    }),
    hasArrived: isReady,
  },
  'crash-loop': { spec: () => ({ containers: [app('exit 1')] }), hasArrived: hasRestarted('containerStatuses') },
  'fails-twice': {
    spec: () => ({
      restartPolicy: 'OnFailure',
      volumes: [{ name: 'v', emptyDir: {} }],
      containers: [
        app('echo run >>/v/runs; [ $(wc -l </v/runs) -gt 2 ]', { volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
      ],
    }),
  },
  initialised: {
    spec: () => ({
      initContainers: [app('sleep 1', { name: 'first' }), app('true', { name: 'second' })],
      containers: [idle()],
    }),
    hasArrived: isReady,
  },
  'init-crash-loop': {
    spec: () => ({ initContainers: [app('exit 1', { name: 'first' })], containers: [idle()] }),
    hasArrived: hasRestarted('initContainerStatuses'),
  },
  sidecar: {
    spec: () => ({ initContainers: [idle({ name: 'side', restartPolicy: 'Always' })], containers: [idle()] }),
    hasArrived: isReady,
  },
  job: {
    spec: (random) => ({ ...never, containers: [app(`sleep ${random.integer(0, 8)}`)] }),
    hasArrived: phase('Succeeded'),
  },
  fails: {
    spec: (random) => ({ ...never, containers: [app(`sleep ${random.integer(0, 8)}; exit 3`)] }),
    hasArrived: phase('Failed'),
  },
  volumes: {
    spec: () => ({
      automountServiceAccountToken: true,
      volumes: [
        { name: 'config', configMap: { name: settings } },
        { name: 'secret', secret: { secretName: settings } },
        { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        { name: 'disk', emptyDir: {} },
        { name: 'pod', downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
      ],
      containers: [
        idle({
          image: busybox,
          command: ['sh', '-c', `[ "$(cat /config/key)$(cat /secret/key)" = ab ] && echo >/memory/file && ${forever}`],
          volumeMounts: ['config', 'secret', 'memory', 'disk', 'pod'].map((name) => ({ name, mountPath: `/${name}` })),
        }),
      ],
    }),
    hasArrived: isReady,
  },
  graceful: {
    spec: () => ({
      terminationGracePeriodSeconds: 10,
      containers: [app('trap "sleep 2; exit 0" TERM; sleep 1000000 & wait')],
    }),
    hasArrived: isReady,
  },
  stubborn: {
    spec: () => ({ terminationGracePeriodSeconds: 3, containers: [app(stubborn)] }),
    hasArrived: isReady,
  },
  guaranteed: {
    spec: () => ({ containers: [idle({ resources: { limits: { cpu: '5m', memory: '16Mi' } } })] }),
    hasArrived: isReady,
  },
  burstable: {
    spec: () => ({ containers: [idle({ resources: { requests: { cpu: '1m' } } })] }),
    hasArrived: isReady,
  },
  // Its status changes every 5 s.
  flips: {
    spec: () => ({
      containers: [
        app(forever, {
          readinessProbe: {
            exec: { command: sh('rm /tmp/ready || ! : >/tmp/ready') },
            periodSeconds: 5,
            timeoutSeconds: 10,
            failureThreshold: 1,
          },
        }),
      ],
    }),
    hasArrived: phase('Running'),
  },
  'host-network': { spec: () => ({ hostNetwork: true, containers: [idle()] }), hasArrived: isReady },
};

/** The objects that the pods mount. */
export const workloadObjects: readonly (readonly [resource: string, object: Json])[] = [
  ['configmaps', { metadata: { name: settings }, data: { key: 'a' } }],
  ['secrets', { metadata: { name: settings }, stringData: { key: 'b' } }],
];

/** A pod, of a random kind by default. */
export function makeNodePod(name: string, random: Random, kind = random.pick(Object.keys(podKinds))): Json {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels: { [kindLabel]: kind } },
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 5,
      ...podKinds[kind]!.spec(random),
    },
  };
}

export function kindOf({ metadata }: Json): string {
  return metadata.labels[kindLabel];
}

/**
 * Whether a pod has reached the state of its kind.
 * @param mayHaveEnded true if it may also be Succeeded or Failed: like the kubelet's, an evicted one whose containers end with 0 is Succeeded
 */
export function hasArrived(pod: Json, mayHaveEnded: boolean): boolean {
  const { hasArrived = (): boolean => true } = podKinds[kindOf(pod)]!;
  return hasArrived(pod.status) || (mayHaveEnded && isTerminal(pod));
}

export function isTerminal({ status }: Json): boolean {
  return status.phase === 'Succeeded' || status.phase === 'Failed';
}
