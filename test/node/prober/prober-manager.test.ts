import { beforeEach, describe, expect, it } from 'vitest';
import {
  BasicPodManager,
  type ContainerStatus,
  type ValidPod,
  type PodStatus,
  StatusManager,
} from 'kubelet-status-manager';
import { timeFromEpochMs } from '../../../src/shared/time.ts';
import type { ProbeRequest, ProbeResult } from 'kubelet-status-manager/agent';
import { type ProberManagerOptions, ProberManager } from '../../../src/node/prober/prober-manager.ts';
import { FakeClock, FakePodClient, silentLogger } from 'kubelet-status-manager/testing';
import { asBounded } from '../../support/as-bounded.ts';
import { podScope } from '../../support/pod-scope.ts';

const start = Date.parse('2026-01-02T03:04:05Z');
const probe = { periodSeconds: 10 };
const podOf = (uid: string): ValidPod => ({
  metadata: { uid, name: 'web', namespace: 'ns' },
  spec: {
    initContainers: [
      { name: 'init', readinessProbe: probe },
      { name: 'sidecar', restartPolicy: 'Always', startupProbe: probe },
    ],
    containers: [{ name: 'plain' }, { name: 'app', startupProbe: probe, readinessProbe: probe, livenessProbe: probe }],
  },
});

let clock: FakeClock;
let probed: string[];
let updates: [probeType: string, podUID: string, containerID: string, result: string][];
let found: ProbeResult;
let statuses: Map<string, PodStatus>;
let prober: ProberManager;
beforeEach(() => {
  clock = new FakeClock(start);
  probed = [];
  updates = [];
  found = 'success';
  statuses = new Map();
  prober = newProber();
});

function newProber(overrides: Partial<ProberManagerOptions> = {}): ProberManager {
  return new ProberManager({
    clock,
    agentStartedMs: -3_600_000,
    recordMetric: () => {},
    getPodStatus: (uid) => statuses.get(uid),
    onUpdate: (probeType, { podUID, containerID, result }) => updates.push([probeType, podUID, containerID, result]),
    prober: asBounded({
      probe: ({ probeType, container }: ProbeRequest) => {
        probed.push(`${container.name}/${probeType}`);
        return Promise.resolve(found);
      },
    }),
    ...overrides,
  });
}

function runningStatus(started: boolean): PodStatus {
  const statusOf = (name: string): ContainerStatus => ({
    name,
    state: { running: { startedAt: timeFromEpochMs(start) } },
    lastState: {},
    ready: false,
    restartCount: 0,
    image: '',
    imageID: '',
    containerID: `test://${name}`,
    started,
  });
  return {
    phase: 'Running',
    containerStatuses: [statusOf('plain'), statusOf('app')],
    initContainerStatuses: [statusOf('sidecar')],
  };
}

describe('TestAddRemovePods', () => {
  it('has a worker for each probe of regular containers and sidecars, and none for others', () => {
    prober.addPod(
      {
        metadata: { uid: 'no_probe', name: 'web', namespace: 'ns' },
        spec: { containers: [{ name: 'plain' }] },
      },
      podScope(),
    );
    expect(prober.workerCount).toBe(0);
    prober.addPod(podOf('probed'), podScope());
    expect(prober.workerCount).toBe(4);
    prober.addPod(podOf('probed'), podScope());
    expect(prober.workerCount).toBe(4);
    prober.removePod('no_probe');
    prober.removePod('probed');
    prober.removePod('probed');
    expect([prober.workerCount, clock.pendingTimers]).toEqual([0, 0]);
  });
});

it('TestAddRemovePodsWithRestartableInitContainer', () => {
  const initContainers = [{ name: 'sidecar', restartPolicy: 'Always', startupProbe: probe, readinessProbe: probe }];
  prober.addPod(
    {
      metadata: { uid: 'a', name: 'web', namespace: 'ns' },
      spec: { initContainers, containers: [{ name: 'plain' }] },
    },
    podScope(),
  );
  expect(prober.workerCount).toBe(2);
  const [{ restartPolicy: _, ...initContainer }] = initContainers as [(typeof initContainers)[0]];
  prober.addPod(
    {
      metadata: { uid: 'b', name: 'web', namespace: 'ns' },
      spec: { initContainers: [initContainer], containers: [] },
    },
    podScope(),
  );
  expect(prober.workerCount).toBe(2);
  prober.removePod('a');
  expect([prober.workerCount, clock.pendingTimers]).toEqual([0, 0]);
});

it('TestAddPodContinuesAfterExistingWorker: behind a worker, one is added once its container has not ended for good', async () => {
  const containers = ['a', 'b'].map((name) => ({ name, readinessProbe: probe }));
  const pod: ValidPod = {
    metadata: { uid: 'uid', name: 'web', namespace: 'ns' },
    spec: { restartPolicy: 'Never', containers },
  };
  const [ended] = runningStatus(true).containerStatuses!;
  statuses.set('uid', {
    phase: 'Running',
    containerStatuses: [
      { ...ended!, name: 'b', state: { terminated: { exitCode: 0, startedAt: null, finishedAt: null } } },
    ],
  });
  prober.addPod(pod, podScope());
  await clock.advanceAsync(0);
  expect(prober.workerCount).toBe(1);
  prober.addPod(pod, podScope());
  expect(prober.workerCount).toBe(1);
  statuses.set('uid', { phase: 'Running', containerStatuses: [{ ...ended!, name: 'b' }] });
  prober.addPod(pod, podScope());
  expect(prober.workerCount).toBe(2);
  prober.cleanupPods([]);
});

