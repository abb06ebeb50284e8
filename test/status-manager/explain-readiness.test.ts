import { describe, expect, it } from 'vitest';
import type { UnreadyCause } from '../../src/status-manager/explain/unready-causes.ts';
import { generateAPIPodStatus } from '../../src/status-manager/index.ts';
import type { ContainerStatusInput, Pod, PodSpec, PodStatusInput } from '../../src/kube/objects/types.ts';
import { podOf, SyncHarness, uidOf } from './sync/sync-harness.ts';

const probe = { httpGet: { port: 80 } };
const spec: PodSpec = { containers: [{ name: 'app' }] };
const running = (name: string, fields: Partial<ContainerStatusInput> = {}): ContainerStatusInput => ({
  name,
  state: { running: {} },
  ready: false,
  started: true,
  ...fields,
});

interface Row {
  readonly state: string;
  readonly spec?: PodSpec;
  /** Of the API object. */
  readonly apiStatus?: PodStatusInput;
  readonly containerStatuses?: readonly ContainerStatusInput[];
  readonly initContainerStatuses?: readonly ContainerStatusInput[];
  readonly causes: readonly object[];
  /** What follows `Ready=False since 03:04:05Z because `. */
  readonly because: string;
}

const rows = {
  'readiness-probe': [
    {
      state: 'a readiness probe that has not passed',
      spec: { containers: [{ name: 'app', readinessProbe: probe }] },
      containerStatuses: [running('app')],
      causes: [{ kind: 'readiness-probe', containerName: 'app', isInitContainer: false }],
      because: 'container app has not passed its readiness probe',
    },
    {
      state: 'two containers, of which one is ready, and a sidecar',
      spec: {
        initContainers: [{ name: 'proxy', restartPolicy: 'Always', readinessProbe: probe }],
        containers: [{ name: 'app', readinessProbe: probe }, { name: 'log' }],
      },
      initContainerStatuses: [running('proxy')],
      containerStatuses: [running('app'), running('log', { ready: true })],
      causes: [
        { kind: 'readiness-probe', containerName: 'proxy', isInitContainer: true },
        { kind: 'readiness-probe', containerName: 'app' },
      ],
      because:
        'init container proxy has not passed its readiness probe and container app has not passed its readiness probe',
    },
  ],
  'startup-probe': [
    {
      state: 'a startup probe that has not passed',
      spec: { containers: [{ name: 'app', startupProbe: probe, readinessProbe: probe }] },
      containerStatuses: [running('app', { started: false })],
      causes: [{ kind: 'startup-probe', containerName: 'app' }],
      because: 'container app has not passed its startup probe',
    },
  ],
  'container-not-ready': [
    {
      state: 'a container without probes that the agent did not set ready',
      containerStatuses: [running('app')],
      causes: [{ kind: 'container-not-ready', containerName: 'app' }],
      because: 'container app is running, and the agent has not set it ready',
    },
  ],
  'container-waiting': [
    {
      state: 'CrashLoopBackOff',
      containerStatuses: [
        running('app', { state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 10s\nrestarting' } } }),
      ],
      causes: [
        {
          kind: 'container-waiting',
          containerName: 'app',
          reason: 'CrashLoopBackOff',
          message: 'back-off 10s\nrestarting',
        },
      ],
      because: 'container app is waiting (CrashLoopBackOff: back-off 10s restarting)',
    },
    {
      state: 'a container status without a state',
      containerStatuses: [running('app', { state: {} })],
      causes: [{ kind: 'container-waiting', reason: undefined }],
      because: 'container app is waiting',
    },
  ],
  'container-terminated': [
    {
      state: 'a container that has exited and is restarted later',
      spec: { ...spec, restartPolicy: 'Always' },
      containerStatuses: [running('app', { state: { terminated: { exitCode: 3, reason: 'Error' } } })],
      causes: [{ kind: 'container-terminated', exitCode: 3, reason: 'Error' }],
      because: 'container app exited with code 3 (Error)',
    },
  ],
  'container-unknown': [
    {
      state: 'a container without a status',
      spec: { containers: [{ name: 'app' }, { name: 'log' }] },
      containerStatuses: [running('log', { ready: true })],
      causes: [{ kind: 'container-unknown', containerName: 'app' }],
      because: 'container app has no status',
    },
  ],
  'init-container-running': [
    {
      state: 'an init container that has not completed comes alone',
      spec: { initContainers: [{ name: 'setup' }, { name: 'later' }], containers: [{ name: 'app' }] },
      initContainerStatuses: [
        running('setup'),
        running('later', { state: { waiting: { reason: 'PodInitializing' } } }),
      ],
      containerStatuses: [running('app', { state: { waiting: { reason: 'PodInitializing' } } })],
      causes: [{ kind: 'init-container-running', containerName: 'setup', isInitContainer: true }],
      because: 'init container setup has not completed',
    },
  ],
  'readiness-gate': [
    {
      state: 'readiness gates that are missing and False',
      spec: {
        containers: [{ name: 'app' }],
        readinessGates: [
          { conditionType: 'example.com/a' },
          { conditionType: 'example.com/b' },
          { conditionType: 'example.com/c' },
        ],
      },
      apiStatus: {
        conditions: [
          { type: 'example.com/b', status: 'False' },
          { type: 'example.com/c', status: 'True' },
        ],
      },
      containerStatuses: [running('app', { ready: true })],
      causes: [
        { kind: 'readiness-gate', conditionType: 'example.com/a', status: undefined },
        { kind: 'readiness-gate', conditionType: 'example.com/b', status: 'False' },
      ],
      because: 'readiness gate example.com/a is missing and readiness gate example.com/b is not True but False',
    },
  ],
  'terminal-phase': [
    {
      state: 'a pod that has completed',
      spec: { ...spec, restartPolicy: 'Never' },
      containerStatuses: [running('app', { state: { terminated: { exitCode: 0, reason: 'Completed' } } })],
      causes: [{ kind: 'terminal-phase', phase: 'Succeeded' }],
      because: 'the pod has completed',
    },
    {
      state: 'a pod that has failed',
      spec: { ...spec, restartPolicy: 'Never' },
      containerStatuses: [running('app', { state: { terminated: { exitCode: 137, reason: 'OOMKilled' } } })],
      causes: [
        { kind: 'terminal-phase', phase: 'Failed' },
        { kind: 'container-terminated', exitCode: 137 },
      ],
      because: 'the pod has failed and container app exited with code 137 (OOMKilled)',
    },
  ],
  condition: [
    {
      state: 'nothing that the containers or gates tell: the gate has become True since',
      spec: { containers: [{ name: 'app' }], readinessGates: [{ conditionType: 'example.com/a' }] },
      containerStatuses: [running('app', { ready: true })],
      apiStatus: { conditions: [{ type: 'example.com/a', status: 'True' }] },
      causes: [{ kind: 'condition', reason: 'ReadinessGatesNotReady' }],
      because: 'ReadinessGatesNotReady: corresponding condition of pod readiness gate "example.com/a" does not exist.',
    },
  ],
} satisfies Record<UnreadyCause['kind'], readonly Row[]>;

function explain({ spec: rowSpec = spec, apiStatus, containerStatuses = [], initContainerStatuses }: Row) {
  const h = new SyncHarness();
  const pod: Pod = { ...podOf('a'), spec: rowSpec };
  const status = generateAPIPodStatus(pod, { containerStatuses, initContainerStatuses });
  h.podManager.addPod({ ...pod, status: apiStatus ?? {} });
  h.manager.setPodStatus(pod, status);
  return h.manager.explain(uidOf('a'));
}

describe.each(Object.entries(rows) as [string, readonly Row[]][])(
  'explain() of a pod that is not ready: %s',
  (_kind, list) => {
    it.each(list)('$state', (row) => {
      const { ready, sentence } = explain(row);
      expect(ready).toMatchObject({ status: 'False', since: '2026-01-02T03:04:05Z' });
      expect(ready!.causes).toHaveLength(row.causes.length);
      expect(ready!.causes).toMatchObject(row.causes);
      expect(sentence).toContain(`, Ready=False since 03:04:05Z because ${row.because}; version 1 was set just now`);
    });
  },
);

it('a ready pod has no causes', () => {
  const { ready, sentence } = explain({
    state: 'ready',
    containerStatuses: [running('app', { ready: true })],
    causes: [],
    because: '',
  });
  expect(ready).toEqual({ status: 'True', since: '2026-01-02T03:04:05Z', causes: [] });
  expect(sentence).toMatch(/^default\/a is Running, Ready=True since 03:04:05Z; version 1/);
});

it('without the pod, the status alone tells which containers there are', () => {
  const h = new SyncHarness();
  const conditions = [{ type: 'Ready', status: 'False', reason: 'ContainersNotReady' }];
  h.manager.setPodStatus(podOf('a'), { phase: 'Running', conditions, containerStatuses: [running('app')] });
  expect(h.manager.explain(uidOf('a')).ready!.causes).toEqual([
    { kind: 'container-not-ready', containerName: 'app', isInitContainer: false },
  ]);
});
