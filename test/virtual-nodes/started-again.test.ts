import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ProviderContainer } from 'kubelet-status-manager/virtual-nodes';
import { ProviderError } from 'kubelet-status-manager/virtual-nodes';
import { podOf, TestNodes } from './test-nodes.ts';

let test: TestNodes;
beforeEach(async () => {
  test = await TestNodes.start();
  test.cloud.capabilities = { ...test.cloud.capabilities, restarts: 'node' };
});
afterEach(() => test[Symbol.asyncDispose]());

const podCalls = (): string[] => test.cloud.calls.filter((call) => call !== 'listPods');
const counts = (): number[] => test.cloud.starts.map(({ restartCount }) => restartCount);
const container = () => test.status('web')?.containerStatuses?.[0];

/** Lets the pod run and end so many times. */
async function crash(times: number, exitCode = 1): Promise<void> {
  for (let i = 0; i < times; i++) {
    while (test.cloud.pod('web')?.state !== 'running') await test.advance(1000);
    await test.advance(6000);
    test.cloud.stop('web', exitCode);
    await test.advance(6000);
  }
}

describe('with `restarts: node`, a pod that has stopped', () => {
  it('runs again, stays Running, and shows how its last run has ended', async () => {
    const uid = await test.runningPod();
    await crash(1, 0);
    await test.advance(6000);
    expect(test.status('web')).toMatchObject({
      phase: 'Running',
      containerStatuses: [
        {
          ready: true,
          restartCount: 1,
          containerID: `provider://${uid}/app/1`,
          state: { running: {} },
          lastState: {
            terminated: { exitCode: 0, reason: 'Completed', containerID: `provider://${uid}/app/0` },
          },
        },
      ],
    });
    expect(podCalls()).toEqual(['createPod web', 'createPod web']);
    expect(counts()).toEqual([0, 1]);
    expect(test.logger.errors).toEqual([]);
  });

  it('waits in CrashLoopBackOff, with the message and the Event of the kubelet, 10, 20, 40 s', async () => {
    const uid = await test.runningPod();
    await crash(2);
    expect(test.status('web')).toMatchObject({
      phase: 'Running',
      containerStatuses: [
        {
          ready: false,
          started: false,
          restartCount: 1,
          state: {
            waiting: {
              reason: 'CrashLoopBackOff',
              message: `back-off 10s restarting failed container=app pod=web_default(${uid})`,
            },
          },
          lastState: { terminated: { exitCode: 1, reason: 'Error', containerID: `provider://${uid}/app/1` } },
        },
      ],
    });
    expect(test.condition('web', 'Ready')).toBe('False');
    expect(test.podEvents()).toContain('web: BackOff');
    await crash(3);
    const starts = test.cloud.starts.map(({ atMs }) => atMs);
    const gaps = starts.slice(1).map((atMs, i) => Math.round((atMs - starts[i]!) / 1000));
    // A run takes 7 to 8 s; its end is seen up to 6 s later.
    const delays = [0, 10, 20, 40];
    expect(gaps).toHaveLength(4);
    for (const [i, gap] of gaps.entries()) {
      expect(gap).toBeGreaterThanOrEqual(delays[i]! + 7);
      expect(gap).toBeLessThan(delays[i]! + 20);
    }
    expect(counts()).toEqual([0, 1, 2, 3, 4]);
    expect(test.cloud.maxCallsOfOnePod).toBe(1);
    expect(test.logger.errors).toEqual([]);
  });

  it.each([
    ['OnFailure', 0, 'Succeeded', [0]],
    ['OnFailure', 1, 'Running', [0, 1]],
    ['Never', 1, 'Failed', [0]],
    ['Always', 0, 'Running', [0, 1]],
  ] as const)('with restartPolicy %s and exit code %i is %s', async (restartPolicy, exitCode, phase, starts) => {
    await test.startNodes();
    await test.create(podOf('web', { restartPolicy }));
    await crash(1, exitCode);
    await test.advance(20_000);
    expect(test.status('web')?.phase).toBe(phase);
    expect(counts()).toEqual(starts);
  });

  it('runs again for the containers that have failed; the others keep their end', async () => {
    await test.startNodes();
    const containers = ['app', 'job'].map((name) => ({ name, image: 'i' }));
    await test.create(podOf('web', { restartPolicy: 'OnFailure', containers }));
    await test.advance(7000);
    const stop = (ofApp: number, ...more: readonly ProviderContainer[]): void =>
      test.cloud.report('web', {
        state: 'stopped',
        containers: [{ name: 'app', exit: { exitCode: ofApp } }, ...more],
      });
    stop(1, { name: 'job', exit: { exitCode: 0 } });
    await test.advance(15_000);
    const job = { name: 'job', restartCount: 0, state: { terminated: { exitCode: 0 } } };
    expect(test.status('web')).toMatchObject({
      phase: 'Running',
      containerStatuses: [{ name: 'app', restartCount: 1, state: { running: {} } }, job],
    });
    stop(0);
    await test.advance(15_000);
    expect(test.status('web')).toMatchObject({
      phase: 'Succeeded',
      containerStatuses: [{ name: 'app', restartCount: 1, state: { terminated: { exitCode: 0 } } }, job],
    });
    expect(counts()).toEqual([0, 1]);
    expect(test.logger.errors).toEqual([]);
  });

  it('has run once more, whatever a report that is out of date shows of a container that has ended', async () => {
    await test.startNodes();
    const names = ['app', 'job'];
    await test.create(podOf('web', { containers: names.map((name) => ({ name, image: 'i' })) }));
    await test.advance(7000);
    const exit = { exitCode: 1 };
    for (const containers of [
      [{ name: 'app', exit }, { name: 'job' }],
      [{ name: 'app' }, { name: 'job' }],
    ]) {
      test.cloud.report('web', { state: 'running', containers });
      await test.advance(6000);
      expect(container()).toMatchObject({ restartCount: 0, state: { terminated: exit } });
    }
    test.cloud.stop('web', 1);
    await test.advance(15_000);
    expect(container()).toMatchObject({ restartCount: 1, state: { running: {} } });
    expect(counts()).toEqual([0, 1]);
    expect(test.logger.errors).toEqual([]);
  });

  it.each(['Always', 'OnFailure'] as const)('with %s, its init containers stay completed', async (restartPolicy) => {
    await test.startNodes();
    const initContainers = [{ name: 'init', image: 'i' }];
    await test.create(podOf('web', { restartPolicy, initContainers }));
    const init = { name: 'init', exit: { exitCode: 0 } };
    for (const exitCode of [1, 1]) {
      await test.advance(20_000);
      test.cloud.report('web', { state: 'running', containers: [init, { name: 'app' }] });
      await test.advance(6000);
      expect(container()?.state?.running).toBeDefined();
      test.cloud.report('web', { state: 'stopped', containers: [init, { name: 'app', exit: { exitCode } }] });
      await test.advance(2000);
    }
    await test.advance(5000);
    expect(counts()).toEqual([0, 1]);
    expect(test.status('web')).toMatchObject({
      phase: 'Running',
      initContainerStatuses: [{ restartCount: 0, state: { terminated: { exitCode: 0, reason: 'Completed' } } }],
      containerStatuses: [{ restartCount: 1, state: { waiting: { reason: 'CrashLoopBackOff' } } }],
    });
    expect(test.condition('web', 'Initialized')).toBe('True');
    expect(test.logger.errors).toEqual([]);
  });

  it.each(['Always', 'OnFailure'] as const)(
    'with %s, shows an init container that has completed in the first run and fails in later ones',
    async (restartPolicy) => {
      await test.startNodes();
      await test.create(podOf('web', { restartPolicy, initContainers: [{ name: 'init', image: 'i' }] }));
      await test.advance(2000);
      const exited = (name: string, exitCode: number) => ({ name, exit: { exitCode } });
      test.cloud.report('web', { containers: [exited('init', 0), { name: 'app' }] });
      await test.advance(6000);
      test.cloud.report('web', { state: 'stopped', containers: [exited('init', 0), exited('app', 1)] });
      await test.advance(8000);
      const waiting = { name: 'app', waiting: { reason: 'PodInitializing' } };
      const crash = async (exitCode: number): Promise<void> => {
        test.cloud.report('web', { state: 'stopped', containers: [exited('init', exitCode), waiting] });
        await test.advance(6000);
      };
      const error = { terminated: { exitCode: 2, reason: 'Error' } };
      const crashLoop = { state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: error };
      await crash(2);
      // A container that has completed leaves that state only with Always. See `updateStatusInternal`.
      const first = restartPolicy === 'Always' ? crashLoop : { state: error };
      const initContainer = () => test.status('web')?.initContainerStatuses?.[0];
      expect(initContainer()).toMatchObject({ restartCount: 1, ready: false, ...first });
      expect(test.status('web')).toMatchObject({
        phase: 'Running',
        containerStatuses: [{ ready: false, state: { waiting: { reason: 'PodInitializing' } } }],
      });
      await test.advance(12_000);
      expect(counts()).toEqual([0, 1, 2]);
      await crash(2);
      expect(initContainer()).toMatchObject({ restartCount: 2, ready: false, ...crashLoop });
      await test.advance(22_000);
      test.cloud.report('web', { state: 'running', containers: [exited('init', 0), { name: 'app' }] });
      await test.advance(6000);
      expect(initContainer()).toMatchObject({ ready: true, state: { terminated: { exitCode: 0 } } });
      expect(container()).toMatchObject({ restartCount: 3, ready: true, state: { running: {} } });
      expect(test.logger.errors).toEqual([]);
    },
  );

  it('fails with the reason of the cloud if it has one', async () => {
    await test.runningPod();
    test.cloud.report('web', { state: 'stopped', reason: 'SpotReclaimed' });
    await test.advance(20_000);
    expect(test.status('web')).toMatchObject({ phase: 'Failed', reason: 'SpotReclaimed' });
    expect(counts()).toEqual([0]);
  });

  it('is created again until that succeeds, with the same count, and shows why it waits', async () => {
    await test.runningPod();
    test.cloud.react('createPod', () => new ProviderError('No capacity', { reason: 'NoCapacity' }));
    await crash(1);
    expect(test.status('web')).toMatchObject({
      phase: 'Running',
      containerStatuses: [
        {
          restartCount: 0,
          state: { waiting: { reason: 'NoCapacity', message: 'No capacity' } },
          lastState: { terminated: { exitCode: 1 } },
        },
      ],
    });
    test.cloud.react('createPod');
    await test.advance(20_000);
    expect(container()).toMatchObject({ restartCount: 1, state: { running: {} } });
    expect(counts()).toEqual([0, 1]);
  });

  it('fails with the reason of a permanent error, and is deleted in the cloud', async () => {
    await test.runningPod();
    test.cloud.react('createPod', () => new ProviderError('No', { permanent: true, reason: 'Refused' }));
    await crash(1);
    await test.advance(10_000);
    expect(test.status('web')).toMatchObject({
      phase: 'Failed',
      reason: 'Refused',
      message: 'No',
      containerStatuses: [{ restartCount: 0, state: { terminated: { exitCode: 1, reason: 'Error' } } }],
    });
    expect(test.cloud.names).toEqual([]);
  });

  it('is not created again once it is deleted, while it waits for its next start or after that', async () => {
    await test.runningPod();
    await crash(2);
    expect(container()?.state?.waiting?.reason).toBe('CrashLoopBackOff');
    test.server.pods.delete('default', 'web');
    await test.advance(30_000);
    expect(test.pod('web')).toBeUndefined();
    expect(test.cloud.names).toEqual([]);
    expect(counts()).toEqual([0, 1]);
  });

  it('is deleted while its next run is being created: that run ends, and the object is deleted after that', async () => {
    await test.runningPod();
    test.cloud.startMs = 60_000;
    await crash(1);
    expect(test.cloud.pod('web')).toMatchObject({ state: 'creating', restartCount: 1 });
    test.server.pods.delete('default', 'web');
    await test.advance(500);
    expect(test.pod('web')).toBeDefined();
    await test.advance(30_000);
    expect(test.pod('web')).toBeUndefined();
    expect(test.cloud.names).toEqual([]);
  });

  it('that waits for its next start past activeDeadlineSeconds fails', async () => {
    await test.startNodes();
    await test.create(podOf('web', { activeDeadlineSeconds: 30 }));
    await crash(2);
    expect(container()?.state?.waiting?.reason).toBe('CrashLoopBackOff');
    await test.advance(10_000);
    expect(test.status('web')).toMatchObject({
      phase: 'Failed',
      reason: 'DeadlineExceeded',
      containerStatuses: [{ state: { terminated: { exitCode: 1, reason: 'Error' } } }],
    });
    const { length } = counts();
    await test.advance(120_000);
    expect(counts()).toHaveLength(length);
  });

  it('whose start failed waits after its next end, although its image was changed before it was started', async () => {
    await test.runningPod();
    test.cloud.react('createPod', () => new ProviderError('No capacity'));
    await crash(1);
    test.server.pods.patch('default', 'web', { spec: { containers: [{ name: 'app', image: 'app:2' }] } });
    test.cloud.react('createPod');
    await crash(1);
    expect(container()).toMatchObject({ restartCount: 1, state: { waiting: { reason: 'CrashLoopBackOff' } } });
    expect(counts()).toEqual([0, 1]);
  });

  it('with another image is started immediately', async () => {
    await test.runningPod();
    await crash(3);
    const { length } = counts();
    test.server.pods.patch('default', 'web', { spec: { containers: [{ name: 'app', image: 'app:2' }] } });
    await test.advance(2000);
    expect(counts()).toHaveLength(length + 1);
    expect(test.cloud.updates).toEqual([]);
  });
});

