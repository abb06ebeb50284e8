import { describe, expect, it } from 'vitest';
import { toRuntimeContainerStatus } from '../../src/cri/container-status.ts';
import type { CRIMessage } from '../../src/cri/cri-messages.ts';

const second = 1e9;
const status = (fields: object) =>
  toRuntimeContainerStatus(
    {
      id: 'abc',
      state: 'CONTAINER_RUNNING',
      labels: { 'io.kubernetes.container.name': 'app' },
      annotations: { 'io.kubernetes.container.restartCount': '3', 'io.kubernetes.container.hash': 'f00' },
      created_at: second,
      started_at: 2 * second,
      finished_at: 0,
      image: { image: 'app:1' },
      image_id: 'sha256:1',
      image_ref: 'app@sha256:2',
      exit_code: 0,
      reason: '',
      message: '',
      resources: null,
      user: null,
      mounts: [],
      stop_signal: 'SIGNAL_RUNTIME_DEFAULT',
      ...fields,
    } as unknown as CRIMessage<'ContainerStatus'>,
    { runtimeName: 'containerd', sandboxID: 'box', terminationMessage: 'bye' },
  );

describe('toRuntimeContainerStatus', () => {
  it('has the images that it mounts', () => {
    expect(status({ mounts: [{ image: null }, { image: { image: 'sha256:1' } }] }).mountedImageIDs).toEqual([
      'sha256:1',
    ]);
  });

  it('has the mount points that are read-only with all that is mounted below them', () => {
    const mounts = [
      { container_path: '/a', recursive_read_only: true },
      { container_path: '/b', recursive_read_only: false },
    ];
    expect(status({ mounts }).recursiveReadOnlyMounts).toEqual(['/a']);
  });

  it('has the name, hash and restart count that the container was created with', () => {
    expect(status({})).toMatchObject({
      id: 'containerd://abc',
      name: 'app',
      sandboxID: 'box',
      state: 'running',
      attempt: 3,
      hash: 'f00',
      createdAtMs: 1000,
      startedAtMs: 2000,
      image: 'app:1',
    });
  });

  it('has the ID of the image and the reference that the pod status shows; older runtimes report one for both', () => {
    expect(status({})).toMatchObject({ imageID: 'sha256:1', imageRef: 'app@sha256:2' });
    expect(status({ image_id: '' })).toMatchObject({ imageID: 'app@sha256:2', imageRef: 'app@sha256:2' });
  });

  it('of a created container has not started', () => {
    expect(status({ state: 'CONTAINER_CREATED', started_at: 0 }).startedAtMs).toBeUndefined();
  });

  it('of a container that could not be started has the time 0, as under the kubelet', () => {
    const exited = status({ state: 'CONTAINER_EXITED', started_at: 0, reason: 'StartError', exit_code: 128 });
    expect(exited).toMatchObject({ startedAtMs: 0, reason: 'StartError', exitCode: 128 });
  });

  it('of an exited container has the message of the runtime and that of the container', () => {
    expect(status({ state: 'CONTAINER_EXITED', message: 'OOM' }).message).toBe('OOM: bye');
    expect(status({ state: 'CONTAINER_EXITED' }).message).toBe('bye');
  });

  it('names a stop signal of its own', () => {
    expect(status({ stop_signal: 'SIGNAL_SIGUSR1' }).stopSignal).toBe('SIGUSR1');
    expect(status({}).stopSignal).toBeUndefined();
  });
});
