import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec } from 'kubelet-status-manager';
import { createNodeAgent, type NodeAgentNode, type PodSource } from 'kubelet-status-manager/agent';
import { FakeClock, FakeContainerRuntime, recordingLogger } from 'kubelet-status-manager/testing';
import { TestCluster } from './test-cluster.ts';

const node: NodeAgentNode = { nodeStatus: () => ({ capacity: { cpu: '1', memory: '1Gi', pods: '10' } }) };
const appWith = (cpu: string): Container => ({ name: 'app', image: 'app:1', resources: { requests: { cpu } } });
const podOf = (name: string, cpu: string, spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name },
  spec: { terminationGracePeriodSeconds: 5, containers: [appWith(cpu)], ...spec },
});

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start();
});
afterEach(() => cluster[Symbol.asyncDispose]());

describe('admission on the agent’s own Node', () => {
  it('a pod that does not fit fails with an event and is never started; canAdmitPod is called only for pods that fit', async () => {
    const asked: unknown[] = [];
    await cluster.startAgent({ node, canAdmitPod: ({ pod }) => (asked.push(pod.metadata?.name), { admit: true }) });
    await cluster.advance(2000);
    await cluster.create(podOf('web', '600m'));
    const uid = await cluster.create(podOf('big', '500m'));
    await cluster.advance(2000);
    expect(cluster.status('web')?.phase).toBe('Running');
    expect(cluster.status('big')).toMatchObject({
      phase: 'Failed',
      reason: 'OutOfcpu',
      message: "Pod was rejected: Node didn't have enough resource: cpu, requested: 500, used: 600, capacity: 1000",
    });
    expect(cluster.podEvents()).toContain('big: OutOfcpu');
    expect(cluster.starts(uid, 'app')).toBe(0);
    expect(asked).toEqual(['web']);
  });

  it('a pod whose node selector fits a label that the Node has just got is admitted', async () => {
    const agent = await cluster.startAgent({ node });
    await cluster.advance(2000);
    cluster.server.nodes.patch('node-a', { metadata: { labels: { disk: 'ssd' } } });
    expect(agent.getNode()?.metadata.labels).not.toHaveProperty('disk');
    await cluster.create(podOf('fast', '100m', { nodeSelector: { disk: 'ssd' } }));
    await cluster.create(podOf('slow', '100m', { nodeSelector: { disk: 'hdd' } }));
    await cluster.advance(2000);
    expect(cluster.status('fast')?.phase).toBe('Running');
    expect(cluster.status('slow')).toMatchObject({ phase: 'Failed', reason: 'NodeAffinity' });
    expect(agent.getNode()?.metadata.labels).toHaveProperty('disk', 'ssd');
  });

  it('a pod is admitted when a taint that it does not tolerate has just been removed', async () => {
    const agent = await cluster.startAgent({ node });
    await cluster.advance(2000);
    const taint = { key: 'maintenance', effect: 'NoExecute' };
    cluster.server.nodes.patch('node-a', { spec: { taints: [taint] } });
    await cluster.advance(20_000);
    expect(agent.getNode()?.spec?.taints).toMatchObject([taint]);
    cluster.server.nodes.patch('node-a', { spec: { taints: [] } });
    await cluster.create(podOf('web', '100m'));
    await cluster.advance(2000);
    expect(cluster.status('web')?.phase).toBe('Running');
  });

  it('unsafe sysctls are refused unless the option allows them', async () => {
    await cluster.startAgent({ node, allowedUnsafeSysctls: ['net.core.*'] });
    await cluster.advance(2000);
    const withSysctl = (name: string, sysctl: string): Pod =>
      podOf(name, '10m', { securityContext: { sysctls: [{ name: sysctl, value: '1' }] } });
    await cluster.create(withSysctl('allowed', 'net.core.somaxconn'));
    await cluster.create(withSysctl('forbidden', 'kernel.msgmax'));
    await cluster.advance(3000);
    expect(cluster.status('allowed')?.phase).toBe('Running');
    expect(cluster.status('forbidden')).toMatchObject({ phase: 'Failed', reason: 'SysctlForbidden' });
  });

  it('a resize for which there is no room is deferred, and done when another pod is gone', async () => {
    await cluster.startAgent({ node });
    await cluster.advance(2000);
    await cluster.create(podOf('other', '600m'));
    await cluster.create(podOf('web', '300m'));
    await cluster.advance(2000);
    const body = { spec: { containers: [{ name: 'app', resources: { requests: { cpu: '500m' } } }] } };
    const contentType = 'application/strategic-merge-patch+json';
    const path = '/api/v1/namespaces/default/pods/web/resize';
    const { transport } = cluster.server.client();
    await transport.request('PATCH', path, { body, contentType });
    await transport.close();
    await cluster.advance(2000);
    const pending = (): unknown => cluster.status('web')?.conditions?.find(({ type }) => type === 'PodResizePending');
    expect(pending()).toMatchObject({
      reason: 'Deferred',
      message: "Node didn't have enough resource: cpu, requested: 500, used: 600, capacity: 1000",
    });
    cluster.server.pods.delete('default', 'other');
    await cluster.advance(8000);
    expect(pending()).toBeUndefined();
    expect(cluster.status('web')?.containerStatuses?.[0]?.allocatedResources).toMatchObject({ cpu: '500m' });
  });

  it('a critical pod preempts another one, which fails with the reason Preempting and is counted', async () => {
    const measured: unknown[] = [];
    const recordKubeletMetric = (name: string, value: number, label?: string): void => {
      if (name === 'preemptions') measured.push([value, label]);
    };
    const agent = await cluster.startAgent({ node, metrics: { incOutcomes: () => {}, recordKubeletMetric } });
    await cluster.advance(2000);
    const uid = await cluster.create(podOf('web', '600m'));
    await cluster.advance(2000);
    await cluster.create(podOf('critical', '900m', { priorityClassName: 'system-cluster-critical' }));
    await cluster.advance(8000);
    expect(cluster.status('critical')?.phase).toBe('Running');
    expect(cluster.status('web')).toMatchObject({
      phase: 'Failed',
      reason: 'Preempting',
      message: 'Preempted in order to admit critical pod',
    });
    expect(cluster.podEvents()).toContain('web: Preempting');
    expect(measured).toEqual([[1, 'cpu']]);
    expect(agent.shouldPodContentBeRemoved(uid)).toBe(true);
    expect(agent.shouldPodContentBeRemoved(cluster.pod('critical')!.metadata!.uid!)).toBe(false);
  });
});