describe('a restart of the process', () => {
  it('continues to count, and starts the pod that has stopped immediately', async () => {
    await test.runningPod();
    await crash(2);
    await test.stopNodes();
    await test.startNodes();
    await test.advance(10_000);
    expect(counts()).toEqual([0, 1, 2]);
    expect(container()).toMatchObject({ restartCount: 2, lastState: { terminated: { exitCode: 1 } } });
    expect(test.status('web')?.phase).toBe('Running');
  });

  it('that finds the run before the last one in the list creates no second one beside it', async () => {
    await test.runningPod();
    await crash(1);
    await test.advance(10_000);
    const current = test.cloud.pod('web')!;
    await test.stopNodes();
    const containers = [{ name: 'app', exit: { exitCode: 1 } }];
    let isBehind = true;
    const { cloud } = test;
    await test.startNodes(['node-a'], {
      provider: cloud.asProvider({
        listPods: async () => [isBehind ? { ...current, state: 'stopped', restartCount: 0, containers } : current],
      }),
    });
    await test.advance(4000);
    isBehind = false;
    await test.advance(30_000);
    expect(counts()).toEqual([0, 1]);
    expect(test.status('web')).toMatchObject({ phase: 'Running', containerStatuses: [{ restartCount: 1 }] });
    expect(container()?.state?.running).toBeDefined();
  });

  it('without a status of the last run counts on from what the cloud lists', async () => {
    await test.runningPod();
    await test.stopNodes();
    test.cloud.report('web', { restartCount: 4 });
    test.cloud.stop('web', 1);
    await test.startNodes();
    await test.advance(10_000);
    expect(counts()).toEqual([0, 5]);
    expect(container()?.restartCount).toBe(5);
  });
});