describe('TestCleanupPods', () => {
  it('keeps the workers of the pods that are desired', () => {
    prober.addPod(podOf('old'), podScope());
    prober.addPod(podOf('kept'), podScope());
    prober.cleanupPods(['kept', 'unknown']);
    expect(prober.workerCount).toBe(4);
    prober.cleanupPods([]);
    expect([prober.workerCount, clock.pendingTimers]).toEqual([0, 0]);
  });
});

it('TestCleanupRepeated', () => {
  for (let i = 0; i < 100; i++) prober.addPod(podOf(`${i}`), podScope());
  for (let i = 0; i < 10; i++) prober.cleanupPods([]);
  expect([prober.workerCount, clock.pendingTimers]).toEqual([0, 0]);
});

describe('TestUpdateReadiness', () => {
  it('the readiness of the container follows the probes', async () => {
    const podManager = new BasicPodManager();
    const client = new FakePodClient([], { clock });
    const manager = new StatusManager({
      ...{ client, podManager, clock, logger: silentLogger },
      podDeletionSafety: { podCouldHaveRunningContainers: () => true },
    });
    const pod: ValidPod = {
      metadata: { uid: 'uid', name: 'p', namespace: 'ns' },
      spec: { containers: [{ name: 'app', readinessProbe: { ...probe, failureThreshold: 1 } }] },
    };
    podManager.addPod(pod);
    const [, app] = runningStatus(true).containerStatuses!;
    manager.setPodStatus(pod, { phase: 'Running', containerStatuses: [app!] });
    prober = newProber({
      getPodStatus: (uid) => manager.getPodStatus(uid),
      onUpdate: (_, { podUID, containerID, result }) =>
        void manager.setContainerReadiness(podUID, containerID, result === 'success'),
    });
    const isReady = () => manager.getPodStatus('uid')?.containerStatuses?.[0]?.ready;
    prober.addPod(pod, podScope());
    await clock.advanceAsync(0);
    expect(isReady()).toBe(true);
    found = 'failure';
    await clock.advanceAsync(10_000);
    expect(isReady()).toBe(false);
    prober.cleanupPods([]);
  });
});

describe('probing', () => {
  it('startup probes first, the others once the container has started', async () => {
    statuses.set('uid', runningStatus(false));
    prober.addPod(podOf('uid'), podScope());
    await clock.advanceAsync(0);
    expect(probed.sort()).toEqual(['app/startup', 'sidecar/startup']);
    expect(prober.results.startup.get('test://app')).toBe('success');

    statuses.set('uid', runningStatus(true));
    probed = [];
    await clock.advanceAsync(10_000);
    expect(probed.sort()).toEqual(['app/liveness', 'app/readiness']);
    expect(prober.results.readiness.get('test://app')).toBe('success');
    prober.removePod('uid');
    expect(prober.results.readiness.get('test://app')).toBeUndefined();
  });

  it('each change of a result is reported once', async () => {
    statuses.set('uid', runningStatus(true));
    prober.addPod(podOf('uid'), podScope());
    await clock.advanceAsync(30_000);
    expect(updates.filter(([probeType]) => probeType === 'readiness')).toEqual([
      ['readiness', 'uid', 'test://app', 'failure'],
      ['readiness', 'uid', 'test://app', 'success'],
    ]);
    prober.cleanupPods([]);
  });

  it('the regular containers of a pod that is being terminated are only probed for readiness', async () => {
    prober.addPod(podOf('uid'), podScope());
    prober.stopLivenessAndStartup(podOf('uid'));
    expect(prober.workerCount).toBe(2);
    statuses.set('uid', runningStatus(true));
    await clock.advanceAsync(10_000);
    expect(new Set(probed)).toEqual(new Set(['app/readiness']));
    statuses.set('uid', runningStatus(false));
    await clock.advanceAsync(10_000);
    expect(new Set(probed)).toEqual(new Set(['app/readiness', 'sidecar/startup']));
    prober.removePod('uid');
  });

  it('readiness that is not known yet is probed as soon as a status is made, and not again when it is', async () => {
    statuses.set('uid', runningStatus(false));
    prober.addPod(podOf('uid'), podScope());
    await clock.advanceAsync(1000);
    statuses.set('uid', runningStatus(true));
    probed = [];
    prober.triggerReadiness('uid', runningStatus(false));
    await clock.advanceAsync(0);
    expect(probed).toEqual([]);
    prober.triggerReadiness('uid', runningStatus(true));
    await clock.advanceAsync(0);
    expect(probed).toEqual(['app/readiness']);
    prober.triggerReadiness('uid', runningStatus(true));
    prober.triggerReadiness('unknown', runningStatus(true));
    await clock.advanceAsync(0);
    expect(probed).toEqual(['app/readiness']);
    prober.removePod('uid');
  });
});
