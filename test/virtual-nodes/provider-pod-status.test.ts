import { describe, expect, it } from 'vitest';
import type { PodSpec, ValidPod } from 'kubelet-status-manager';
import type { ProviderContainer, ProviderPod } from 'kubelet-status-manager/virtual-nodes';
import { generatePodStatus } from '../../src/node/status/generate-pod-status.ts';
import {
  reportedProbeResults,
  runtimePodStatus,
  waitingReason,
  withoutWaitingRuns,
} from '../../src/virtual-nodes/pods/provider-pod-status.ts';

const nowMs = Date.UTC(2026, 0, 2);
const pod = (spec: Partial<PodSpec> = {}): ValidPod => ({
  metadata: { uid: 'u-1', namespace: 'default', name: 'web' },
  spec: { containers: [{ name: 'app', image: 'app:1' }], ...spec },
});
const reported = (fields: Partial<ProviderPod>): ProviderPod => ({
  ...{ uid: 'u-1', namespace: 'default', name: 'web', nodeName: 'node-a', state: 'running' },
  ...fields,
});

function statusOf(spec: Partial<PodSpec>, cloud: ProviderPod | undefined, previous?: ValidPod['status']) {
  const runtimeStatus = runtimePodStatus(pod(spec), cloud, { previous, nowMs });
  return generatePodStatus(pod(spec), {
    ...{ runtimeStatus, podIsTerminal: cloud?.state === 'stopped' },
    previous: withoutWaitingRuns(pod(spec), cloud, previous),
    startFailures: { get: (name) => waitingReason(cloud, name) },
    probeResults: reportedProbeResults(pod(spec), runtimeStatus, cloud),
  });
}

/** The state of each container by name: `running`, `terminated 0`, `waiting ImagePullBackOff`. */
function statesOf(spec: Partial<PodSpec>, cloud: ProviderPod | undefined): Record<string, string> {
  const { initContainerStatuses, containerStatuses, ephemeralContainerStatuses } = statusOf(spec, cloud);
  const all = [...(initContainerStatuses ?? []), ...(containerStatuses ?? []), ...(ephemeralContainerStatuses ?? [])];
  return Object.fromEntries(
    all.map(({ name, state }) => {
      const detail = state?.terminated?.exitCode ?? state?.waiting?.reason;
      return [name!, [Object.keys(state ?? {})[0], detail].filter((part) => part !== undefined).join(' ')];
    }),
  );
}

const all: Partial<PodSpec> = {
  initContainers: [
    { name: 'init', image: 'init:1' },
    { name: 'proxy', image: 'proxy:1', restartPolicy: 'Always' },
  ],
  ephemeralContainers: [{ name: 'debug', image: 'debug:1' }],
};

describe('containers that the cloud does not list', () => {
  it.each([
    ['creating', undefined, ['waiting PodInitializing', 'waiting PodInitializing', 'waiting PodInitializing']],
    ['running', undefined, ['waiting NotReportedByProvider', 'running', 'running']],
    ['stopped', undefined, ['terminated 137', 'terminated 137', 'terminated 137']],
    ['stopped', 'Preempted', ['terminated 137', 'terminated 137', 'terminated 137']],
  ] as const)('of a pod that is %s with the reason %s', (state, reason, [init, proxy, app]) => {
    const debug = state === 'running' ? 'waiting NotReportedByProvider' : 'waiting PodInitializing';
    expect(statesOf(all, reported({ state, reason }))).toEqual({ init, proxy, app, debug });
  });
});

describe('containers that the cloud lists', () => {
  const app = (fields: Partial<ProviderContainer>): ProviderPod =>
    reported({ containers: [{ name: 'app', ...fields }] });

  it('wait with a reason, run, or have ended', () => {
    expect(statesOf({}, app({ waiting: { reason: 'ImagePullBackOff' } }))).toEqual({ app: 'waiting ImagePullBackOff' });
    expect(statesOf({}, app({}))).toEqual({ app: 'running' });
    expect(statesOf({}, app({ exit: { exitCode: 5 } }))).toEqual({ app: 'terminated 5' });
  });

  it('run in a pod that is being created once they have started', () => {
    const containers = [{ name: 'init', startedAt: new Date(nowMs) }];
    expect(statesOf(all, reported({ state: 'creating', containers }))).toMatchObject({
      init: 'running',
      app: 'waiting PodInitializing',
    });
  });

  it('that still wait when the pod is stopped have failed, so that the pod ends', () => {
    const cloud = { ...app({ waiting: { reason: 'ImagePullBackOff' } }), state: 'stopped' } as const;
    expect(statusOf({}, cloud)).toMatchObject({ phase: 'Failed' });
  });

  it.each([
    [{}, true, true],
    [{ ready: false }, false, true],
    [{ started: false }, false, false],
    [{ ready: true, started: true }, true, true],
  ])('with %o: ready %s, started %s, with or without probes in the spec', (fields, ready, started) => {
    const probe = { exec: { command: ['true'] } };
    const probed = { containers: [{ name: 'app', image: 'app:1', readinessProbe: probe, startupProbe: probe }] };
    for (const spec of [{}, probed])
      expect(statusOf(spec, app(fields)).containerStatuses?.[0]).toMatchObject({ ready, started });
  });

  it('that are not in the spec are ignored', () => {
    const containers = [{ name: 'constructor' }, { name: '__proto__' }, { name: 'app' }];
    expect(statesOf({}, reported({ containers }))).toEqual({ app: 'running' });
  });

  it('leave the others waiting with a reason: neither their start nor their end is invented', () => {
    const status = statusOf(all, app({}));
    const waiting = { reason: 'NotReportedByProvider', message: 'The provider reports the pod without this container' };
    expect(status.initContainerStatuses).toMatchObject([{ state: { waiting } }, { state: { waiting } }]);
    expect(statesOf(all, reported({ containers: [{ name: 'init', exit: { exitCode: 0 } }] }))).toMatchObject({
      ...{ init: 'terminated 0', proxy: 'waiting NotReportedByProvider', app: 'waiting NotReportedByProvider' },
    });
  });
});

