import { describe, expect, it } from 'vitest';
import { toRuntimeContainerStatus, toRuntimeSandboxStatus } from '../../src/cri/container-status.ts';
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

describe('toRuntimeContainerStatus', () => {
  it.each([
    ['CONTAINER_CREATED', 'created'],
    ['CONTAINER_RUNNING', 'running'],
    ['CONTAINER_EXITED', 'exited'],
    ['CONTAINER_UNKNOWN', 'unknown'],
  ])('%s is %s', (state, expected) => {
    expect(status({ state }).state).toBe(expected);
  });

  it('of a container without the names of a kubelet has the first attempt', () => {
    expect(status({ labels: {}, annotations: {}, image: null })).toMatchObject({ name: '', attempt: 0 });
    expect(status({ annotations: {} }).hash).toBeUndefined();
    expect(status({ image: null }).image).toBeUndefined();
  });

  it('of a running container has no end', () => {
    const running = status({ finished_at: 3 * second, message: 'x', reason: 'y' });
    for (const field of ['finishedAtMs', 'exitCode', 'reason', 'message']) expect(running).not.toHaveProperty(field);
  });

  it('of an exited container has when and why it ended', () => {
    const exited = status({
      state: 'CONTAINER_EXITED',
      finished_at: 3.9999999 * second,
      exit_code: 3,
      reason: 'Error',
    });
    expect(exited).toMatchObject({ finishedAtMs: 3999, exitCode: 3, reason: 'Error' });
  });

  it('has the resources and the user that the runtime has applied, if it says so', () => {
    const linux = { cpu_shares: 512, cpu_quota: 0, cpu_period: 0, memory_limit_in_bytes: 0 };
    expect(status({ resources: { linux } }).resources).toEqual({ requests: { cpu: '500m' }, limits: {} });
    const user = { uid: 1, gid: 2, supplemental_groups: [3, 4] };
    expect(status({ user: { linux: user } }).user).toEqual({
      linux: { uid: 1, gid: 2, supplementalGroups: [3, 4] },
    });
    for (const none of [null, { linux: null }]) {
      expect(status({ resources: none }).resources).toBeUndefined();
      expect(status({ user: none }).user).toBeUndefined();
    }
  });
});

describe('toRuntimeSandboxStatus', () => {
  const sandbox = (fields: object) =>
    toRuntimeSandboxStatus({
      ...{ id: 's', state: 'SANDBOX_READY', created_at: second, metadata: null, network: null, linux: null },
      ...fields,
    } as unknown as CRIMessage<'PodSandboxStatus'>);

  it('has the addresses of the pod', () => {
    const network = { ip: '10.0.0.1', additional_ips: [{ ip: 'fd00::1' }] };
    expect(sandbox({ network, metadata: { attempt: 2 } })).toEqual({
      ...{ id: 's', ready: true, attempt: 2, createdAtMs: 1000, hostNetwork: false },
      network: { ip: '10.0.0.1', additionalIPs: ['fd00::1'] },
    });
  });

  it('without them, is not ready or in the network of the node', () => {
    expect(sandbox({ state: 'SANDBOX_NOTREADY' })).toMatchObject({ ready: false, attempt: 0, network: undefined });
    const linuxWith = (network: string) => ({ namespaces: { options: { network } } });
    expect(sandbox({ linux: linuxWith('NODE') }).hostNetwork).toBe(true);
    expect(sandbox({ linux: linuxWith('POD') }).hostNetwork).toBe(false);
    for (const linux of [{ namespaces: null }, { namespaces: { options: null } }])
      expect(sandbox({ linux }).hostNetwork).toBe(false);
  });
});
