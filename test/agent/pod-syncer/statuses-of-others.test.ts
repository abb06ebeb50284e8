import { expect, it } from 'vitest';
import type { PodStatusInput, ValidPod } from 'kubelet-status-manager';
import { TestAgent } from './test-agent.ts';

// Whoever may write pods/status can set what the API server does not check.

const podOf = (status: PodStatusInput = {}): ValidPod => ({
  metadata: { uid: 'uid-1', name: 'web', namespace: 'ns' },
  spec: { restartPolicy: 'Always', terminationGracePeriodSeconds: 30, containers: [{ name: 'app', image: 'app:1' }] },
  status,
});

async function expectDeleted(agent: TestAgent): Promise<void> {
  await agent.delete('web', 1);
  await agent.advance(60_000);
  expect(agent.runtime.callsOf({ method: 'stopContainer' })).toHaveLength(1);
  expect(agent.client.pod('ns', 'web')).toBeUndefined();
}

it.each([
  ['another status than True, False or Unknown', { status: 'true' }],
  ['a large observedGeneration', { status: 'True', observedGeneration: 2 ** 53 }],
  ['a time of the year 10000', { status: 'True', lastTransitionTime: '10000-01-01T00:59:59Z' }],
])('a condition of another writer with %s does not keep a pod from being stopped', async (_what, condition) => {
  const agent = new TestAgent();
  await agent.create(podOf());
  await agent.advance(5000);
  const pod = agent.client.pod('ns', 'web')!;
  const conditions = [...(pod.status?.conditions ?? []), { type: 'example.com/gate', ...condition }];
  agent.client.put({ ...pod, status: { ...pod.status, conditions } });
  await agent.settle();
  await agent.advance(5000);
  await expectDeleted(agent);
  expect(agent.logger.errors).toEqual([]);
});

const running = { running: { startedAt: '2026-01-01T00:00:00Z' } };
const ended = { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } };
const waiting = { waiting: { reason: 'ContainerCreating' } };
it.each([
  ['two last states, as kubelets write them', { state: waiting, lastState: { ...waiting, ...ended } }],
  ['two states', { state: { ...running, ...ended }, lastState: {} }],
  ['as many restarts as the API can count', { state: running, lastState: {}, restartCount: 2 ** 31 - 1 }],
])('a pod whose container status has %s runs, and is stopped', async (_what, container) => {
  const agent = new TestAgent();
  const shown = { name: 'app', image: 'app:1', imageID: '', ready: false, restartCount: 1, ...container };
  await agent.create(podOf({ phase: 'Running', containerStatuses: [shown] }));
  await agent.advance(5000);
  expect(agent.runtime.pod('uid-1')?.containers.map(({ state }) => state)).toEqual(['running']);
  const { state, ready, restartCount } = agent.client.pod('ns', 'web')?.status?.containerStatuses?.[0] ?? {};
  expect([state, ready]).toMatchObject([{ running: {} }, true]);
  expect(restartCount).toBeLessThan(2 ** 31);
  await expectDeleted(agent);
  expect(agent.logger.errors).toEqual([]);
});
