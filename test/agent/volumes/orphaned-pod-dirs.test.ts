import { beforeEach, expect, it } from 'vitest';
import type { VolumeManager } from 'kubelet-status-manager/agent';
import { FakeClock, type RecordingLogger, recordingLogger, settle } from 'kubelet-status-manager/testing';
import { OrphanedPodDirs } from '../../../src/agent/volumes/orphaned-pod-dirs.ts';
import { boundedVolumeManager } from '../../../src/agent/volumes/bounded-volume-manager.ts';
import { linesAtInfo } from '../../support/log-lines.ts';

let clock: FakeClock;
let logger: RecordingLogger;
beforeEach(() => {
  clock = new FakeClock('2026-01-02T03:04:05Z');
  logger = recordingLogger();
});

function dirsWith(cleanupOrphanedPodDirs: VolumeManager['cleanupOrphanedPodDirs']): OrphanedPodDirs {
  const methods = { waitForAttachAndMount: async () => {}, waitForUnmount: async () => {} };
  const port = { ...methods, ...(cleanupOrphanedPodDirs && { cleanupOrphanedPodDirs }) };
  const { signal } = new AbortController();
  return new OrphanedPodDirs({ volumeManager: boundedVolumeManager(port, { clock, signal }), clock, logger });
}

it('a volume manager that hangs is asked once at a time; after 10 minutes that is a failure, which ends with the next success', async () => {
  let calls = 0;
  const dirs = dirsWith(() => (++calls === 1 ? new Promise<void>(() => {}) : Promise.resolve()));
  for (let i = 0; i < 3; i++) dirs.cleanUp(new Set());
  await clock.advanceAsync(600_000);
  expect(calls).toBe(1);
  expect(dirs.failure?.reason).toBe('cleanupOrphanedPodDirs of the volume manager took over 600000 ms');
  dirs.cleanUp(new Set());
  await settle();
  expect([calls, dirs.failure]).toEqual([2, undefined]);
  expect(linesAtInfo(logger).map(({ message }) => message)).toEqual([
    'Removing the folders of orphaned pods failed',
    'Removing the folders of orphaned pods succeeded again',
  ]);
});

it('stop() ends it although the volume manager hangs, is no failure, and leaves no timer', async () => {
  let isAborted = false;
  const dirs = dirsWith((_, { signal }) => {
    signal?.addEventListener('abort', () => (isAborted = true));
    return new Promise(() => {});
  });
  dirs.cleanUp(new Set());
  await dirs.stop();
  dirs.cleanUp(new Set());
  expect([isAborted, dirs.failure, clock.pendingTimers]).toEqual([true, undefined, 0]);
  expect(logger.lines).toEqual([]);
});

it('a volume manager may have no folders', async () => {
  const dirs = dirsWith(undefined);
  dirs.cleanUp(new Set());
  await settle();
  expect([dirs.failure, logger.lines]).toEqual([undefined, []]);
});
