import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ProviderError } from 'kubelet-status-manager/virtual-nodes';
import { podOf, TestNodes } from './test-nodes.ts';

let test: TestNodes;
beforeEach(async () => {
  test = await TestNodes.start();
});
afterEach(() => test[Symbol.asyncDispose]());

describe('a pod that is missing in the list', () => {
  it('once, or in two lists in a row, is not lost', async () => {
    await test.runningPod();
    const patches = test.writes.length;
    test.cloud.hidden.add('web');
    await test.advance(10_000);
    test.cloud.hidden.clear();
    await test.advance(6000);
    test.cloud.hidden.add('web');
    await test.advance(10_000);
    test.cloud.hidden.clear();
    await test.advance(20_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.writes.slice(patches).filter((write) => write.includes('/pods/'))).toEqual([]);
    expect(test.cloud.callsOf('createPod')).toHaveLength(1);
    expect(test.cloud.callsOf('deletePod')).toEqual([]);
  });

  it('in three lists in a row fails with the reason LostByProvider, is logged, and is deleted in case it comes back', async () => {
    await test.runningPod();
    test.cloud.lose('web');
    await test.advance(25_000);
    expect(test.status('web')).toMatchObject({
      phase: 'Failed',
      reason: 'LostByProvider',
      message: 'The provider has not listed the pod since 2026-01-02T03:04:11Z',
      containerStatuses: [{ state: { terminated: { exitCode: 137, reason: 'ContainerStatusUnknown' } } }],
    });
    expect(test.podEvents()).toEqual([
      'web: ProviderCreateSuccess',
      'web: LostByProvider',
      'web: ProviderDeleteSuccess',
    ]);
    expect(test.cloud.callsOf('createPod')).toHaveLength(1);
    expect(test.cloud.callsOf('deletePod')).toHaveLength(1);
    const lines = test.logger.lines.filter(({ level }) => level === 'warn');
    expect(lines).toMatchObject([
      { message: 'The provider has lost the pod', fields: { pod: 'default/web', node: 'node-a' } },
    ]);
  });

  it('is created again with the same UID, if that is wanted', async () => {
    const uid = await test.runningPod(['node-a'], { lost: { afterLists: 2, action: 'recreate' } });
    test.cloud.lose('web');
    await test.advance(25_000);
    expect(test.cloud.callsOf('createPod')).toHaveLength(2);
    expect(test.cloud.pod('web')?.uid).toBe(uid);
    expect(test.status('web')).toMatchObject({ phase: 'Running' });
    expect(test.condition('web', 'Ready')).toBe('True');
  });

  it.each([
    ['fail', true],
    ['fail', false],
    ['recreate', true],
    ['recreate', false],
  ] as const)(
    'although it is in the cloud has what changed before createPod was called again; %s, the cloud reports podHash: %s',
    async (action, reportsPodHash) => {
      test.cloud.reportsPodHash = reportsPodHash;
      await test.startNodes(['node-a'], { lost: { action } });
      if (action === 'fail') test.cloud.hidden.add('web');
      await test.create(podOf());
      await test.advance(3000);
      test.cloud.hidden.add('web');
      await test.advance(action === 'fail' ? 0 : 30_000);
      test.server.pods.patch('default', 'web', { metadata: { labels: { a: 'b' } } });
      await test.advance(30_000);
      expect(test.cloud.callsOf('createPod').length).toBeGreaterThan(1);
      test.cloud.hidden.clear();
      await test.advance(60_000);
      expect(test.cloud.updates).toMatchObject([{ pod: { metadata: { labels: { a: 'b' } } }, previous: undefined }]);
      expect(test.status('web')?.phase).toBe('Running');
    },
  );

  it('and comes back after it has failed is deleted, so that it does not run beside its replacement', async () => {
    const uid = await test.runningPod();
    const pod = test.cloud.pod('web')!;
    test.cloud.lose('web');
    await test.advance(30_000);
    expect(test.status('web')?.phase).toBe('Failed');
    await test.advance(60_000);
    test.cloud.add(pod);
    await test.advance(15_000);
    expect(test.cloud.names).toEqual([]);
    expect(test.cloud.callsOf('deletePod')).toHaveLength(2);
    expect(test.pod('web')?.metadata?.uid).toBe(uid);
  });

  it('because the list fails is not lost', async () => {
    await test.runningPod();
    test.cloud.react('listPods', () => new ProviderError('the cloud is down'));
    test.cloud.lose('web');
    await test.advance(120_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.nodes.inspect().list.failure).toMatchObject({ reason: 'the cloud is down' });
    const messages = test.logger.warnings.map(({ message }) => message);
    expect(messages).toEqual(['Listing the pods of the provider failed']);
  });

  it('because it is invalid there is not lost; the log and inspect() name the field, and the other pods are read', async () => {
    await test.runningPod();
    await test.create(podOf('other'));
    await test.advance(7000);
    test.cloud.report('web', { state: 'Running' as never });
    test.cloud.stop('other');
    await test.advance(60_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.condition('other', 'Ready')).toBe('False');
    const { list } = test.nodes.inspect();
    expect(list).toMatchObject({ pods: 1, invalid: { reason: expect.stringContaining('pods[0].state') as string } });
    expect(list.failure).toBeUndefined();
    const [logged, ...more] = test.logger.warnings;
    expect(logged?.message).toBe('Reading a pod of the provider failed');
    expect(logged?.fields['reason']).toContain('pods[0].state');
    expect(more).toEqual([]);
    test.cloud.report('web', { state: 'running' });
    await test.advance(6000);
    expect(test.nodes.inspect().list.invalid).toBeUndefined();
    expect(test.cloud.callsOf('deletePod')).toEqual([]);
  });

  it('is not lost as long as an invalid pod without a UID could be it', async () => {
    await test.runningPod();
    test.cloud.add({ uid: '', namespace: 'default', name: 'x', nodeName: 'node-a', state: 'running' });
    test.cloud.lose('web');
    await test.advance(60_000);
    expect(test.status('web')?.phase).toBe('Running');
    expect(test.nodes.inspect().list.invalid?.reason).toContain('pods[0].uid');
  });

  it('that began before the pod was created is not lost, and not created twice', async () => {
    await test.startNodes();
    test.cloud.latencyMs = 9000;
    test.cloud.ignoresSignals = true;
    await test.create(podOf());
    await test.advance(120_000);
    expect(test.cloud.callsOf('createPod')).toHaveLength(1);
    expect(test.status('web')?.phase).toBe('Running');
  });

  it('although it was accepted is requested again, because it may have been lost before it was seen', async () => {
    await test.startNodes();
    test.cloud.hidden.add('web');
    await test.create(podOf());
    await test.advance(30_000);
    expect(test.cloud.callsOf('createPod').length).toBeGreaterThan(1);
    expect(test.status('web')?.phase).toBe('Pending');
    test.cloud.hidden.clear();
    await test.advance(10_000);
    expect(test.status('web')?.phase).toBe('Running');
  });
});

