import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { podOf, TestNodes } from './test-nodes.ts';

let test: TestNodes;
beforeEach(async () => {
  test = await TestNodes.start();
});
afterEach(() => test[Symbol.asyncDispose]());

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
    await test.advance(6000);
    expect(test.pod('web')).toBeUndefined();
    expect(test.cloud.names).toEqual(['db']);
    await test.advance(10_000);
    expect(test.cloud.calls.filter((call) => call !== 'listPods')).toEqual([
      'createPod web',
      'createPod db',
      'deletePod web',
    ]);
    expect(nodes.node('node-a')?.inspect()).toMatchObject({ podWorkers: [], statusManager: { pods: [] } });
    expect(test.logger.warnings).toEqual([]);
    expect(test.logger.errors).toEqual([]);
  });
});
