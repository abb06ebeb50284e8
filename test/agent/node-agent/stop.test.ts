import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod, PodSpec } from 'kubelet-status-manager';
import { fault } from 'kubelet-status-manager/testing';
import { TestCluster } from './test-cluster.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start();
});
afterEach(() => cluster[Symbol.asyncDispose]());

const podOf = (spec: Partial<PodSpec> = {}, name = 'web'): Pod => ({
  metadata: { name },
  spec: { containers: [{ name: 'app', image: 'app:1' }], ...spec },
});

describe('stop', () => {
  it('leaves no timer and no handle behind, and containers keep running', async () => {
    cluster.runtime.onExec(() => ({ exitCode: 0, stdout: '', stderr: '' }));
    const handles = new Set(process.getActiveResourcesInfo());
    const agent = await cluster.startAgent();
    const probe = { exec: { command: ['x'] }, periodSeconds: 1 };
    const uid = await cluster.create(
      podOf({ containers: [{ name: 'app', image: 'app:1', readinessProbe: probe, livenessProbe: probe }] }),
    );
    await cluster.advance(5000);
    expect(agent.inspect().probes).toBe(2);
    const timers = cluster.clock.pendingTimers;
    expect(timers).toBeGreaterThan(0);
    await cluster.stopAgent();
    expect(cluster.clock.pendingTimers).toBe(0);
    expect(agent.state).toBe('stopped');
    expect(agent.inspect().probes).toBe(0);
    expect(cluster.runtime.container(uid, 'app')).toMatchObject({ state: 'running' });
    expect([...new Set(process.getActiveResourcesInfo())].filter((handle) => !handles.has(handle))).toEqual([]);
    expect(() => agent.start()).toThrow('Cannot start an agent that has been stopped');
    await expect(agent.whenReady()).resolves.toBeUndefined();
  });

  it('before start, and while the API server and the runtime do not respond', async () => {
    const created = cluster.createAgent();
    await created.stop();
    expect(created.state).toBe('stopped');
    await expect(created.register()).rejects.toMatchObject({ code: 'INVALID_STATE' });

    cluster.server.faults.next({ count: Number.POSITIVE_INFINITY }, fault.hang());
    cluster.runtime.delay({ method: 'listPods' }, 1_000_000, Number.POSITIVE_INFINITY);
    const agent = await cluster.startAgent();
    await cluster.advance(15_000);
    await cluster.stopAgent();
    expect(agent.state).toBe('stopped');
    await expect(agent.whenReady()).rejects.toThrow('The agent has been stopped');
    expect(cluster.clock.pendingTimers).toBe(0);
  });

  it('while an image is pulled: the pull is aborted, and the next agent begins again', async () => {
    cluster.runtime.delay({ method: 'pullImage' }, 1_000_000);
    await cluster.startAgent();
    const uid = await cluster.create(podOf());
    await cluster.advance(3000);
    await cluster.stopAgent();
    expect(cluster.clock.pendingTimers).toBe(0);
    await cluster.startAgent();
    await cluster.advance(3000);
    expect(cluster.runtime.container(uid, 'app')).toMatchObject({ state: 'running' });
  });

  it('with drain, unwritten statuses are written', async () => {
    await cluster.startAgent();
    const uid = await cluster.create(podOf({ restartPolicy: 'Never' }));
    await cluster.advance(3000);
    const outage = cluster.server.faults.next({ count: Number.POSITIVE_INFINITY, verb: 'patch' }, fault.status(503));
    cluster.runtime.exit(cluster.runtime.container(uid, 'app')!.id, { exitCode: 1 });
    await cluster.advance(5000);
    expect(cluster.status('web')?.phase).toBe('Running');
    outage.cancel();
    await cluster.stopAgent({ drain: true });
    expect(cluster.status('web')?.phase).toBe('Failed');
  });

  it('with drain, a pod that was force-deleted is not waited for', async () => {
    await cluster.startAgent();
    cluster.runtime.script('app', { stopMs: 20_000 });
    await cluster.create(podOf());
    await cluster.advance(3000);
    cluster.server.pods.delete('default', 'web', { gracePeriodSeconds: 0 });
    await cluster.advance(1000);
    const { seconds } = cluster;
    await cluster.stopAgent({ drain: true });
    expect(cluster.seconds - seconds).toBeLessThan(5);
    expect(cluster.logger.warnings).toEqual([]);
  });

  it('terminatePods: the pods fail as in a shutdown of the node, new ones are refused, the Node is not ready', async () => {
    await cluster.startAgent();
    cluster.runtime.script('app', { stopMs: 8000 });
    const uid = await cluster.create(podOf({ terminationGracePeriodSeconds: 60 }));
    await cluster.advance(3000);
    const stopping = cluster.agent.stop({ terminatePods: true, gracePeriodSeconds: 20, drain: true });
    await cluster.settle();
    await cluster.create(podOf({}, 'late'));
    expect(cluster.agent.state).toBe('stopping');
    await cluster.advance(9000);
    await cluster.stopAgent();
    await stopping;
    expect(cluster.runtime.container(uid, 'app')).toMatchObject({ state: 'exited', exitCode: 143 });
    expect(cluster.runtime.callsOf({ method: 'stopContainer' })).toMatchObject([{ gracePeriodSeconds: 20 }]);
    expect(cluster.status('web')).toMatchObject({
      phase: 'Failed',
      reason: 'Terminated',
      message: 'Pod was terminated in response to imminent node shutdown.',
    });
    expect(cluster.status('web')?.conditions).toContainEqual(
      expect.objectContaining({ type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' }),
    );
    expect(cluster.status('late')).toMatchObject({ phase: 'Failed', reason: 'NodeShutdown' });
    expect(cluster.nodeCondition('Ready')).toMatchObject({ status: 'False' });
    expect(cluster.clock.pendingTimers).toBe(0);
  });

  it('terminatePods: Node.js warns of no leak of listeners, however many pods there are', async () => {
    const warnings: string[] = [];
    const onWarning = ({ message }: Error): number => warnings.push(message);
    process.on('warning', onWarning);
    await cluster.startAgent();
    for (let i = 0; i < 12; i++) await cluster.create(podOf({}, `web-${i}`));
    await cluster.advance(3000);
    await cluster.stopAgent({ terminatePods: true });
    expect(cluster.status('web-11')).toMatchObject({ phase: 'Failed', reason: 'Terminated' });
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  it('terminatePods: a pod whose containers exit with 0 succeeds, and keeps the reason and the message', async () => {
    await cluster.startAgent();
    cluster.runtime.script('app', { stopMs: 1000, stopExitCode: 0 });
    await cluster.create(podOf({ terminationGracePeriodSeconds: 60 }));
    await cluster.advance(3000);
    await cluster.stopAgent({ terminatePods: true, drain: true });
    expect(cluster.status('web')).toMatchObject({
      phase: 'Succeeded',
      reason: 'Terminated',
      message: 'Pod was terminated in response to imminent node shutdown.',
    });
  });

  it('a client that was passed in stays open', async () => {
    const client = cluster.server.client('node-a');
    await cluster.startAgent({ client });
    await cluster.stopAgent();
    expect((await client.transport.request('GET', '/api/v1/nodes/node-a')).statusCode).toBe(200);
    await client.transport.close();
  });
});

describe('two agents of one node', () => {
  it('the younger one stops itself with an error, and the older one goes on', async () => {
    const older = await cluster.startAgent();
    await cluster.advance(20_000);
    const younger = await cluster.startAgent({ random: () => 0.5 });
    let failure: Error | undefined;
    void younger.whenFailed().then((error) => (failure = error));
    await cluster.advance(60_000);
    expect(failure).toMatchObject({ code: 'NODE_IN_USE' });
    expect([older.state, younger.state]).toEqual(['running', 'stopped']);
    expect(cluster.logger.errors).toContainEqual(
      expect.objectContaining({ message: 'Stopping node agent: the node is in use' }),
    );
    await older.stop();
  });
});
