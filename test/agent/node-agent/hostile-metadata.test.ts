/** What a pod's author writes into its metadata does not decide where the pod comes from. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import { TestCluster } from './test-cluster.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start();
  await cluster.startAgent();
});
afterEach(() => cluster[Symbol.asyncDispose]());

const podWith = (metadata: Pod['metadata']): Pod => ({
  metadata: { name: 'web', ...metadata },
  spec: { containers: [{ name: 'app', image: 'app:1' }] },
});

describe('a pod of the API server runs, is reported and deleted, whatever it claims', () => {
  const nodeReference = { apiVersion: 'v1', kind: 'Node', name: 'node-a', uid: 'x', controller: true };
  it.each<[string, Pod['metadata']]>([
    ['to come from a file', { annotations: { 'kubernetes.io/config.source': 'file' } }],
    ['to come from a source that does not exist', { annotations: { 'kubernetes.io/config.source': '' } }],
    ['to have the hash of a manifest', { annotations: { 'kubernetes.io/config.hash': 'x' } }],
    ['to be seen in the future', { annotations: { 'kubernetes.io/config.seen': '2999-01-01T00:00:00Z' } }],
    ['to be owned by the Node', { ownerReferences: [nodeReference] }],
    ['to be another pod for the runtime', { labels: { 'io.kubernetes.pod.uid': 'other' } }],
  ])('%s', async (_, metadata) => {
    const uid = await cluster.create(podWith(metadata));
    await cluster.advance(3000);
    expect(cluster.status('web')?.phase).toBe('Running');
    cluster.server.pods.delete('default', 'web');
    await cluster.advance(5000);
    expect(cluster.pod('web')).toBeUndefined();
    expect(cluster.runtime.container(uid, 'app')?.state).not.toBe('running');
  });
});

it('a pod that claims to be a mirror pod is deleted like the mirror of a static pod that is gone, and that is logged', async () => {
  const uid = await cluster.create(podWith({ annotations: { 'kubernetes.io/config.mirror': 'x' } }));
  await cluster.advance(10_000);
  expect(cluster.pod('web')).toBeUndefined();
  expect(cluster.starts(uid, 'app')).toBe(0);
  expect(cluster.logger.lines).toContainEqual(expect.objectContaining({ message: 'Deleted mirror pod' }));
});
