/** The wall clock is changed in each phase of a pod's life: nothing happens earlier or later because of that. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec } from 'kubelet-status-manager';
import { TestCluster } from './test-cluster.ts';

const hourMs = 3_600_000;
const app: Container = { name: 'app', image: 'app:1' };
const podOf = (spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: 'web' },
  spec: { containers: [app], ...spec },
});

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start({ runtime: { images: true } });
});
afterEach(() => cluster[Symbol.asyncDispose]());

const phase = (): string | undefined => cluster.status('web')?.phase;
const isReady = (): boolean | undefined => cluster.status('web')?.containerStatuses?.[0]?.ready;

// Each way once: both steps are longer than all durations below, which are minutes.
describe.each([
  ['back by an hour', -hourMs],
  ['forward by a day', 24 * hourMs],
])('a wall clock that is set %s', (_, stepMs) => {
  const step = (): void => cluster.clock.setWallTime(cluster.clock.now() + stepMs);

  it('while a pod starts does not delay it', async () => {
    await cluster.startAgent();
    cluster.runtime.delay({ method: 'pullImage' }, 5000);
    const uid = await cluster.create(podOf());
    await cluster.advance(2000);
    step();
    await cluster.advance(6000);
    expect(phase()).toBe('Running');
    expect(cluster.startTimes(uid, 'app')).toEqual([5.5]);
  });

  it('while an image cannot be pulled does not change when it is tried again', async () => {
    await cluster.startAgent();
    cluster.runtime.fail({ method: 'pullImage' }, 'no route to host', 2);
    const uid = await cluster.create(podOf());
    await cluster.advance(5000);
    step();
    await cluster.advance(40_000);
    const pulls = cluster.runtime.callsOf({ method: 'pullImage' });
    expect(pulls).toHaveLength(3);
    expect(cluster.startTimes(uid, 'app')[0]).toBeLessThan(40);
  });

  it('does not change when a crash-looping container is restarted', async () => {
    await cluster.startAgent();
    cluster.runtime.script('app', ...Array.from({ length: 6 }, () => ({ exitAfterMs: 1000, exitCode: 1 })));
    const uid = await cluster.create(podOf());
    await cluster.advance(8000);
    step();
    await cluster.advance(45_000);
    step();
    await cluster.advance(60_000);
    const delays = cluster.startTimes(uid, 'app').map((at, i, all) => Math.round(at - (all[i - 1] ?? 0)));
    // One second of running, then no delay, 10 s, 20 s and 40 s, each up to the next sync.
    expect(delays.slice(1)).toHaveLength(4);
    for (const [i, least] of [1, 11, 21, 41].entries()) {
      expect(delays[i + 1]).toBeGreaterThanOrEqual(least);
      expect(delays[i + 1]).toBeLessThanOrEqual(least + 4);
    }
  });

  it('does not change the delay and the periods of probes', async () => {
    const probes: number[] = [];
    await cluster.startAgent();
    cluster.runtime.onExec(() => {
      probes.push(cluster.seconds);
      return { exitCode: 0, stdout: '', stderr: '' };
    });
    const probe = { exec: { command: ['true'] }, initialDelaySeconds: 30, periodSeconds: 10 };
    await cluster.create(podOf({ containers: [{ ...app, livenessProbe: probe, readinessProbe: probe }] }));
    await cluster.advance(15_000);
    step();
    await cluster.advance(14_000);
    expect(isReady()).toBe(false);
    expect(probes).toEqual([]);
    await cluster.advance(12_000);
    expect(isReady()).toBe(true);
    step();
    await cluster.advance(30_000);
    expect(probes).toEqual([30.5, 40.5, 50.5, 60.5, 70.5].flatMap((at) => [at, at]));
  });

  it('does not make a restarted container ready before its first probe', async () => {
    await cluster.startAgent();
    let exitCode = 0;
    cluster.runtime.onExec(() => ({ exitCode, stdout: '', stderr: '' }));
    const readinessProbe = { exec: { command: ['true'] }, periodSeconds: 1 };
    const uid = await cluster.create(podOf({ containers: [{ ...app, readinessProbe }] }));
    await cluster.advance(20_000);
    expect(isReady()).toBe(true);
    step();
    exitCode = 1;
    const seen: (boolean | undefined)[] = [];
    cluster.agent.statusManager.subscribe({
      onPodUpdated: (_pod, { containerStatuses: [container] = [] }) => {
        if (container?.state.running !== undefined && container.restartCount === 1) seen.push(container.ready);
      },
    });
    cluster.runtime.exit(cluster.runtime.container(uid, 'app')!.id, { exitCode: 1 });
    await cluster.advance(20_000);
    expect(new Set(seen)).toEqual(new Set([false]));
  });

  it('does not change when a pod exceeds its activeDeadlineSeconds', async () => {
    await cluster.startAgent();
    await cluster.create(podOf({ activeDeadlineSeconds: 60 }));
    await cluster.advance(20_000);
    step();
    await cluster.advance(38_000);
    expect(phase()).toBe('Running');
    await cluster.advance(7000);
    expect(cluster.status('web')).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
  });

  it.each(['deletion', 'eviction'])('does not change the grace period of a %s', async (cause) => {
    const agent = await cluster.startAgent();
    cluster.runtime.script('app', { stopMs: hourMs });
    const uid = await cluster.create(podOf({ terminationGracePeriodSeconds: 30 }));
    await cluster.advance(3000);
    const [pod] = agent.getPods();
    if (cause === 'deletion') cluster.server.pods.delete('default', 'web');
    else void agent.evict(pod!, { message: 'x', gracePeriodSeconds: 30 });
    await cluster.advance(10_000);
    step();
    await cluster.advance(18_000);
    expect(cluster.runtime.container(uid, 'app')?.state).toBe('running');
    // The warning that its containers still run comes 30 s after the end of the grace period.
    expect(cluster.logger.warnings).toEqual([]);
    await cluster.advance(5000);
    expect(cluster.runtime.container(uid, 'app')?.state).not.toBe('running');
    await cluster.advance(5000);
    if (cause === 'deletion') expect(cluster.pod('web')).toBeUndefined();
    else expect(cluster.status('web')).toMatchObject({ phase: 'Failed', reason: 'Evicted' });
  });

  it('does not change how often the Lease is renewed, and what the gauges say', async () => {
    const agent = await cluster.startAgent();
    await cluster.create(podOf());
    await cluster.advance(60_000);
    const renewals = (): number =>
      cluster.writes.filter((write) => write.startsWith('PUT') && write.includes('/leases/')).length;
    const before = renewals();
    step();
    await cluster.advance(60_000);
    expect(renewals() - before).toBeGreaterThanOrEqual(5);
    expect(renewals() - before).toBeLessThanOrEqual(7);
    const { lastSuccessfulRequestAt } = agent.statusManager.inspect();
    expect(cluster.clock.now() - Date.parse(lastSuccessfulRequestAt!)).toBeLessThan(130_000);
    expect(cluster.logger.warnings).toEqual([]);
  });

  it('does not keep the containers that are collected', async () => {
    await cluster.startAgent();
    cluster.runtime.script('app', ...Array.from({ length: 3 }, () => ({ exitAfterMs: 1000, exitCode: 1 })), {});
    const uid = await cluster.create(podOf());
    await cluster.advance(5000);
    step();
    await cluster.advance(120_000);
    const runs = cluster.runtime.pod(uid)!.containers.map(({ attempt, state }) => `${attempt} ${state}`);
    expect(runs.toSorted()).toEqual(['2 exited', '3 running']);
  });
});
