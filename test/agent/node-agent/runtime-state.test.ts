import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod, PodSpec } from 'kubelet-status-manager';
import { TestCluster } from './test-cluster.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start();
});
afterEach(() => cluster[Symbol.asyncDispose]());

const podOf = (name: string, spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name },
  spec: { containers: [{ name: 'app', image: 'app:1' }], ...spec },
});

describe('a runtime whose network is not ready', () => {
  it('starts only pods with hostNetwork, and the Node is not ready, until it is', async () => {
    cluster.runtime.isNetworkReady = false;
    await cluster.startAgent();
    await cluster.create(podOf('own-network'));
    await cluster.create(podOf('host-network', { hostNetwork: true }));
    await cluster.advance(15_000);
    expect(cluster.status('host-network')?.phase).toBe('Running');
    expect(cluster.status('own-network')?.phase).toBe('Pending');
    expect(cluster.podEvents()).toContain('own-network: NetworkNotReady');
    expect(cluster.nodeCondition('Ready')).toMatchObject({
      status: 'False',
      message:
        'container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:no network',
    });

    cluster.runtime.isNetworkReady = true;
    await cluster.advance(15_000);
    expect(cluster.status('own-network')?.phase).toBe('Running');
    expect(cluster.nodeCondition('Ready')).toMatchObject({ status: 'True' });
  });

  it('ends the pods that run', async () => {
    await cluster.startAgent();
    await cluster.create(podOf('web'));
    await cluster.advance(3000);
    cluster.runtime.isNetworkReady = false;
    await cluster.advance(6000);
    cluster.server.pods.delete('default', 'web');
    await cluster.advance(5000);
    expect(cluster.pod('web')).toBeUndefined();
  });
});

it('no pod is synced while the runtime has given no status for 30 s, and the Node says that it is down', async () => {
  await cluster.startAgent();
  await cluster.advance(3000);
  cluster.runtime.fail({ method: 'status' }, 'no socket', 10);
  await cluster.advance(45_000);
  await cluster.create(podOf('web'));
  await cluster.advance(1000);
  expect(cluster.status('web')?.phase).toBe('Pending');
  expect(cluster.nodeCondition('Ready')).toMatchObject({ status: 'False', message: 'container runtime is down' });
  expect(cluster.agent.inspect().syncLoop.runtimeErrors).toEqual(['container runtime is down']);
  expect(cluster.logger.warnings.map(({ message }) => message)).toContain(
    'The status check of the container runtime failed',
  );
  await cluster.advance(30_000);
  expect(cluster.status('web')?.phase).toBe('Running');
});