describe('a pod that was accepted and is never listed', () => {
  const message = 'The provider accepted the pod at 2026-01-02T03:04:05Z and has not listed it';

  it('is said by inspect(), the status, and once in the log, until it is listed', async () => {
    await test.startNodes();
    test.cloud.hidden.add('web');
    const uid = await test.create(podOf());
    await test.advance(8000);
    expect(test.nodes.inspect().nodes[0]!.unlistedPods).toEqual([]);
    await test.advance(120_000);
    expect(test.nodes.inspect().nodes[0]!.unlistedPods).toEqual([
      { uid, fullName: 'web_default', acceptedAt: '2026-01-02T03:04:05Z' },
    ]);
    expect(test.status('web')).toMatchObject({
      phase: 'Pending',
      containerStatuses: [{ state: { waiting: { reason: 'NotReportedByProvider', message } } }],
    });
    const said = test.logger.warnings.map(({ message, fields }) => [message, (fields as { reason?: string }).reason]);
    expect(said).toEqual([
      [
        'Reading a pod of the provider failed',
        `pod default/web (${uid}), which createPod accepted at 2026-01-02T03:04:05Z, is not listed`,
      ],
    ]);
    test.cloud.hidden.clear();
    await test.advance(10_000);
    expect(test.nodes.inspect()).toMatchObject({ nodes: [{ unlistedPods: [] }] });
    expect(test.nodes.inspect().list.invalid).toBeUndefined();
    expect(test.status('web')).toMatchObject({ phase: 'Running' });
  });

  it('is not said of one that is deleted', async () => {
    await test.startNodes();
    test.cloud.hidden.add('web');
    await test.create(podOf());
    await test.advance(60_000);
    test.server.pods.delete('default', 'web');
    await test.advance(1000);
    expect(test.nodes.inspect()).toMatchObject({ nodes: [{ unlistedPods: [] }] });
  });
});