describe('times that the cloud does not report', () => {
  it('are when something was first seen, and stay', () => {
    const first = statusOf({}, reported({}));
    const startedAt = '2026-01-02T00:00:00Z';
    expect(first.containerStatuses?.[0]?.state).toEqual({ running: { startedAt } });
    const later = runtimePodStatus(pod(), reported({}), { previous: first, nowMs: nowMs + 60_000 });
    expect(later.containers[0]?.startedAtMs).toBe(nowMs);
    const ended = reported({ state: 'stopped' });
    const end = runtimePodStatus(pod(), ended, { previous: first, nowMs: nowMs + 60_000 });
    expect(end.containers[0]).toMatchObject({ startedAtMs: nowMs, finishedAtMs: nowMs + 60_000 });
  });

  it('of a restarted container are those of the new run', () => {
    const previous = statusOf({}, reported({}));
    const cloud = reported({ containers: [{ name: 'app', restartCount: 1 }] });
    const { containers } = runtimePodStatus(pod(), cloud, { previous, nowMs: nowMs + 60_000 });
    expect(containers[0]).toMatchObject({ attempt: 1, startedAtMs: nowMs + 60_000 });
  });
});

describe('PodReadyToStartContainers', () => {
  it.each([
    ['creating', undefined, 'False'],
    ['creating', ['10.0.0.1'], 'True'],
    ['running', undefined, 'True'],
    ['stopped', ['10.0.0.1'], 'False'],
  ] as const)('of a pod that is %s with the addresses %j is %s', (state, ips, status) => {
    for (const spec of [{}, { hostNetwork: true }])
      expect(statusOf(spec, reported({ state, ips })).conditions).toContainEqual(
        expect.objectContaining({ type: 'PodReadyToStartContainers', status }) as unknown,
      );
  });
});

describe('a container that waits to be restarted', () => {
  const waiting = { reason: 'CrashLoopBackOff', message: 'back-off 10s' };
  const running = statusOf({}, reported({}));
  const shown = (...[cloud, spec, previous = running]: [ProviderPod, Partial<PodSpec>?, ValidPod['status']?]) =>
    statusOf(spec ?? {}, cloud, previous).containerStatuses?.[0];
  const app = (fields: Partial<ProviderContainer>): ProviderPod =>
    reported({ containers: [{ name: 'app', ...fields }] });

  it.each([
    ['restarts once', app({ restartCount: 1, waiting }), 1],
    ['is started elsewhere', app({ waiting }), 0],
    ['is part of a pod that is created again', reported({ state: 'creating' }), 0],
  ])('has no made up end if the cloud does not say how it ended: it %s', (_, cloud, restartCount) => {
    expect(shown(cloud)).toMatchObject({ restartCount, state: { waiting: {} }, lastState: {} });
    expect(shown(cloud)?.lastState).toEqual({});
  });

  it('has the end that the cloud reports beside it', () => {
    const cloud = app({ restartCount: 1, waiting, exit: { exitCode: 3, reason: 'OOMKilled' } });
    expect(shown(cloud)).toMatchObject({
      ...{ restartCount: 1, state: { waiting } },
      lastState: { terminated: { exitCode: 3, reason: 'OOMKilled' } },
    });
    expect(shown(cloud, { restartPolicy: 'Never' })?.state).toMatchObject({ terminated: { exitCode: 3 } });
  });

  it('shows how often it was restarted before it is first seen', () => {
    expect(shown(app({ restartCount: 5, waiting }), {}, {})).toMatchObject({ restartCount: 5, state: { waiting } });
  });
});
