/** An agent that stores nothing is restarted while a resize is pending or in progress. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Container, Pod } from 'kubelet-status-manager';
import type { NodeAgentOptions } from 'kubelet-status-manager/agent';
import { TestCluster } from './test-cluster.ts';

/** The Node has 4 CPUs. */
const options: Partial<NodeAgentOptions> = {
  node: { nodeStatus: () => ({ capacity: { cpu: '4', memory: '4Gi', pods: '110' } }) },
};
const podOf = (name: string, cpu: string, container: Partial<Container> = {}): Pod => ({
  metadata: { name },
  spec: { containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu } }, ...container }] },
});

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start();
});
afterEach(() => cluster[Symbol.asyncDispose]());

async function resize(name: string, cpu: string): Promise<void> {
  const client = cluster.server.client();
  const body = { spec: { containers: [{ name: 'app', resources: { requests: { cpu } } }] } };
  const contentType = 'application/strategic-merge-patch+json';
  await client.transport.request('PATCH', `/api/v1/namespaces/default/pods/${name}/resize`, { contentType, body });
  await client.close();
}

async function restart(): Promise<void> {
  await cluster.stopAgent();
  await cluster.startAgent(options);
}

const shown = (name: string) => {
  const { phase, conditions = [], containerStatuses: [app] = [] } = cluster.status(name)!;
  const resizing = conditions.flatMap(({ type, reason }) =>
    type.startsWith('PodResize') ? `${type} ${reason ?? ''}` : [],
  );
  return [phase, app?.allocatedResources?.['cpu'], app?.resources?.requests?.['cpu'], ...resizing];
};

describe.each(['while the agent runs', 'while the agent is away'])('a resize that is asked for %s', (when) => {
  const isAway = when === 'while the agent is away';

  it('and deferred stays deferred after a restart, and both pods keep running', async () => {
    await cluster.startAgent(options);
    const uids = [await cluster.create(podOf('small', '1')), await cluster.create(podOf('large', '3'))];
    await cluster.advance(3000);
    if (isAway) await cluster.stopAgent();
    await resize('small', '2');
    if (isAway) await cluster.startAgent(options);
    await cluster.advance(5000);
    expect(shown('small')).toEqual(['Running', '1', '1', 'PodResizePending Deferred']);
    await restart();
    await cluster.advance(120_000);
    expect(shown('small')).toEqual(['Running', '1', '1', 'PodResizePending Deferred']);
    expect(shown('large')).toEqual(['Running', '3', '3']);
    expect(uids.map((uid) => cluster.starts(uid, 'app'))).toEqual([1, 1]);

    cluster.server.pods.delete('default', 'large');
    await cluster.advance(60_000);
    expect(shown('small')).toEqual(['Running', '2', '2']);
    expect(cluster.runtime.callsOf({ method: 'updateContainerResources' })).toHaveLength(1);
  });

  it('and has room after a restart is done in the running container', async () => {
    await cluster.startAgent(options);
    const uid = await cluster.create(podOf('small', '1'));
    await cluster.advance(3000);
    if (!isAway) cluster.runtime.fail({ method: 'updateContainerResources' }, 'not now', 2);
    else await cluster.stopAgent();
    await resize('small', '2');
    if (!isAway) {
      await cluster.advance(5000);
      expect(shown('small')).toEqual(['Running', '2', '1', expect.stringContaining('PodResizeInProgress')]);
      await cluster.stopAgent();
    }
    await cluster.startAgent(options);
    await cluster.advance(120_000);
    expect(shown('small')).toEqual(['Running', '2', '2']);
    expect(cluster.runtime.container(uid, 'app')).toMatchObject({ resources: { requests: { cpu: '2' } } });
    expect(cluster.starts(uid, 'app')).toBe(1);
  });
});

it('a container that restarts when it is resized keeps running over a restart of the agent', async () => {
  await cluster.startAgent(options);
  const resizePolicy = [{ resourceName: 'cpu', restartPolicy: 'RestartContainer' }];
  const uid = await cluster.create(podOf('small', '1', { resizePolicy }));
  await cluster.advance(3000);
  await restart();
  await cluster.advance(120_000);
  expect(cluster.starts(uid, 'app')).toBe(1);
});
