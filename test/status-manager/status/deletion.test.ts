import { describe, expect, it } from 'vitest';
import { canBeDeleted, isBeingDeleted } from '../../../src/status-manager/status/deletion.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';

const deletionTimestamp = '2026-01-02T03:04:05Z';
const deleted: Pod = { metadata: { deletionTimestamp }, status: { phase: 'Failed' } };

describe('canBeDeleted', () => {
  it.each<[string, Pod, boolean, boolean]>([
    ['its deletion was requested, its phase is terminal, its containers have stopped', deleted, true, true],
    ['its containers run', deleted, false, false],
    ['nobody asked for its deletion', { ...deleted, metadata: {} }, true, false],
    ['its phase is not terminal', { ...deleted, status: { phase: 'Running' } }, true, false],
    ['it has no status', { metadata: { deletionTimestamp } }, true, false],
    [
      'it is a mirror pod',
      { ...deleted, metadata: { deletionTimestamp, annotations: { 'kubernetes.io/config.mirror': 'hash' } } },
      true,
      false,
    ],
  ])('of a pod: %s', (_case, pod, podIsFinished, expected) => {
    expect(canBeDeleted(pod, podIsFinished)).toBe(expected);
  });
});

describe('isBeingDeleted', () => {
  it.each<[string, Pod, boolean]>([
    ['a pod with a deletionTimestamp', deleted, true],
    ['a pod without one', { metadata: {} }, false],
    ['a pod without metadata', {}, false],
  ])('%s', (_case, pod, expected) => {
    expect(isBeingDeleted(pod)).toBe(expected);
  });
});
