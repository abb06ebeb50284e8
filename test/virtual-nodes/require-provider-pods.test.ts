import { expect, it } from 'vitest';
import { readProviderPods } from '../../src/virtual-nodes/calls/require-provider-pods.ts';

const pod = { uid: 'u-1', namespace: 'default', name: 'web', nodeName: 'node-a', state: 'running' };

it('a complete pod is accepted', () => {
  const exit = { exitCode: 0, reason: 'Completed', message: '', finishedAt: new Date() };
  const container = {
    name: 'app',
    ready: true,
    started: true,
    restartCount: 0,
    startedAt: new Date(),
    imageID: 'a',
    exit,
  };
  const waiting = { name: 'b', waiting: { reason: 'ImagePullBackOff', message: 'no such image' } };
  const complete = { ...pod, ips: ['10.0.0.1'], reason: 'r', message: 'm', startedAt: new Date() };
  expect(readProviderPods([pod, { ...complete, uid: 'u-2', containers: [container, waiting] }])).toMatchObject({
    invalid: [],
  });
});

it.each([
  ['pods[0]', [null]],
  ['pods[0]', ['web']],
  ['pods[1].uid', [pod, { ...pod, uid: '' }]],
  ['pods[0].namespace', [{ ...pod, namespace: undefined }]],
  ['pods[0].name', [{ ...pod, name: 1 }]],
  ['pods[0].nodeName', [{ ...pod, nodeName: null }]],
  ['pods[0].state', [{ ...pod, state: 'Running' }]],
  ['pods[0].state', [{ ...pod, state: undefined }]],
  ['pods[0].ips', [{ ...pod, ips: '10.0.0.1' }]],
  ['pods[0].ips[0]', [{ ...pod, ips: [''] }]],
  ['pods[0].reason', [{ ...pod, reason: 1 }]],
  ['pods[0].startedAt', [{ ...pod, startedAt: '2026-01-01T00:00:00Z' }]],
  ['pods[0].startedAt', [{ ...pod, startedAt: new Date(Number.NaN) }]],
  ['pods[0].containers', [{ ...pod, containers: {} }]],
  ['pods[0].containers[0].name', [{ ...pod, containers: [{}] }]],
  ['pods[0].containers[0].ready', [{ ...pod, containers: [{ name: 'a', ready: 'yes' }] }]],
  ['pods[0].containers[0].restartCount', [{ ...pod, containers: [{ name: 'a', restartCount: -1 }] }]],
  ['pods[0].containers[0].exit', [{ ...pod, containers: [{ name: 'a', exit: 0 }] }]],
  ['pods[0].containers[0].exit.exitCode', [{ ...pod, containers: [{ name: 'a', exit: {} }] }]],
  [
    'pods[0].containers[0].exit.finishedAt',
    [{ ...pod, containers: [{ name: 'a', exit: { exitCode: 0, finishedAt: 1 } }] }],
  ],
  ['pods[0].containers[0].waiting.reason', [{ ...pod, containers: [{ name: 'a', waiting: {} }] }]],
])('%s is named when it is invalid, and the other pods are read', (path, pods) => {
  const valid = { ...pod, uid: 'u-2' };
  const list = readProviderPods([...pods, valid]);
  expect(list.invalid).toEqual([expect.stringContaining(path)]);
  expect(list.pods).toContainEqual(valid);
});

it.each([undefined, {}])('what is no list is refused: %s', (list) => {
  expect(() => readProviderPods(list)).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', path: 'pods' }) as Error,
  );
});

it('an invalid pod may be the one with its UID, and without a UID any', () => {
  const { mayInclude } = readProviderPods([{ ...pod, state: '?' }]);
  expect(['u-1', 'u-2'].map(mayInclude)).toEqual([true, false]);
  for (const entry of [null, 7, {}, { uid: '' }, { uid: 1 }])
    expect(readProviderPods([entry]).mayInclude('u-2')).toBe(true);
});
