import { describe, expect, it } from 'vitest';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { conditions, podOf, SyncHarness } from './sync-harness.ts';

const deletionTimestamp = '2026-01-02T03:04:05Z';
/** As a newer API server may have it. */
const unknownField: object = { newer: 'field' };

function change(h: SyncHarness, name: string, status: Pod['status']): void {
  const pod = h.client.pod('default', name)!;
  h.client.put({ ...pod, status: { ...pod.status, ...status } });
}

describe.each(['strategic-merge', 'json-patch'] as const)('readBeforePatch: when-stale, %s', (patchStrategy) => {
  function harness(): SyncHarness {
    return new SyncHarness({ readBeforePatch: 'when-stale', patchStrategy }).informed();
  }

  /** A pod that has been written once, so that its object is trusted. */
  async function trusted(h: SyncHarness, name = 'a'): Promise<void> {
    h.addPods(name);
    h.manager.start();
    h.set(name, 'first', { conditions: conditions.unready });
    await h.settle();
    expect(h.takeRequests()).toEqual([`get ${name}`, `patch ${name}`]);
  }

  it('makes one request an update in steady state, and none when nothing changes', async () => {
    const h = harness();
    await trusted(h);
    for (let i = 0; i < 20; i++) {
      h.set('a', String(i), { conditions: i % 2 === 0 ? conditions.ready : conditions.unready });
      await h.clock.advanceAsync(10_000);
    }
    expect(h.takeRequests()).toEqual(Array.from({ length: 20 }, () => 'patch a'));
    expect(h.written('a')).toBe('19');
    await h.clock.advanceAsync(600_000);
    expect(h.takeRequests()).toEqual([]);
    await h.manager.stop();
  });

  it('tells the client which version of the object a patch changes', async () => {
    const h = harness();
    const versions: unknown[] = [];
    const patchPodStatus = h.client.patchPodStatus.bind(h.client);
    h.client.patchPodStatus = (pod, patch, options) => {
      versions.push(patch.resourceVersion);
      return patchPodStatus(pod, patch, options);
    };
    h.addPods('a');
    const pod = h.client.pod('default', 'a')!;
    h.client.put({ ...pod, metadata: { ...pod.metadata, resourceVersion: '7' } });
    h.manager.start();
    h.set('a', 'first', { conditions: conditions.unready });
    await h.settle();
    expect(versions).toEqual(['7']);
    await h.manager.stop();
  });

  it.each([404, 409, 422])('reads after a %i, and writes with the same sync', async (code) => {
    const h = harness();
    await trusted(h);
    h.client.fail({ verb: 'patch' }, code);
    h.set('a', 'second', { conditions: conditions.unready });
    await h.settle();
    expect(h.takeRequests()).toEqual(['patch a', 'get a', 'patch a']);
    expect(h.written('a')).toBe('second');
    await h.manager.stop();
  });

  it('reads first after a failure that leaves open whether the patch was applied', async () => {
    const h = harness();
    await trusted(h);
    h.client.fail({ verb: 'patch' }, 500);
    h.set('a', 'second', { conditions: conditions.unready });
    await h.clock.advanceAsync(500);
    expect(h.takeRequests()).toEqual(['patch a', 'get a', 'patch a']);
    await h.manager.stop();
  });

  it('detects changes by another writer in the response and restores our fields', async () => {
    const h = harness();
    await trusted(h);
    change(h, 'a', { reason: 'somebody else’s' });
    h.set('a', 'second', { conditions: conditions.unready });
    await h.settle();
    // The response shows what a GET would show.
    expect(h.takeRequests()).toEqual(['patch a', 'patch a']);
    expect(h.client.pod('default', 'a')?.status?.reason).toBeUndefined();
    expect(h.takeOutcomes()).toEqual(['written 1', 'written 2']);
    h.set('a', 'third', { conditions: conditions.unready });
    await h.settle();
    expect(h.takeRequests()).toEqual(['patch a']);
    await h.manager.stop();
  });

  it('reports the version as written although the response shows more', async () => {
    const h = harness();
    await trusted(h);
    change(h, 'a', unknownField);
    h.set('a', 'second', { conditions: conditions.unready });
    await h.settle();
    expect(h.takeRequests()).toEqual(['patch a']);
    expect(h.takeOutcomes()).toEqual(['written 1', 'written 2']);
    await h.manager.stop();
  });

  it('does not trust a response that differs from the written status', async () => {
    const h = harness();
    h.addPod({ ...podOf('a'), status: { phase: 'Pending', ...unknownField } });
    h.manager.start();
    for (const message of ['first', 'second']) {
      h.set('a', message, { conditions: conditions.unready });
      await h.settle();
      expect(h.takeRequests()).toEqual(['get a', 'patch a']);
    }
    await h.manager.stop();
  });

  it('repairs a foreign change that only the pod manager shows', async () => {
    const h = harness();
    await trusted(h);
    change(h, 'a', { message: 'somebody else’s' });
    h.observe('a');
    await h.clock.advanceAsync(10_000);
    expect(h.takeRequests()).toEqual(['get a', 'patch a']);
    expect(h.written('a')).toBe('first');
    await h.manager.stop();
  });

  it.each([
    ['8', ['patch a']],
    ['9', ['patch a']],
    ['10', ['get a', 'patch a']],
    ['none', ['patch a']],
  ])(
    'when its last PATCH made version 9 and the pod manager has %s, the requests are %j',
    async (version, requests) => {
      const h = harness();
      h.addPod(podOf('a', { resourceVersion: '9' }));
      h.manager.start();
      h.set('a', 'first', { conditions: conditions.unready });
      await h.settle();
      h.takeRequests();
      h.podManager.updatePod(podOf('a', { resourceVersion: version === 'none' ? undefined : version }));
      h.set('a', 'second', { conditions: conditions.ready });
      await h.settle();
      expect(h.takeRequests()).toEqual(requests);
      await h.manager.stop();
    },
  );

  it('keeps the conditions of others, which it has not seen', async () => {
    const h = harness();
    await trusted(h);
    const gate = { type: 'example.com/gate', status: 'True' };
    change(h, 'a', { conditions: [...h.client.pod('default', 'a')!.status!.conditions!, gate] });
    // Ours all go: a patch that removed the list would take the other one along.
    h.set('a', 'second');
    await h.settle();
    expect(h.client.pod('default', 'a')?.status?.conditions).toMatchObject([gate]);
    expect(h.written('a')).toBe('second');
    await h.manager.stop();
  });

  it('does not touch the conditions of others when ours come for the first time', async () => {
    const h = harness();
    h.addPods('a');
    h.manager.start();
    h.set('a', 'first');
    await h.settle();
    const gate = { type: 'example.com/gate', status: 'True' };
    change(h, 'a', { conditions: [gate] });
    h.set('a', 'second', { conditions: conditions.ready });
    await h.settle();
    expect(h.client.pod('default', 'a')?.status?.conditions?.map(({ type }) => type)).toEqual([gate.type, 'Ready']);
    await h.manager.stop();
  });

  it('reads when the pod manager shows that another writer has reset the phase: it may have to be held back', async () => {
    let couldRun = false;
    const h = new SyncHarness({
      readBeforePatch: 'when-stale',
      patchStrategy,
      podCouldHaveRunningContainers: () => couldRun,
    }).informed();
    await trusted(h);
    h.set('a', 'second', { phase: 'Failed', conditions: conditions.unready });
    await h.settle();
    change(h, 'a', { phase: 'Running', message: 'taken back' });
    h.observe('a');
    couldRun = true;
    h.takeRequests();
    h.set('a', 'third', { phase: 'Failed', conditions: conditions.unready });
    await h.settle();
    expect(h.takeRequests()[0]).toBe('get a');
    expect(h.client.pod('default', 'a')?.status).toMatchObject({ phase: 'Running', message: 'taken back' });
    await h.manager.stop();
  });

  it('reads while the terminal phase is held back: if the containers have stopped meanwhile, one patch has all', async () => {
    let couldRun = false;
    const h = new SyncHarness({
      readBeforePatch: 'when-stale',
      patchStrategy,
      podCouldHaveRunningContainers: () => {
        const answer = couldRun;
        couldRun = false;
        return answer;
      },
    }).informed();
    await trusted(h);
    couldRun = true;
    h.set('a', 'second', { phase: 'Failed', conditions: conditions.unready });
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a', 'patch a']);
    expect(h.client.pod('default', 'a')?.status).toMatchObject({ phase: 'Failed', message: 'second' });
    await h.manager.stop();
  });

  it('adds a DisruptionTarget only after reading the phase that the API server has', async () => {
    const h = harness();
    await trusted(h);
    change(h, 'a', { phase: 'Failed' });
    h.set('a', 'second', { phase: 'Failed', conditions: [{ type: 'DisruptionTarget', status: 'True' }] });
    await h.settle();
    expect(h.client.pod('default', 'a')?.status?.conditions).toBeUndefined();
    await h.manager.stop();
  });

  it('never touches a pod that was recreated under the same name', async () => {
    const h = harness();
    await trusted(h);
    const recreated = podOf('a', { uid: 'another' });
    h.client.put(recreated);
    h.set('a', 'second', { conditions: conditions.unready });
    await h.settle();
    expect(h.takeRequests()).toEqual(['patch a', 'get a']);
    expect(h.client.pod('default', 'a')).toEqual(recreated);
    expect(h.manager.inspect().pods).toEqual([]);
    await h.manager.stop();
  });

  it('deletes a terminated pod because of the response to its last PATCH', async () => {
    const h = harness();
    await trusted(h);
    h.addPod({ ...h.client.pod('default', 'a')!, metadata: podOf('a', { deletionTimestamp }).metadata! });
    h.manager.terminatePod(h.client.pod('default', 'a')!);
    await h.settle();
    expect(h.takeRequests()).toEqual(['patch a', 'delete a']);
    expect(h.client.pod('default', 'a')).toBeUndefined();
    await h.manager.stop();
  });

  it('reads a pod whose deletion came after its last PATCH, and deletes it', async () => {
    const h = harness();
    await trusted(h);
    h.manager.terminatePod(h.client.pod('default', 'a')!);
    await h.settle();
    h.takeRequests();
    h.addPod({ ...h.client.pod('default', 'a')!, metadata: podOf('a', { deletionTimestamp }).metadata! });
    await h.clock.advanceAsync(10_000);
    expect(h.takeRequests()).toEqual(['get a', 'delete a']);
    await h.manager.stop();
  });

  it('asks the safety provider about the pod manager’s pod, and reads when that has none', async () => {
    const asked: Pod[] = [];
    const h = new SyncHarness({
      readBeforePatch: 'when-stale',
      patchStrategy,
      podCouldHaveRunningContainers: (pod) => {
        asked.push(pod);
        return false;
      },
    }).informed();
    await trusted(h);
    const spec = { containers: [{ name: 'known to the pod manager' }] };
    const known = { ...h.podManager.getPodByUID('uid-a')!, spec };
    h.podManager.updatePod(known);
    h.set('a', 'second', { conditions: conditions.unready });
    await h.settle();
    expect(h.takeRequests()).toEqual(['patch a']);
    // The complete pod, because a provider may decide by labels or by the status.
    expect(asked.at(-1)).toBe(known);
    const pod = h.podManager.getPodByUID('uid-a')!;
    h.podManager.removePod(pod);
    h.manager.setPodStatus(pod, { phase: 'Running', message: 'third', conditions: conditions.unready });
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a', 'patch a']);
    await h.manager.stop();
  });

  it('patches the mirror of a static pod, and reads when that is another one', async () => {
    const h = harness();
    const staticPod = podOf('s', { annotations: { 'kubernetes.io/config.source': 'file' } });
    const mirror = podOf('s', { uid: 'mirror-s', annotations: { 'kubernetes.io/config.mirror': 'x' } });
    h.podManager.addPod(staticPod);
    h.addPod(mirror);
    h.manager.start();
    h.set('s', '1');
    await h.settle();
    h.set('s', '2');
    await h.settle();
    expect(h.takeRequests()).toEqual(['get s', 'patch s', 'patch s']);
    // Recreated, and the pod manager knows: the old object is no longer ours.
    const recreated = { ...mirror, metadata: { ...mirror.metadata, uid: 'mirror-2' } };
    h.podManager.removePod(mirror);
    h.addPod(recreated);
    h.set('s', '3');
    await h.settle();
    expect(h.takeRequests()).toEqual(['get s', 'patch s']);
    expect(h.written('s')).toBe('3');
    expect(h.inspect('s').lastError).toBeUndefined();
    await h.manager.stop();
  });

  it('a webhook that strips a field costs one more PATCH an update, and is noticed', async () => {
    const h = harness();
    h.addPods('a');
    h.client.react(
      { verb: 'patch' },
      () => () => {
        const { message: _message, ...status } = h.client.pod('default', 'a')!.status!;
        h.client.put({ ...h.client.pod('default', 'a')!, status });
        h.observe('a');
      },
      Number.POSITIVE_INFINITY,
    );
    h.manager.start();
    h.set('a', 'stripped');
    await h.clock.advanceAsync(3_600_000);
    expect(h.logger.warnings).toHaveLength(1);
    expect(h.count('patch')).toBe(182);
    await h.manager.stop();
  });

  it('does not trust what it wrote of a status that was dropped during the request', async () => {
    const h = harness();
    h.addPods('a');
    h.client.react({ verb: 'patch' }, () => h.manager.removeOrphanedStatuses([]));
    h.manager.start();
    h.set('a', 'first', { conditions: conditions.unready });
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a', 'patch a']);
    h.set('a', 'second', { conditions: conditions.unready });
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a', 'patch a']);
    await h.manager.stop();
  });

  it('forgets the trusted object of a pod that is gone', async () => {
    const h = harness();
    await trusted(h);
    h.manager.removeOrphanedStatuses([]);
    h.set('a', 'second', { conditions: conditions.unready });
    await h.settle();
    expect(h.takeRequests()).toEqual(['get a', 'patch a']);
    await h.manager.stop();
  });
});
