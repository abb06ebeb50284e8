import { describe, expect, it } from 'vitest';
import { type PodLifecycle, PodSyncStatus } from '../../../src/node/pod-workers/pod-sync-status.ts';
import { allowStaticPodStart } from '../../../src/node/pod-workers/static-pod-starts.ts';
import { newNamedPod } from './recording-pod-syncer.ts';
import { podScope } from '../../support/pod-scope.ts';

const ended: PodLifecycle = { state: 'terminated', sinceMs: 0, isFinished: true };
const cleanedUp: PodLifecycle = { state: 'terminated', sinceMs: 0, isFinished: false };

/** Of a pod that waits, unless `status` says otherwise. */
function statusOf(uid: string, status: Partial<PodSyncStatus> = {}, fullName = 'foo', isStatic = true): PodSyncStatus {
  const pod = newNamedPod(uid, 'ns', 'foo', isStatic);
  const pendingUpdate = { updateType: 'create', pod, mirrorPod: undefined, runningPod: undefined } as const;
  return Object.assign(
    new PodSyncStatus({ uid, fullName, scope: podScope(pod), endedPhase: undefined }, { state: 'syncing' }),
    {
      pendingUpdate,
      ...status,
    },
  );
}

describe('Test_allowPodStart', () => {
  it.each<[string, boolean, readonly PodSyncStatus[]]>([
    ['static pod when there are no started static pods with the same full name', true, [statusOf('uid-0')]],
    [
      'static pod when there is a started static pod with the same full name',
      false,
      [statusOf('uid-0'), statusOf('uid-1', { hasStarted: true })],
    ],
    [
      'static pod when a static pod with the same full name has ended, and its resources are being cleaned up',
      false,
      [statusOf('uid-0'), statusOf('uid-1', { hasStarted: true, lifecycle: cleanedUp })],
    ],
    [
      'static pod if the static pod has already started',
      true,
      [statusOf('uid-1'), statusOf('uid-0', { hasStarted: true })],
    ],
    ['static pod if the static pod is the first pod waiting to start', true, [statusOf('uid-0'), statusOf('uid-1')]],
    [
      'static pod if the static pod is not the first pod waiting to start',
      false,
      [statusOf('uid-1'), statusOf('uid-0')],
    ],
    [
      'static pod if the static pod is the first valid pod waiting to start / clean up until picking the first valid pod',
      true,
      [
        statusOf('uid-2', { lifecycle: ended }),
        statusOf('uid-3', { lifecycle: ended, hasStarted: true }),
        ...[statusOf('uid-0'), statusOf('uid-1')],
      ],
    ],
    [
      'pods with another full name, and pods that are not static, do not count',
      true,
      [
        statusOf('uid-1', { hasStarted: true }, 'bar'),
        statusOf('uid-2', { hasStarted: true }, 'foo', false),
        statusOf('uid-0'),
      ],
    ],
  ])('%s', (_, allowed, statuses) => {
    expect(
      allowStaticPodStart(
        statuses.find(({ uid }) => uid === 'uid-0')!,
        statuses,
      ),
    ).toBe(allowed);
  });
});
