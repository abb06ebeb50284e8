import { afterEach, describe, expect, it } from 'vitest';
import {
  BasicPodManager,
  fileJournal,
  type Pod,
  type PodStatusInput,
  StatusManager,
  type StatusManagerOptions,
} from 'kubelet-status-manager';
import { FakeClock, FakePodClient, settle, silentLogger } from 'kubelet-status-manager/testing';
import { TestDirectories } from '../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

const running: PodStatusInput = { phase: 'Running', startTime: '1999-12-31T00:00:00Z', qosClass: 'BestEffort' };
const podOf = (uid: string, status: PodStatusInput = running, metadata: Pod['metadata'] = {}): Pod => ({
  metadata: { name: uid, namespace: 'default', uid, ...metadata },
  spec: { containers: [{ name: 'app' }], restartPolicy: 'Never' },
  status,
});

function managerOn(
  client: FakePodClient,
  options: Partial<StatusManagerOptions<BasicPodManager>> = {},
): StatusManager<BasicPodManager> {
  const podManager = new BasicPodManager();
  podManager.setPods(client.list());
  return new StatusManager({
    ...{ client, podManager, clock: new FakeClock(), logger: silentLogger },
    podCouldHaveRunningContainers: () => false,
    ...options,
  });
}

/** What an earlier manager accepted and did not send. */
async function journalOf(...unsent: readonly Pod[]): Promise<string> {
  const directory = directories.create();
  const manager = managerOn(new FakePodClient(), { journal: await fileJournal(directory) });
  for (const pod of unsent) manager.setPodStatus(pod, pod.status!);
  await manager.stop();
  return directory;
}

describe('resume', () => {
  it('adopts what the API server shows, with resize conditions, and starts', async () => {
    const conditions = [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible', message: 'too large' }];
    const client = new FakePodClient([podOf('a', { ...running, conditions }), podOf('b', {})]);
    const manager = managerOn(client);
    expect(manager.resume({ pods: client.list() })).toEqual({ seeded: 1, endedPods: [] });
    expect(manager.state).toBe('running');
    expect(manager.getPodResizeConditions('a')).toMatchObject(conditions);
    expect(manager.setPodStatus(podOf('a'), { ...running, startTime: null, conditions }).changed).toBe(false);
    await manager.stop();
    expect(client.actions).toEqual([]);
  });

  it('says which pods must not run: the end of a pod is in the journal, and the API server shows Running', async () => {
    const journal = await fileJournal(await journalOf(podOf('ended', { ...running, phase: 'Failed' })));
    const deleted = { deletionTimestamp: '2000-01-01T00:00:00Z' };
    const pods = [
      podOf('running'),
      podOf('ended'),
      podOf('succeeded', { ...running, phase: 'Succeeded' }),
      podOf('deleted', running, deleted),
      podOf('mirror', running, { annotations: { 'kubernetes.io/config.mirror': 'h' } }),
    ];
    const client = new FakePodClient(pods);
    const clock = new FakeClock();
    const manager = managerOn(client, { journal, clock });
    const { endedPods, seeded } = manager.resume({ pods });
    expect(endedPods.map(({ metadata }) => metadata?.name)).toEqual(['ended', 'succeeded', 'deleted']);
    expect(seeded).toBe(4);
    await settle(clock, manager, client);
    expect(client.pod('default', 'ended')?.status?.phase).toBe('Failed');
    await manager.stop();
  });

  it('drops what the journal has of pods that are gone, but not of the other pods that are named', async () => {
    const directory = await journalOf(podOf('gone'), podOf('static'), podOf('there', { ...running, message: 'new' }));
    const client = new FakePodClient([podOf('there')]);
    const clock = new FakeClock();
    const manager = managerOn(client, { journal: await fileJournal(directory), clock });
    expect(manager.recovered).toHaveLength(3);
    manager.resume({ pods: client.list(), otherPodUIDs: ['static'] });
    await settle(clock, manager, client);
    expect(manager.inspect().pods.map(({ podUID }) => podUID)).toEqual(['static', 'there']);
    expect(manager.getPodStatus('there')?.message).toBe('new');
    await manager.stop();
  });

  it('after stop(), and with invalid arguments, it throws and changes nothing', async () => {
    const manager = managerOn(new FakePodClient());
    expect(() => manager.resume({ pods: [podOf('a'), {}] })).toThrow('Expected `pods[1].metadata`');
    expect(() => manager.resume({ pods: [podOf('a')], otherPodUIDs: 'x' })).toThrow('otherPodUIDs');
    expect(() => manager.resume(undefined as never)).toThrow('Expected `options` to be an object');
    expect(manager.inspect()).toMatchObject({ state: 'created', pods: [] });
    await manager.stop();
    expect(() => manager.resume({ pods: [podOf('a')] })).toThrow('Cannot resume a manager that has been stopped');
    expect(manager.inspect().pods).toEqual([]);
  });
});
