import { describe, expect, it } from 'vitest';
import { computePodActions } from '../../src/agent/actions/compute-pod-actions.ts';
import { noProbeResults } from '../../src/node/probes/probe-results.ts';
import { podStatusFromRuntime } from '../../src/agent/pleg/pod-status-from-runtime.ts';

const withSandboxes = { runPodSandbox: () => Promise.resolve('sandbox') };
const withoutSandboxes = {};
const pod = { metadata: { uid: 'uid' }, spec: { containers: [{ name: 'app' }] } };
const container = (id: string, createdAtMs: number) => ({
  id,
  name: 'app',
  state: 'exited' as const,
  sandboxID: 'new',
  createdAtMs,
});

describe('podStatusFromRuntime', () => {
  it('lists sandboxes and containers newest first, whatever the order of the runtime', () => {
    const runtimePod = {
      uid: 'uid',
      name: 'pod',
      namespace: 'default',
      sandboxes: [
        { id: 'old', ready: false, createdAtMs: 1 },
        { id: 'new', ready: true, createdAtMs: 2, network: { ip: '10.0.0.1', additionalIPs: ['fd00::1'] } },
      ],
      containers: [container('a', 1), container('b', 2)],
    };
    const status = podStatusFromRuntime(pod, runtimePod, withSandboxes);
    expect(status.sandboxes.map(({ id }) => id)).toEqual(['new', 'old']);
    expect(status.containers.map(({ id }) => id)).toEqual(['b', 'a']);
    expect(status.ips).toEqual(['10.0.0.1', 'fd00::1']);
  });

  it('identifies the newest run by its attempt, so that a run started after the wall clock was set back is not duplicated', () => {
    const run = (id: string, name: string, createdAtMs: number, attempt: number) => {
      return { ...container(id, createdAtMs), name, attempt };
    };
    const containers = [run('a0', 'a', 3000, 0), run('b0', 'b', 2000, 0), run('a2', 'a', 20, 2), run('a1', 'a', 10, 1)];
    const sandboxes = [
      { id: 's0', ready: false, createdAtMs: 3000 },
      { id: 's1', ready: true, createdAtMs: 10, attempt: 1 },
    ];
    const status = podStatusFromRuntime(
      pod,
      { uid: 'uid', name: 'pod', namespace: 'default', sandboxes, containers },
      withSandboxes,
    );
    expect(status.containers.map(({ id }) => id)).toEqual(['a2', 'b0', 'a1', 'a0']);
    expect(status.sandboxes.map(({ id }) => id)).toEqual(['s1', 's0']);
  });

  it.each([
    ['that is not ready', { ready: false, network: { ip: '10.0.0.1' } }],
    ['without a network', { ready: true }],
  ])('has no addresses of a sandbox %s', (_, sandbox) => {
    const runtimePod = {
      uid: 'uid',
      name: 'pod',
      namespace: 'default',
      sandboxes: [{ id: 's', ...sandbox }],
      containers: [],
    };
    expect(podStatusFromRuntime(pod, runtimePod, withSandboxes).ips).toEqual([]);
  });

  it.each([false, true])('a runtime without sandboxes never needs one, hostNetwork %s', (hostNetwork) => {
    const hostPod = { ...pod, spec: { ...pod.spec, hostNetwork } };
    const status = podStatusFromRuntime(hostPod, undefined, withoutSandboxes);
    expect(computePodActions(hostPod, status, noProbeResults)).toMatchObject({
      killPod: false,
      createSandbox: false,
      sandboxID: '',
      containersToStart: pod.spec.containers,
    });
  });

  it('containers of a runtime without sandboxes count as present', () => {
    const initialized = {
      ...pod,
      spec: { ...pod.spec, initContainers: [{ name: 'init' }], restartPolicy: 'Never' },
    };
    const runtimePod = {
      uid: 'uid',
      name: 'pod',
      namespace: 'default',
      ips: ['192.168.0.1'],
      containers: [{ ...container('a', 1), state: 'running' as const, sandboxID: undefined }],
    };
    const status = podStatusFromRuntime(initialized, runtimePod, withoutSandboxes);
    expect(status.ips).toEqual(['192.168.0.1']);
    expect(computePodActions(initialized, status, noProbeResults).initContainersToStart).toEqual([]);
  });

  it('a pod that is unknown to a runtime with sandboxes needs its first sandbox', () => {
    expect(computePodActions(pod, podStatusFromRuntime(pod, undefined, withSandboxes), noProbeResults)).toMatchObject({
      createSandbox: true,
      attempt: 0,
      sandboxID: '',
    });
  });
});
