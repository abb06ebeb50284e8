import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { podOf, TestNodes } from './test-nodes.ts';

let test: TestNodes;
beforeEach(async () => {
  test = await TestNodes.start();
});
afterEach(() => test[Symbol.asyncDispose]());

const podCalls = (): string[] => test.cloud.calls.filter((call) => call !== 'listPods');

describe('the life of a pod', () => {
  it('is created in the cloud, runs, and is deleted with its grace period, on two nodes', async () => {
    const nodes = await test.startNodes(['node-a', 'node-b']);
    await nodes.whenReady();
    await test.create(podOf('web'), 'node-a');
    await test.create(podOf('db'), 'node-b');
    expect(test.status('web')).toMatchObject({ phase: 'Pending', hostIP: '10.1.2.3' });
    await test.advance(7000);
    for (const name of ['web', 'db']) {
      expect(test.status(name)).toMatchObject({
        phase: 'Running',
        podIP: test.cloud.pod(name)?.ips?.[0],
        containerStatuses: [{ name: 'app', ready: true, started: true, state: { running: {} } }],
      });
      for (const type of ['PodReadyToStartContainers', 'Initialized', 'ContainersReady', 'Ready'])
        expect(test.condition(name, type)).toBe('True');
    }
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 7 });
    await test.settle();
    expect(test.cloud.deletions).toEqual([{ name: 'web', gracePeriodSeconds: 7 }]);
    await test.advance(8000);
    expect(test.pod('web')).toBeUndefined();
    expect(test.cloud.names).toEqual(['db']);
    await test.advance(10_000);
    expect(podCalls()).toEqual(['createPod web', 'createPod db', 'deletePod web']);
    expect(nodes.node('node-a')?.inspect()).toMatchObject({ podWorkers: [], statusManager: { pods: [] } });
    expect(test.logger.warnings).toEqual([]);
    expect(test.logger.errors).toEqual([]);
  });

  it.each([
    [0, 'Succeeded', 'Completed'],
    [3, 'Failed', 'Error'],
  ])('that ends with exit code %i is %s, and is freed in the cloud when its object is deleted', async (...row) => {
    const [exitCode, phase, reason] = row;
    await test.startNodes();
    await test.create(podOf('job', { restartPolicy: 'Never' }));
    await test.advance(7000);
    test.cloud.stop('job', exitCode);
    await test.advance(6000);
    expect(test.status('job')).toMatchObject({
      phase,
      containerStatuses: [{ state: { terminated: { exitCode, reason } } }],
    });
    await test.advance(20_000);
    expect(podCalls()).toEqual(['createPod job']);
    const reads = test.podReads;
    test.server.pods.delete('default', 'job');
    await test.advance(10_000);
    expect(test.pod('job')).toBeUndefined();
    expect(test.cloud.names).toEqual([]);
    expect(podCalls()).toEqual(['createPod job', 'deletePod job']);
    expect(test.podReads).toBe(reads);
  });

  it('reason, message, readiness and restarts are those that the cloud reports', async () => {
    await test.startNodes();
    await test.create(podOf());
    await test.advance(7000);
    const containers = [{ name: 'app', ready: false, started: true, restartCount: 2, imageID: 'app@sha256:1' }];
    test.cloud.report('web', { reason: 'Migrating', message: 'It moves to another zone', containers });
    await test.advance(6000);
    expect(test.status('web')).toMatchObject({
      phase: 'Running',
      reason: 'Migrating',
      message: 'It moves to another zone',
      containerStatuses: [{ ready: false, started: true, restartCount: 2, imageID: 'app@sha256:1' }],
    });
    expect(test.condition('web', 'Ready')).toBe('False');
    test.cloud.report('web', { reason: undefined, message: undefined, containers: [{ name: 'app', restartCount: 2 }] });
    await test.advance(6000);
    expect(test.status('web')?.reason).toBeUndefined();
    expect(test.condition('web', 'Ready')).toBe('True');
  });

  it.each([
    ['a change', { containers: [{ name: 'app', restartCount: 1 }] }, { containerStatuses: [{ restartCount: 1 }] }],
    ['the end', { state: 'stopped', containers: [{ name: 'app', exit: { exitCode: 0 } }] }, { phase: 'Succeeded' }],
  ] as const)('%s takes one PATCH, without a GET', async (_what, reported, shown) => {
    await test.startNodes();
    await test.create(podOf('web', { restartPolicy: 'OnFailure' }));
    await test.advance(7000);
    test.writes.length = 0;
    test.podReads = 0;
    test.cloud.report('web', reported);
    await test.advance(6000);
    expect(test.status('web')).toMatchObject(shown);
    expect(test.writes.filter((write) => write.includes('/pods/'))).toEqual([
      'PATCH /api/v1/namespaces/default/pods/web/status 200',
    ]);
    expect(test.podReads).toBe(0);
  });

  it('that is stopped by the cloud with a reason fails with it', async () => {
    await test.startNodes();
    await test.create(podOf());
    await test.advance(7000);
    test.cloud.report('web', { state: 'stopped', reason: 'SpotReclaimed', message: 'The machine was reclaimed' });
    await test.advance(20_000);
    expect(test.status('web')).toMatchObject({
      phase: 'Failed',
      reason: 'SpotReclaimed',
      message: 'The machine was reclaimed',
      containerStatuses: [{ state: { terminated: { exitCode: 137, reason: 'SpotReclaimed' } } }],
    });
  });

  it('that is stopped although it should always run has failed, unless it was deleted', async () => {
    await test.startNodes();
    const [job, web] = [podOf('job', { restartPolicy: 'OnFailure' }), podOf('web')];
    await test.create(job);
    await test.create(web);
    await test.advance(7000);
    for (const name of ['job', 'web']) test.cloud.stop(name);
    await test.advance(20_000);
    expect(test.status('job')?.phase).toBe('Succeeded');
    expect(test.status('web')).toMatchObject({ phase: 'Failed', reason: 'NotRestartedByProvider' });
    expect(test.status('web')?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'False', reason: 'PodFailed' }),
    );
  });

  it('has Events about each call that succeeds', async () => {
    await test.runningPod();
    test.server.pods.patch('default', 'web', { metadata: { labels: { tier: 'front' } } });
    await test.advance(3000);
    test.server.pods.delete('default', 'web', { gracePeriodSeconds: 1 });
    await test.advance(20_000);
    expect(test.podEvents()).toEqual([
      ...['web: ProviderCreateSuccess', 'web: ProviderUpdateSuccess', 'web: ProviderDeleteSuccess'],
    ]);
  });

  it('that was active for longer than activeDeadlineSeconds fails, and is deleted in the cloud', async () => {
    await test.startNodes();
    await test.create(podOf('web', { activeDeadlineSeconds: 20 }));
    await test.advance(40_000);
    expect(test.status('web')).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
    expect(test.cloud.names).toEqual([]);
  });

  it('that has failed keeps its reason when its containers have exited with 0, and another process has its node', async () => {
    const why = { phase: 'Failed', reason: 'DeadlineExceeded', message: 'Pod was active on the node for too long' };
    await test.startNodes();
    await test.create(podOf('web', { restartPolicy: 'Never' }));
    await test.advance(7000);
    await test.stopNodes();
    test.server.pods.patchStatus('default', 'web', { status: why });
    test.cloud.stop('web');
    await test.startNodes();
    await test.advance(7000);
    expect(test.status('web')).toMatchObject({
      ...why,
      containerStatuses: [{ state: { terminated: { exitCode: 0 } } }],
    });
  });

  it('changed labels, annotations and images are passed on once, with what the cloud was told before', async () => {
    await test.startNodes();
    await test.create(podOf());
    await test.advance(7000);
    test.server.pods.patch('default', 'web', { metadata: { labels: { tier: 'front' }, annotations: { a: 'b' } } });
    await test.advance(2000);
    test.server.pods.patch('default', 'web', { spec: { containers: [{ name: 'app', image: 'app:2' }] } });
    await test.advance(90_000);
    expect(test.cloud.updates).toMatchObject([
      { pod: { metadata: { labels: { tier: 'front' }, annotations: { a: 'b' } } } },
      { pod: { spec: { containers: [{ image: 'app:2' }] } }, previous: { metadata: { labels: { tier: 'front' } } } },
    ]);
    expect(test.cloud.updates[0]?.previous?.metadata.labels).toBeUndefined();
  });

  it('a notification of the end causes no list: there is nothing more to see', async () => {
    await test.startNodes(['node-a'], { provider: test.cloud.withNotifications() });
    await test.create(podOf('web', { restartPolicy: 'Never' }));
    await test.advance(7000);
    const lists = test.cloud.callsOf('listPods').length;
    test.cloud.stop('web');
    await test.advance(3000);
    expect(test.status('web')?.phase).toBe('Succeeded');
    expect(test.cloud.callsOf('listPods')).toHaveLength(lists);
  });

  it('a notification is reported without a list, and a gap causes one', async () => {
    await test.startNodes(['node-a'], { provider: test.cloud.withNotifications() });
    await test.create(podOf());
    await test.advance(1500);
    expect(test.status('web')?.phase).toBe('Running');
    test.cloud.report('web', { containers: [{ name: 'app', ready: false }] });
    await test.settle();
    expect(test.condition('web', 'Ready')).toBe('False');
    await test.advance(2000);
    const lists = test.cloud.callsOf('listPods').length;
    await test.advance(30_000);
    expect(test.cloud.callsOf('listPods')).toHaveLength(lists);
    test.cloud.gap();
    await test.settle();
    expect(test.cloud.callsOf('listPods')).toHaveLength(lists + 1);
  });

  it('pods of other nodes in the list are ignored', async () => {
    await test.startNodes();
    test.cloud.add({ uid: 'u-1', namespace: 'default', name: 'other', nodeName: 'node-z', state: 'running' });
    await test.advance(30_000);
    expect(test.cloud.names).toEqual(['other']);
    expect(podCalls()).toEqual([]);
  });

  it('that does not fit the Node is refused as by the kubelet, and not created', async () => {
    await test.startNodes();
    await test.create(
      podOf('big', { containers: [{ name: 'a', image: 'a', resources: { requests: { cpu: '101' } } }] }),
    );
    await test.advance(10_000);
    expect(test.status('big')).toMatchObject({ phase: 'Failed', reason: 'OutOfcpu' });
    expect(podCalls()).toEqual([]);
  });
});
