import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import { TestCluster } from './test-cluster.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start();
});
afterEach(() => cluster[Symbol.asyncDispose]());

const pod: Pod = { metadata: { name: 'web' }, spec: { containers: [{ name: 'app', image: 'app:1' }] } };

describe('evict', () => {
  it.each([
    ['by default', undefined, undefined, 2],
    ['as long as the agent gives', 20, undefined, 20],
    ['as long as is asked for', 20, 5, 5],
    ['not longer than its own grace period', 7200, undefined, 3600],
    ['not longer than its own grace period, if asked for', undefined, 7200, 3600],
  ])(
    'a pod with a grace period of an hour may end %s',
    async (_, maxPodGracePeriodSeconds, gracePeriodSeconds, ends) => {
      const agent = await cluster.startAgent({ eviction: { maxPodGracePeriodSeconds } });
      cluster.runtime.script('app', { stopMs: 7_200_000 });
      const uid = await cluster.create({ ...pod, spec: { ...pod.spec!, terminationGracePeriodSeconds: 3600 } });
      await cluster.advance(3000);
      void agent.evict(agent.getPods()[0]!, { message: 'x', gracePeriodSeconds }).catch(() => {});
      await cluster.advance(500);
      const [stop] = cluster.runtime.callsOf({ method: 'stopContainer', podUID: uid });
      expect(stop).toMatchObject({ gracePeriodSeconds: ends });
    },
  );

  it('a pod whose containers exit with 0 succeeds, and keeps the reason and the message', async () => {
    const agent = await cluster.startAgent();
    cluster.runtime.script('app', { stopMs: 1000, stopExitCode: 0 });
    await cluster.create(pod);
    await cluster.advance(3000);
    void agent.evict(agent.getPods()[0]!, { message: 'no memory is left' });
    await cluster.advance(60_000);
    const target = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' };
    expect(cluster.status('web')).toMatchObject({
      phase: 'Succeeded',
      reason: 'Evicted',
      message: 'no memory is left',
      conditions: expect.arrayContaining([expect.objectContaining(target)]),
    });
  });

  it('fails and kills the pod, and removes its exited containers', async () => {
    const agent = await cluster.startAgent();
    cluster.runtime.script('app', { stopMs: 3000 });
    const uid = await cluster.create(pod);
    await cluster.advance(3000);
    const eviction = { message: 'The node was low on resource: memory.', gracePeriodSeconds: 30 };
    const evicted = agent.evict(agent.getPods()[0]!, eviction);
    await cluster.advance(6000);
    expect(await evicted).toBe(true);
    // A container that was removed before its pod's worker saw how it ended once showed ContainerStatusUnknown.
    expect(cluster.status('web')).toMatchObject({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'The node was low on resource: memory.',
      containerStatuses: [{ state: { terminated: { exitCode: 143 } } }],
    });
    expect(cluster.status('web')?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
    );
    expect(cluster.podEvents()).toContain('web: Evicted');
    await cluster.advance(60_000);
    expect(cluster.runtime.pod(uid)).toBeUndefined();
    expect(cluster.status('web')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
  });

  it('does not modify a pod that has ended or was refused: its status keeps its own reason', async () => {
    const agent = await cluster.startAgent({
      canAdmitPod: ({ pod }) =>
        pod.metadata?.name === 'refused'
          ? { admit: false, reason: 'OutOfcpu', message: 'no cpu is left' }
          : { admit: true },
    });
    cluster.runtime.script('app', { exitAfterMs: 100 });
    await cluster.create({ ...pod, metadata: { name: 'refused' } });
    await cluster.create({ ...pod, spec: { ...pod.spec!, restartPolicy: 'Never' } });
    await cluster.advance(5000);
    for (const known of agent.getPods()) expect(await agent.evict(known, { message: 'x' })).toBe(false);
    await cluster.advance(20_000);
    expect(cluster.status('refused')).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' });
    expect(cluster.status('web')).toMatchObject({ phase: 'Succeeded' });
    expect(cluster.podEvents().filter((event) => event.endsWith('Evicted'))).toEqual([]);
  });

  it('refuses a pod that it does not have, and a malformed eviction', async () => {
    const agent = await cluster.startAgent();
    await expect(agent.evict(pod, { message: 'x' })).rejects.toThrow('Expected `pod` to be a pod of this agent');
    await cluster.create(pod);
    const [known] = agent.getPods();
    await expect(agent.evict(known!, {} as never)).rejects.toThrow('Expected `message` to be a string');
    await cluster.stopAgent();
    await expect(agent.evict(known!, { message: 'x' })).rejects.toThrow('The agent is not running');
  });
});

it('of a container that is started again and again, the last exited run is kept', async () => {
  cluster.runtime.script('app', { exitAfterMs: 1000, exitCode: 1 });
  await cluster.startAgent();
  const uid = await cluster.create(pod);
  await cluster.advance(60_000);
  expect(cluster.starts(uid, 'app')).toBeGreaterThan(3);
  expect(cluster.runtime.pod(uid)?.containers.filter(({ state }) => state === 'exited')).toHaveLength(1);
  expect(cluster.status('web')?.containerStatuses?.[0]).toMatchObject({
    restartCount: cluster.starts(uid, 'app') - 1,
    lastState: { terminated: { exitCode: 1 } },
  });
});