it('without an API server, static pods are checked against the Node that the options describe', async () => {
  const [clock, runtime] = [new FakeClock(), new FakeContainerRuntime()];
  const statuses = new Map<string | undefined, string | undefined>();
  const source: PodSource = {
    name: 'store',
    start: (sink, { staticPods }) =>
      sink(
        [podOf('web', '600m'), podOf('linux', '100m', { nodeSelector: { disk: 'ssd' } })].flatMap((pod) =>
          staticPods({ apiVersion: 'v1', kind: 'Pod', ...pod }, 'store'),
        ),
      ),
    stop: async () => {},
  };
  const logger = recordingLogger();
  const agent = createNodeAgent({ nodeName: 'node-a', runtime, sources: [source], node, clock, logger });
  agent.statusManager.subscribe({
    onPodUpdated: (pod, { reason }) => void statuses.set(pod.metadata?.name, reason),
  });
  agent.start();
  await clock.advanceAsync(3000);
  expect(agent.getNode()).toMatchObject({
    metadata: { name: 'node-a', labels: { 'kubernetes.io/hostname': 'node-a' } },
    status: { allocatable: { cpu: '1' } },
  });
  expect(statuses.get('linux-node-a')).toBe('NodeAffinity');
  expect(statuses.has('web-node-a')).toBe(true);
  expect(statuses.get('web-node-a')).toBeUndefined();
  await agent.stop();
});

it('node: false: the Node is unknown, and checks that need it are skipped', async () => {
  const agent = await cluster.startAgent({ node: false });
  await cluster.advance(2000);
  await cluster.create(podOf('web', '900', { nodeSelector: { disk: 'ssd' } }));
  await cluster.advance(2000);
  expect(cluster.status('web')?.phase).toBe('Running');
  expect(agent.getNode()).toBeUndefined();
});
