import { expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import { podHash } from '../../src/virtual-nodes/pods/pod-hash.ts';

const metadata = { uid: 'u-1', namespace: 'default', name: 'web', labels: { a: '1', b: '2' } };
const resources = { requests: { cpu: '1', memory: '1Gi' } };
const pod: ValidPod = { metadata, spec: { containers: [{ name: 'app', image: 'app:1', resources }] } };

it('the hash of a pod fits into a label, and does not depend on the order of keys, on the status, or on when a process has seen the pod', () => {
  expect(podHash(pod)).toMatch(/^[0-9a-f]{32}$/);
  const reordered = {
    metadata: { ...metadata, labels: { b: '2', a: '1' }, annotations: { 'kubernetes.io/config.seen': 'now' } },
    spec: { containers: [{ image: 'app:1', resources: { requests: { memory: '1Gi', cpu: '1' } }, name: 'app' }] },
    status: { phase: 'Running' },
  };
  expect(podHash(reordered)).toBe(podHash(pod));
});

it.each<[string, ValidPod]>([
  ['labels', { ...pod, metadata: { ...metadata, labels: { a: '1', b: '3' } } }],
  ['annotations', { ...pod, metadata: { ...metadata, annotations: { a: '1' } } }],
  ['images', { ...pod, spec: { containers: [{ name: 'app', image: 'app:2', resources }] } }],
  ['resources', { ...pod, spec: { containers: [{ name: 'app', image: 'app:1', resources: {} }] } }],
  ['resources of the pod', { ...pod, spec: { ...pod.spec!, resources } }],
])('the hash of a pod changes with its %s', (_what, changed) => {
  expect(podHash(changed)).not.toBe(podHash(pod));
});
