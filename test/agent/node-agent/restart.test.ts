import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { fileJournal, type Pod, type PodSpec } from 'kubelet-status-manager';
import { fault } from 'kubelet-status-manager/testing';
import { TestDirectories } from '../../support/directories.ts';
import { TestCluster } from './test-cluster.ts';

const directories = new TestDirectories();
let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start();
});
afterEach(async () => {
  await cluster[Symbol.asyncDispose]();
  directories.removeAll();
});

const podOf = (spec: Partial<PodSpec> = {}, name = 'web'): Pod => ({
  metadata: { name },
  spec: { containers: [{ name: 'app', image: 'app:1' }], ...spec },
});

describe('an agent that is started on the runtime of an earlier one', () => {
  it('runs no container twice, and writes nothing about a pod that has not changed', async () => {
    await cluster.startAgent();
    const uid = await cluster.create(podOf());
    await cluster.advance(3000);
    await cluster.stopAgent({ drain: true });
    const writes = cluster.writes.length;

    await cluster.startAgent();
    await cluster.advance(30_000);
    expect(cluster.starts(uid, 'app')).toBe(1);
    expect(cluster.runtime.container(uid, 'app')).toMatchObject({ state: 'running', attempt: 0 });
    expect(cluster.writes.slice(writes).filter((write) => write.includes('/pods/'))).toEqual([]);
  });

  it('readiness does not flip until the first probe', async () => {
    cluster.runtime.onExec(() => ({ exitCode: 0, stdout: '', stderr: '' }));
    const readinessProbe = { exec: { command: ['ready'] }, periodSeconds: 10 };
    await cluster.startAgent();
    const uid = await cluster.create(podOf({ containers: [{ name: 'app', image: 'app:1', readinessProbe }] }));
    await cluster.advance(12_000);
    await cluster.stopAgent({ drain: true });
    const readyBefore = cluster.status('web')?.conditions?.find(({ type }) => type === 'Ready');
    expect(readyBefore?.status).toBe('True');
    await cluster.startAgent({ random: () => 0.9 });
    await cluster.advance(8000);
    expect(cluster.status('web')?.conditions?.find(({ type }) => type === 'Ready')).toEqual(readyBefore);
    expect(cluster.starts(uid, 'app')).toBe(1);
  });

  it('kills no pod before the API server has listed the pods', async () => {
    await cluster.startAgent();
    const uid = await cluster.create(podOf());
    await cluster.advance(3000);
    await cluster.stopAgent();
    const outage = cluster.server.faults.next({ count: Number.POSITIVE_INFINITY }, fault.status(503));
    await cluster.startAgent();
    await cluster.advance(60_000);
    expect(cluster.runtime.container(uid, 'app')).toMatchObject({ state: 'running' });
    outage.cancel();
    await cluster.advance(20_000);
    expect(cluster.runtime.container(uid, 'app')).toMatchObject({ state: 'running', attempt: 0 });
    expect(cluster.starts(uid, 'app')).toBe(1);
  });

  it('reports the exit of a container that ended while no agent was running', async () => {
    await cluster.startAgent();
    const uid = await cluster.create(podOf({ restartPolicy: 'Never' }));
    await cluster.advance(3000);
    await cluster.stopAgent({ drain: true });
    cluster.runtime.exit(cluster.runtime.container(uid, 'app')!.id, { exitCode: 7 });
    await cluster.startAgent();
    await cluster.advance(5000);
    expect(cluster.status('web')).toMatchObject({
      phase: 'Failed',
      containerStatuses: [{ state: { terminated: { exitCode: 7 } } }],
    });
    expect(cluster.starts(uid, 'app')).toBe(1);
  });

  it('kills the containers of a pod that was deleted while no agent was running', async () => {
    await cluster.startAgent();
    const uid = await cluster.create(podOf());
    await cluster.advance(3000);
    await cluster.stopAgent({ drain: true });
    cluster.server.pods.delete('default', 'web', { gracePeriodSeconds: 0 });
    await cluster.startAgent();
    await cluster.advance(5000);
    expect(cluster.runtime.callsOf({ method: 'stopContainer', podUID: uid })).toHaveLength(1);
    // Nothing of it is needed any more.
    expect(cluster.runtime.container(uid, 'app')).toBeUndefined();
  });

  it('after a crash during termination, the journal has the phase of the pod, and its running containers are killed', async () => {
    const directory = directories.create();
    const first = await cluster.startAgent({ journal: await fileJournal(directory) });
    const uid = await cluster.create(podOf());
    await cluster.advance(3000);
    const [pod] = first.getPods();
    const ended = { ...first.statusManager.getPodStatus(uid)!, phase: 'Failed', reason: 'Evicted', message: 'too big' };
    first.statusManager.setPodStatus(pod!, ended);
    const journal = await fileJournal(directories.afterCrash(directory));
    await cluster.stopAgent();
    expect(cluster.status('web')?.phase).toBe('Running');

    await cluster.startAgent({ journal });
    await cluster.advance(10_000);
    expect(cluster.starts(uid, 'app')).toBe(1);
    expect(cluster.runtime.container(uid, 'app')).toMatchObject({ state: 'exited', exitCode: 143 });
    expect(cluster.status('web')).toMatchObject({
      phase: 'Failed',
      reason: 'Evicted',
      message: 'too big',
      containerStatuses: [{ state: { terminated: { exitCode: 143 } } }],
    });
    expect(cluster.agent.inspect().podWorkers).toMatchObject([{ state: 'terminated', isFinished: true }]);
    expect(cluster.logger.warnings.map(({ message }) => message)).toContain(
      'Recovered the unsent end of a pod: it must not run again',
    );
  });

  it('a pod with a terminal phase in the journal and no running container is finished, and not started', async () => {
    const directory = directories.create();
    cluster.runtime.script('app', { exitAfterMs: 5000, exitCode: 4 });
    await cluster.startAgent({ journal: await fileJournal(directory) });
    const uid = await cluster.create(podOf({ restartPolicy: 'Never' }));
    await cluster.advance(3000);
    const outage = cluster.server.faults.next({ count: Number.POSITIVE_INFINITY, verb: 'patch' }, fault.status(503));
    await cluster.advance(5000);
    const journal = await fileJournal(directories.afterCrash(directory));
    await cluster.stopAgent();
    outage.cancel();
    await cluster.startAgent({ journal });
    await cluster.advance(15_000);
    expect(cluster.status('web')).toMatchObject({
      phase: 'Failed',
      containerStatuses: [{ state: { terminated: { exitCode: 4 } } }],
    });
    expect(cluster.starts(uid, 'app')).toBe(1);
  });
});
