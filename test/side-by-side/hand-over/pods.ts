import type { Json } from '../../support/kube-http.ts';
import { app, forever, stubborn } from '../shape.ts';

/** A pod that stays in one state while one agent hands over to the other. */
export interface HandOverPod {
  readonly name: string;
  readonly spec: Json;
  /** True when a watcher sees the state. */
  readonly isThere: (status: Json) => boolean;
  /** It is deleted when it is ready; its containers end after the test. */
  readonly deleted?: boolean;
  /** Paths below status that change by themselves in this state, or that the kubelet changes after a restart of its own. */
  readonly changes?: RegExp;
  /** Paths that only the kubelet changes, which docs/parity.md lists. */
  readonly changesByKubelet?: RegExp;
}

const exec = (command: string, more: object = {}): Json => ({
  exec: { command: ['sh', '-c', command] },
  periodSeconds: 1,
  ...more,
});
const phase = (phase: string) => (status: Json) => status?.phase === phase;
const ready = (status: Json): boolean =>
  status?.conditions?.some((condition: Json) => condition.type === 'Ready' && condition.status === 'True') ?? false;
const state = (list: string, matches: (container: Json) => unknown) => (status: Json) =>
  Boolean(matches(status?.[list]?.[0] ?? {}));
const waiting = (reason: string) => state('containerStatuses', ({ state }) => state?.waiting?.reason === reason);
const running = state('containerStatuses', ({ state }) => state?.running);
const initRunning = state('initContainerStatuses', ({ state }) => state?.running);
const sidecar = app(forever, { name: 'side', restartPolicy: 'Always' });
const never = { restartPolicy: 'Never' };
const volume = { name: 'v', mountPath: '/v' };

/** Back-offs are in the memory of an agent, so the next one tries again sooner. */
const backOff = /^(initContainerStatuses|containerStatuses)|^phase$|^conditions/;

/** So is the reason why a container did not start: until the next try it is the one of a container that was never tried. */
const startFailure = /^containerStatuses\[app\]\.state\.waiting\./;

/** The next agent completes the status: `SyncTerminatedPod` of the kubelet. Why the pod was rejected stays. */
const rejected = /^(?!(phase|reason|message|qosClass|startTime)$)/;

/** The addresses of a pod without a ready sandbox are in the memory of an agent: `getPodIPs` of the kubelet. */
const addresses = /^podIPs?\b/;

export const handOverPods: readonly HandOverPod[] = [
  { name: 'runs', spec: { containers: [app(forever)] }, isThere: ready },
  {
    name: 'three-containers',
    spec: { containers: [app(forever), app(forever, { name: 'b' }), app(forever, { name: 'c' })] },
    isThere: ready,
  },
  {
    name: 'one-of-two-ended',
    spec: { restartPolicy: 'OnFailure', containers: [app('sleep 1'), app(forever, { name: 'b' })] },
    isThere: state('containerStatuses', ({ state }) => state?.terminated),
  },
  { name: 'ready-by-exec', spec: { containers: [app(forever, { readinessProbe: exec('true') })] }, isThere: ready },
  { name: 'unready', spec: { containers: [app(forever, { readinessProbe: exec('false') })] }, isThere: running },
  {
    name: 'live',
    spec: { containers: [app(forever, { livenessProbe: exec('true'), startupProbe: exec('true') })] },
    isThere: ready,
  },
  {
    name: 'starting',
    spec: { containers: [app(forever, { startupProbe: exec('false', { failureThreshold: 1000 }) })] },
    isThere: running,
    changesByKubelet: /^(containerStatuses\[app\]\.(started|ready)|conditions\[(Ready|ContainersReady)\]\..*)$/,
  },
  { name: 'sidecar', spec: { initContainers: [sidecar], containers: [app(forever)] }, isThere: ready },
  {
    name: 'initialising',
    spec: { initContainers: [app(forever, { name: 'first' })], containers: [app(forever)] },
    isThere: initRunning,
  },
  {
    name: 'initialised',
    spec: { initContainers: [app('sleep 1', { name: 'first' })], containers: [app(forever)] },
    isThere: ready,
  },
  {
    name: 'init-crash-loop',
    spec: { initContainers: [app('exit 1', { name: 'first' })], containers: [app(forever)] },
    isThere: state('initContainerStatuses', ({ restartCount }) => restartCount > 0),
    changes: backOff,
  },
  {
    name: 'crash-loop',
    spec: { containers: [app('exit 1')] },
    isThere: state('containerStatuses', ({ restartCount }) => restartCount > 0),
    changes: backOff,
  },
  {
    name: 'succeeded',
    spec: { ...never, containers: [app('sleep 1')] },
    isThere: phase('Succeeded'),
    changes: addresses,
  },
  {
    name: 'failed',
    spec: { ...never, containers: [app('sleep 1; exit 3')] },
    isThere: phase('Failed'),
    changes: addresses,
  },
  {
    name: 'past-deadline',
    spec: { activeDeadlineSeconds: 1, containers: [app(forever)] },
    isThere: phase('Failed'),
    changes: addresses,
  },
  {
    name: 'image-name-invalid',
    spec: { containers: [app(forever, { image: 'BAD//name' })] },
    isThere: waiting('InvalidImageName'),
    changes: startFailure,
  },
  {
    name: 'image-never-pulled',
    spec: { containers: [app(forever, { image: 'docker.io/library/none:1', imagePullPolicy: 'Never' })] },
    isThere: waiting('ErrImageNeverPull'),
    changes: startFailure,
  },
  {
    name: 'config-map-missing',
    spec: { containers: [app(forever, { envFrom: [{ configMapRef: { name: 'none' } }] })] },
    isThere: waiting('CreateContainerConfigError'),
    changes: startFailure,
  },
  {
    name: 'out-of-cpu',
    spec: { containers: [app(forever, { resources: { requests: { cpu: '64' } } })] },
    isThere: phase('Failed'),
    changes: rejected,
  },
  { name: 'host-network', spec: { hostNetwork: true, containers: [app(forever)] }, isThere: ready },
  {
    name: 'volumes',
    spec: {
      automountServiceAccountToken: true,
      volumes: [{ name: 'v', configMap: { name: 'kube-root-ca.crt' } }],
      containers: [app(forever, { volumeMounts: [volume] })],
    },
    isThere: ready,
  },
  {
    name: 'guaranteed',
    spec: { containers: [app(forever, { resources: { limits: { cpu: '50m', memory: '32Mi' } } })] },
    isThere: ready,
  },
  {
    name: 'terminating',
    spec: { terminationGracePeriodSeconds: 600, containers: [app(stubborn)] },
    isThere: ready,
    deleted: true,
  },
];
