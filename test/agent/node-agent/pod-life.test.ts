import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Container, Pod, PodSpec } from 'kubelet-status-manager';
import { TestCluster } from './test-cluster.ts';

const app: Container = { name: 'app', image: 'app:1' };
const podOf = (spec: Partial<PodSpec> = {}, name = 'web'): Pod => ({
  metadata: { name },
  spec: { containers: [app], ...spec },
});

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start();
});
afterEach(() => cluster[Symbol.asyncDispose]());

describe('the life of a plain pod', () => {
  it('runs, and is deleted gracefully', async () => {
    const agent = await cluster.startAgent();
    await agent.whenReady();
    const uid = await cluster.create(podOf());
    await cluster.advance(1000);
    expect(cluster.status('web')).toMatchObject({ phase: 'Running', hostIP: '10.1.2.3' });
    expect(cluster.starts(uid, 'app')).toBe(1);

    cluster.server.pods.delete('default', 'web');
    await cluster.advance(3000);
    expect(cluster.pod('web')).toBeUndefined();
    expect(cluster.runtime.container(uid, 'app')).toMatchObject({ state: 'exited', exitCode: 143 });
    await cluster.advance(4000);
    expect(agent.inspect()).toMatchObject({ podWorkers: [], statusManager: { pods: [] } });
    expect(cluster.logger.warnings).toEqual([]);
    expect(cluster.logger.errors).toEqual([]);
  });
});