it('a run that lists lack is lost, as the first one is', async () => {
  const options = { lost: { action: 'recreate' } } as const;
  await test.runningPod(['node-a'], options);
  test.cloud.lose('web');
  await test.advance(50_000);
  expect(counts()).toEqual([0, 0]);
  expect(test.status('web')).toMatchObject({ phase: 'Running', containerStatuses: [{ ready: true, restartCount: 1 }] });
  await test.stopNodes();
  await test.startNodes(['node-a'], options);
  await crash(1);
  await test.advance(20_000);
  expect(counts()).toEqual([0, 0, 2]);
  expect(container()?.restartCount).toBe(2);
});

it('a cloud that lists the run before the one that was asked for is asked again', async () => {
  const { cloud } = test;
  let hasForgotten = true;
  await test.startNodes(['node-a'], {
    provider: cloud.asProvider({
      createPod: async (pod, options) => {
        if (options.restartCount === 0 || !hasForgotten) return cloud.createPod(pod, options);
        cloud.calls.push('forgotten');
      },
    }),
  });
  await test.create(podOf());
  await crash(1);
  await test.advance(30_000);
  expect(cloud.callsOf('forgotten' as never).length).toBeGreaterThan(1);
  hasForgotten = false;
  await test.advance(60_000);
  expect(counts()).toEqual([0, 1]);
  expect(test.status('web')).toMatchObject({ phase: 'Running', containerStatuses: [{ ready: true, restartCount: 1 }] });
});

describe('without `restarts: node`', () => {
  it('restartCount, the last exit and why it waits are those that the cloud reports', async () => {
    test.cloud.capabilities = { ...test.cloud.capabilities, restarts: 'provider' };
    await test.runningPod();
    const waiting = { reason: 'CrashLoopBackOff', message: 'back-off' };
    test.cloud.report('web', {
      containers: [{ name: 'app', restartCount: 3, waiting, exit: { exitCode: 2, message: 'out of memory' } }],
    });
    await test.advance(6000);
    expect(test.status('web')).toMatchObject({
      phase: 'Running',
      containerStatuses: [
        {
          restartCount: 3,
          state: { waiting },
          lastState: { terminated: { exitCode: 2, reason: 'Error', message: 'out of memory' } },
        },
      ],
    });
    expect(counts()).toEqual([0]);
  });
});
