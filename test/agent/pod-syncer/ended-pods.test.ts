import { describe, expect, it } from 'vitest';
import type { PodSpec, ValidPod } from 'kubelet-status-manager';
import type { RuntimeContainerStatus } from 'kubelet-status-manager/agent';
import { TestAgent } from './test-agent.ts';

const podOf = (spec: PodSpec = {}): ValidPod => ({
  metadata: { uid: 'uid-1', name: 'web', namespace: 'ns' },
  spec: { restartPolicy: 'Always', containers: [{ name: 'app', image: 'app:1' }], ...spec },
});

/** An agent that calls `beforeUnmount` once when a pod has ended, and then fails to clean the pod up, so that it syncs it again. */
function agentWith(beforeUnmount: (agent: TestAgent) => void): TestAgent {
  let times = 0;
  const agent: TestAgent = new TestAgent({
    volumeManager: {
      waitForAttachAndMount: async () => {},
      waitForUnmount: async () => {
        if (times++ > 0) return;
        beforeUnmount(agent);
        throw new Error('device is busy');
      },
    },
  });
  return agent;
}

const earlier = { id: 'fake://earlier', attempt: 0 };
/** What the runtime has left of a container whose last run is `last`. */
const remains: readonly (readonly [string, (last: RuntimeContainerStatus) => RuntimeContainerStatus[]])[] = [
  ['only a container that was created before and never started', (last) => [{ ...last, ...earlier, state: 'created' }]],
  ['only an earlier run with another exit code', (last) => [{ ...last, ...earlier, exitCode: 3 }]],
  ['the last run in an unknown state', (last) => [{ ...last, state: 'unknown' }]],
  // As in the kubelet.
  ['nothing', () => []],
];

describe('a pod that was reported as Succeeded keeps its phase and the exit codes of its containers', () => {
  it.each(remains)('when it is being deleted, and the runtime has %s', async (_, left) => {
    const agent = agentWith(({ runtime }) => {
      const containers = left(runtime.container('uid-1', 'app')!);
      runtime.put({ uid: 'uid-1', name: 'web', namespace: 'ns', containers });
    });
    agent.runtime.script('app', { stopExitCode: 0 });
    agent.runtime.fail({ method: 'startContainer' }, 'no connection');
    await agent.create(podOf());
    await agent.advance(20_000);
    expect(agent.status('web')?.containerStatuses).toMatchObject([{ restartCount: 1, state: { running: {} } }]);

    await agent.delete('web');
    await agent.advance(60_000);
    const history = agent.history('uid-1');
    expect(history.slice(history.findIndex((entry) => entry.startsWith('Succeeded')))).toEqual([
      'Succeeded (deleted): app exit 0',
    ]);
    expect(agent.client.pod('ns', 'web')).toBeUndefined();
  });

  it.each(remains)('when the agent has restarted, and the runtime has %s', async (_, left) => {
    const agent = new TestAgent();
    const last = { id: 'fake://last', name: 'app', attempt: 1, state: 'exited', createdAtMs: 0 } as const;
    agent.runtime.put({ uid: 'uid-1', name: 'web', namespace: 'ns', containers: left(last) });
    const state = { terminated: { exitCode: 0 } };
    const containerStatuses = [{ name: 'app', containerID: last.id, restartCount: 1, state }];
    await agent.create({ ...podOf(), status: { phase: 'Succeeded', containerStatuses } });
    await agent.advance(60_000);
    expect(agent.workers.statuses.shouldPodBeFinished('uid-1')).toBe(true);
    expect(agent.history('uid-1')).toEqual(['Succeeded: app exit 0']);
  });

  it('when its deadline passes before it is cleaned up', async () => {
    const agent = agentWith(({ clock }) => clock.advance(60_000));
    agent.runtime.script('app', { exitAfterMs: 50_000 });
    await agent.create(podOf({ restartPolicy: 'Never', activeDeadlineSeconds: 60 }));
    await agent.advance(120_000);
    expect(agent.workers.statuses.shouldPodBeFinished('uid-1')).toBe(true);
    expect(agent.history('uid-1').at(-1)).toBe('Succeeded: app exit 0');
    expect(agent.status('web')).not.toHaveProperty('reason');
    expect(agent.eventReasons()).not.toContain('DeadlineExceeded');
  });
});

describe('a pod that has failed keeps its reason', () => {
  it('when its containers have exited with 0, its agent has restarted, and its wall clock was set back', async () => {
    const agent = new TestAgent();
    const last = { id: 'fake://last', name: 'app', attempt: 0, state: 'exited', exitCode: 0, createdAtMs: 0 } as const;
    agent.runtime.put({ uid: 'uid-1', name: 'web', namespace: 'ns', containers: [last] });
    const why = {
      reason: 'DeadlineExceeded',
      message: 'Pod was active on the node longer than the specified deadline',
    };
    const pod = podOf({ restartPolicy: 'Never' });
    agent.manager.setPodStatus(pod, { phase: 'Failed', ...why });
    await agent.create({ ...pod, status: { phase: 'Failed' } });
    await agent.advance(60_000);
    expect(agent.status('web')).toMatchObject({ phase: 'Failed', ...why });
  });
});

describe('a container that has ended for good and runs again in the runtime', () => {
  it('keeps its reported end, and the statuses of the other containers are written', async () => {
    const agent = new TestAgent();
    const run = (name: string, attempt: number) =>
      ({ id: `fake://${name}-${attempt}`, name, attempt, state: 'running', createdAtMs: 0, startedAtMs: 0 }) as const;
    agent.runtime.put({ uid: 'uid-1', name: 'web', namespace: 'ns', containers: [run('app', 1), run('other', 0)] });
    const containers = [
      { name: 'app', image: 'app:1' },
      { name: 'other', image: 'other:1' },
    ];
    const ended = { name: 'app', containerID: 'fake://app-0', restartCount: 0, state: { terminated: { exitCode: 3 } } };
    await agent.create({
      ...podOf({ restartPolicy: 'Never', containers }),
      status: { phase: 'Running', containerStatuses: [ended] },
    });
    await agent.advance(10_000);
    expect(agent.status('web')?.containerStatuses).toMatchObject([
      { name: 'app', state: { terminated: { exitCode: 3 } } },
      { name: 'other', state: { running: {} } },
    ]);
  });
});
