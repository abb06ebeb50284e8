import { expect, it } from 'vitest';
import { fault } from 'kubelet-status-manager/testing';
import { TestCluster } from './test-cluster.ts';

it('after an outage, pods are watched again as soon as the Lease was renewed, not when the informer’s own wait is over', async () => {
  await using cluster = await TestCluster.start();
  const agent = await cluster.startAgent();
  cluster.server.faults.next({ count: Number.POSITIVE_INFINITY }, fault.cut());
  cluster.server.faults.now({}, fault.cut());
  const failure = (): unknown => agent.statusManager.inspect().informer?.failure;
  await cluster.advance(60_000);
  // The informer has just begun to wait for 30 s.
  const { restarts } = agent.statusManager.inspect().informer!;
  while (agent.statusManager.inspect().informer!.restarts === restarts) await cluster.advance(500);
  cluster.server.faults.clear();
  await cluster.advance(10_500);
  // A watch counts as healthy after 5 s.
  await cluster.advance(5_500);
  expect(failure()).toBeUndefined();
});
