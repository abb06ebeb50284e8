import { existsSync, mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock, type RecordingLogger, recordingLogger, settle } from 'kubelet-status-manager/testing';
import { type ContainerConfig, noTimeoutMs } from '../../src/node/runtime/container-runtime.ts';
import { CRIError } from '../../src/cri/cri-error.ts';
import { CRIRuntime, type CRIRuntimeSettings } from '../../src/cri/cri-runtime.ts';
import { hostPodFiles } from '../../src/cri/runtime-pod-files.ts';
import { TestDirectories } from '../support/directories.ts';
import { machine, podWith } from './pods.ts';
import { TestStream } from './test-stream.ts';
import { type HostFiles, systemFiles } from '../../src/node/host-paths/host-files.ts';
import type { ValidPod } from '../../src/kube/objects/types.ts';

const directories = new TestDirectories();
let folder: string;
let logger: RecordingLogger;
/** The requests of the test, by method. */
let requests: { readonly method: string; readonly request: object; readonly signal: AbortSignal | undefined }[];
/** What the runtime responds: an object, an error, or a function of the request. */
let responses: Record<string, object | Error | ((request: never) => object)>;
let helper: Record<string, unknown>;
beforeEach(() => {
  folder = directories.create();
  logger = recordingLogger();
  requests = [];
  helper = {
    generateRunContainerOptions: async () => ({ command: [], args: [], envs: [], mounts: [] }),
    getPodDNS: async () => ({ servers: ['10.0.0.10'], searches: [], options: [] }),
    generatePodHostName: () => 'web',
    lookupRuntimeHandler: async (name: string) => `handler of ${name}`,
    pullCredentials: async () => ({ credentials: [], missingSecrets: [] }),
  };
  responses = {
    ListPodSandbox: { items: [] },
    ListContainers: { containers: [] },
    Status: { status: null, runtime_handlers: [] },
    RunPodSandbox: { pod_sandbox_id: 's' },
    ImageStatus: { image: { id: 'sha256:1', size: 5, uid: { value: 7 } } },
    CreateContainer: { container_id: 'c' },
    PodSandboxStatus: { status: sandboxStatus('s') },
  };
});
afterEach(() => directories.removeAll());

const errorOf = (code: number, details: string): CRIError => new CRIError({ code, details, message: '' });
const notFound = errorOf(5, 'not found');
const refused = errorOf(9, 'not allowed');
const goMessage = 'rpc error: code = FailedPrecondition desc = not allowed';

/** The clients of runtimes, which a test can give streams. */
const clients = new WeakMap<CRIRuntime, object>();
const clientOf = (runtime: CRIRuntime): object => clients.get(runtime)!;

function runtimeWith(settings: object = {}): CRIRuntime {
  const call = async (method: string, request: object, options: { readonly signal?: AbortSignal } = {}) => {
    requests.push({ method, request, signal: options.signal });
    const response = responses[method] ?? {};
    if (response instanceof Error) throw response;
    return typeof response === 'function' ? response(request) : response;
  };
  const client = {
    call,
    isConnected: true,
    close: () => void requests.push({ method: 'close', request: {}, signal: undefined }),
  };
  const folders = { rootDirectory: join(folder, 'kubelet'), podLogsDirectory: join(folder, 'pods') };
  const runtime = new CRIRuntime({
    ...{
      runtimeName: 'containerd',
      seccompDefault: false,
      containerLogMaxSizeBytes: Infinity,
      containerLogMaxFiles: 5,
    },
    ...folders,
    files: hostPodFiles(systemFiles, { ...folders, logger }),
    client,
    ...{ helper, machine, clock: new FakeClock('2026-01-02T03:04:05Z'), logger, ...settings },
  } as object as CRIRuntimeSettings);
  clients.set(runtime, client);
  return runtime;
}

const labelsOf = (uid: string) => ({
  'io.kubernetes.pod.uid': uid,
  'io.kubernetes.pod.name': `pod-${uid}`,
  'io.kubernetes.pod.namespace': 'ns',
  'io.kubernetes.container.name': 'app',
});
function sandboxStatus(id: string, fields: object = {}): object {
  return { ...{ id, state: 'SANDBOX_READY', created_at: 1e9, network: null, linux: null, metadata: null }, ...fields };
}
const listedSandbox = (id: string, uid: string) => ({ id, state: 'SANDBOX_READY', labels: labelsOf(uid) });
const listedContainer = (id: string, uid: string, state = 'CONTAINER_RUNNING') => ({
  ...{ id, state, labels: labelsOf(uid), pod_sandbox_id: `sandbox-of-${id}` },
});
const containerStatus = (id: string, fields: object = {}) => ({
  ...{ id, state: 'CONTAINER_RUNNING', labels: labelsOf('u'), annotations: {}, mounts: [], image: null },
  ...{ created_at: 1e9, started_at: 2e9, log_path: '', stop_signal: 'SIGNAL_RUNTIME_DEFAULT', ...fields },
});
const methods = (): string[] => requests.map(({ method }) => method);
const requestsOf = (method: string): object[] =>
  requests.filter((one) => one.method === method).map(({ request }) => request);

describe('the pods of the runtime', () => {
  beforeEach(() => {
    responses['ContainerStatus'] = ({ container_id: id }: { readonly container_id: string }) => ({
      status: containerStatus(id),
    });
    responses['PodSandboxStatus'] = ({ pod_sandbox_id: id }: { readonly pod_sandbox_id: string }) => ({
      status: sandboxStatus(id),
    });
  });

  it('are those of sandboxes and containers with the labels of a kubelet', async () => {
    responses['ListPodSandbox'] = { items: [listedSandbox('s1', 'u1'), { ...listedSandbox('x', ''), labels: {} }] };
    responses['ListContainers'] = {
      containers: [
        listedContainer('c1', 'u1'),
        listedContainer('c2', 'u2'),
        { ...listedContainer('y', ''), labels: {} },
      ],
    };
    const pods = await runtimeWith().listPods();
    expect(pods).toMatchObject([
      {
        uid: 'u1',
        name: 'pod-u1',
        namespace: 'ns',
        sandboxes: [{ id: 's1' }],
        containers: [{ id: 'containerd://c1' }],
      },
      { uid: 'u2', name: 'pod-u2', sandboxes: [], containers: [{ id: 'containerd://c2', sandboxID: 'sandbox-of-c2' }] },
    ]);
    expect(requestsOf('ListPodSandbox')).toEqual([{ filter: undefined }]);
    expect(requestsOf('PodSandboxStatus')).toEqual([{ pod_sandbox_id: 's1' }]);
    expect(requestsOf('ContainerStatus')).toEqual([{ container_id: 'c1' }, { container_id: 'c2' }]);
  });

  it('of one UID are asked for by their label', async () => {
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1')] };
    const runtime = runtimeWith();
    expect(await runtime.getPod('u1')).toMatchObject({ uid: 'u1' });
    const filter = { label_selector: { 'io.kubernetes.pod.uid': 'u1' } };
    expect(requestsOf('ListPodSandbox')).toEqual([{ filter }]);
    expect(requestsOf('ListContainers')).toEqual([{ filter }]);
    responses['ListContainers'] = { containers: [] };
    expect(await runtime.getPod('u1')).toBeUndefined();
  });

  it('are asked for their statuses only once, and again when the list shows another state', async () => {
    responses['ListPodSandbox'] = { items: [listedSandbox('s1', 'u1')] };
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1')] };
    const runtime = runtimeWith();
    await runtime.listPods();
    requests = [];
    expect((await runtime.listPods())[0]).toMatchObject({
      containers: [{ state: 'running' }],
      sandboxes: [{ ready: true }],
    });
    expect(methods()).toEqual(['ListPodSandbox', 'ListContainers']);
    responses['ListPodSandbox'] = { items: [{ ...listedSandbox('s1', 'u1'), state: 'SANDBOX_NOTREADY' }] };
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1', 'CONTAINER_EXITED')] };
    responses['ContainerStatus'] = { status: containerStatus('c1', { state: 'CONTAINER_EXITED', exit_code: 3 }) };
    responses['PodSandboxStatus'] = { status: sandboxStatus('s1', { state: 'SANDBOX_NOTREADY' }) };
    expect((await runtime.listPods())[0]).toMatchObject({
      containers: [{ state: 'exited', exitCode: 3 }],
      sandboxes: [{ ready: false }],
    });
  });

  it('are without what is gone between the list and its status, and forget it', async () => {
    responses['ListPodSandbox'] = { items: [listedSandbox('s1', 'u1')] };
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1')] };
    const runtime = runtimeWith();
    await runtime.listPods();
    responses['ListPodSandbox'] = { items: [] };
    responses['ListContainers'] = { containers: [] };
    expect(await runtime.listPods()).toEqual([]);
    responses['ListPodSandbox'] = { items: [listedSandbox('s1', 'u1')] };
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1')] };
    responses['ContainerStatus'] = notFound;
    responses['PodSandboxStatus'] = notFound;
    expect(await runtime.listPods()).toEqual([]);
  });

  it.each(['ListPodSandbox', 'ListContainers', 'ContainerStatus', 'PodSandboxStatus'])(
    'are not known when %s fails: no pod counts as gone',
    async (method) => {
      responses['ListPodSandbox'] = { items: [listedSandbox('s1', 'u1')] };
      responses['ListContainers'] = { containers: [listedContainer('c1', 'u1')] };
      responses[method] = refused;
      await expect(runtimeWith().listPods()).rejects.toBe(refused);
    },
  );

  it('have the message that a container has left', async () => {
    const path = join(folder, 'message');
    writeFileSync(path, 'bye');
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1', 'CONTAINER_EXITED')] };
    const annotations = { 'io.kubernetes.container.terminationMessagePath': '/dev/termination-log' };
    const mounts = [{ container_path: '/dev/termination-log', host_path: path, image: null }];
    responses['ContainerStatus'] = {
      status: containerStatus('c1', { state: 'CONTAINER_EXITED', annotations, mounts }),
    };
    expect((await runtimeWith().listPods())[0]!.containers[0]).toMatchObject({ message: 'bye' });
    responses['ContainerStatus'] = { status: containerStatus('c1', { annotations, mounts }) };
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1')] };
    expect((await runtimeWith().listPods())[0]!.containers[0]!.message).toBeUndefined();
  });

  it('are read again when a status is newer than the list', async () => {
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1', 'CONTAINER_CREATED')] };
    const runtime = runtimeWith();
    await runtime.listPods();
    await runtime.listPods();
    expect(requestsOf('ContainerStatus')).toHaveLength(2);
  });

  it('are read again after the resources of a container have changed', async () => {
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1')] };
    const runtime = runtimeWith();
    await runtime.listPods();
    await runtime.updateContainerResources('containerd://c1', { limits: { cpu: '1' } });
    await runtime.listPods();
    expect(requestsOf('ContainerStatus')).toHaveLength(2);
  });

  it('are listed with a signal, and so are their statuses', async () => {
    responses['ListPodSandbox'] = { items: [listedSandbox('s1', 'u1')] };
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1')] };
    const { signal } = new AbortController();
    await runtimeWith().listPods({ signal });
    expect(requests.map((one) => one.signal)).toEqual([signal, signal, signal, signal]);
  });
});

describe('the status of the runtime', () => {
  it('has the conditions of the runtime, and none if it has none', async () => {
    expect(await runtimeWith().status()).toEqual({ conditions: [] });
    const conditions = [{ type: 'RuntimeReady', status: false, reason: 'r', message: 'm' }];
    responses['Status'] = { status: { conditions } };
    expect(await runtimeWith().status()).toEqual({ conditions });
  });

  it('of the Node has the version, the images and the handlers', async () => {
    responses['Version'] = { runtime_name: 'containerd', runtime_version: '2.1' };
    responses['Status'] = { runtime_handlers: [{ name: 'kata', features: null }], features: null };
    responses['ListImages'] = { images: [{ id: '1', size: 5, repo_tags: ['app:1'], repo_digests: [] }] };
    expect(await runtimeWith().nodeStatus()).toMatchObject({
      nodeInfo: { containerRuntimeVersion: 'containerd://2.1' },
      images: [{ names: ['app:1'], sizeBytes: 5 }],
      runtimeHandlers: [{ name: 'kata' }],
    });
  });
});

describe('a sandbox', () => {
  it('is created for a pod, with the handler of its RuntimeClass, and a folder for its logs', async () => {
    const pod = podWith({ runtimeClassName: 'vm', containers: [] });
    expect(
      await runtimeWith({ podCgroups: { parentOf: () => '/kubepods/pod1' } }).runPodSandbox({ pod, attempt: 3 }),
    ).toBe('s');
    expect(requestsOf('RunPodSandbox')).toMatchObject([
      {
        runtime_handler: 'handler of vm',
        config: {
          metadata: { attempt: 3 },
          hostname: 'web',
          dns_config: { servers: ['10.0.0.10'] },
          log_directory: join(folder, 'pods', 'default_web_uid-1'),
          linux: {
            cgroup_parent: '/kubepods/pod1',
            security_context: { namespace_options: { userns_options: { mode: 'NODE' } } },
          },
        },
      },
    ]);
    expect(readdirSync(join(folder, 'pods'))).toEqual(['default_web_uid-1']);
  });

  it('has the default handler, and a cgroup that the runtime chooses', async () => {
    await runtimeWith().runPodSandbox({ pod: podWith({ containers: [] }), attempt: 0 });
    expect(requestsOf('RunPodSandbox')).toMatchObject([
      { runtime_handler: '', config: { linux: { cgroup_parent: '' } } },
    ]);
  });

  it('in the network of the node has no hostname', async () => {
    await runtimeWith().runPodSandbox({ pod: podWith({ hostNetwork: true, containers: [] }), attempt: 0 });
    expect(requestsOf('RunPodSandbox')).toMatchObject([{ config: { hostname: '' } }]);
  });

  it('that is refused leaves no folder for logs, and its error is that of Go', async () => {
    helper['getPodDNS'] = async () => Promise.reject(new Error('no DNS'));
    const pod = podWith({ containers: [] });
    await expect(runtimeWith().runPodSandbox({ pod, attempt: 0 })).rejects.toThrow('no DNS');
    expect(existsSync(join(folder, 'pods'))).toBe(false);
    helper['getPodDNS'] = async () => ({});
    responses['RunPodSandbox'] = refused;
    await expect(runtimeWith().runPodSandbox({ pod, attempt: 0 })).rejects.toThrow(new Error(goMessage));
  });

  it('has a status', async () => {
    responses['PodSandboxStatus'] = { status: sandboxStatus('s', { metadata: { attempt: 2 } }) };
    expect(await runtimeWith().podSandboxStatus('s')).toMatchObject({
      id: 's',
      ready: true,
      attempt: 2,
      createdAtMs: 1000,
    });
    responses['PodSandboxStatus'] = { status: null };
    await expect(runtimeWith().podSandboxStatus('s')).rejects.toThrow('The runtime returned no status of sandbox s');
    responses['PodSandboxStatus'] = refused;
    await expect(runtimeWith().podSandboxStatus('s')).rejects.toThrow(new Error(goMessage));
  });

  it.each(['StopPodSandbox', 'RemovePodSandbox'] as const)('%s succeeds for one that is gone', async (method) => {
    const runtime = runtimeWith();
    const call = () => (method === 'StopPodSandbox' ? runtime.stopPodSandbox('s') : runtime.removePodSandbox('s'));
    responses[method] = notFound;
    await call();
    expect(requestsOf(method)).toEqual([{ pod_sandbox_id: 's' }]);
    responses[method] = refused;
    await expect(call()).rejects.toBe(refused);
  });
});

describe('a container', () => {
  const pod = podWith();
  const configWith = (fields: Partial<ContainerConfig> = {}): ContainerConfig => ({
    ...{ pod, container: pod.spec!.containers![0]!, attempt: 1, hash: 'f00', sandboxID: 's', imageRef: 'sha256:1' },
    ...fields,
  });
  const logs = () => join(folder, 'pods', 'default_web_uid-1', 'app');

  it('is created in its sandbox, with the user of its image', async () => {
    responses['PodSandboxStatus'] = { status: sandboxStatus('s', { metadata: { attempt: 4 } }) };
    const target = { targetContainerID: 'containerd://other' };
    expect(await runtimeWith({ seccompDefault: true }).createContainer(configWith(target))).toBe('containerd://c');
    expect(requestsOf('ImageStatus')).toEqual([{ image: { image: 'sha256:1' } }]);
    expect(requestsOf('CreateContainer')).toMatchObject([
      {
        pod_sandbox_id: 's',
        sandbox_config: { metadata: { attempt: 4 } },
        config: {
          metadata: { name: 'app', attempt: 1 },
          log_path: 'app/1.log',
          linux: {
            security_context: {
              run_as_user: { value: 7 },
              seccomp: { profile_type: 'RuntimeDefault' },
              namespace_options: { pid: 'TARGET', target_id: 'other' },
            },
          },
        },
      },
    ]);
  });

  it('has the profile of its folder below the root directory', async () => {
    const securityContext = { seccompProfile: { type: 'Localhost', localhostProfile: 'a.json' } };
    const own = podWith({ securityContext });
    await runtimeWith().createContainer(configWith({ pod: own, imageRef: undefined }));
    expect(requestsOf('ImageStatus')).toEqual([{ image: { image: 'app:1' } }]);
    expect(requestsOf('CreateContainer')).toMatchObject([
      {
        config: {
          linux: { security_context: { seccomp: { localhost_ref: join(folder, 'kubelet', 'seccomp', 'a.json') } } },
        },
      },
    ]);
  });

  it('never overwrites the log of an earlier run', async () => {
    mkdirSync(logs(), { recursive: true });
    writeFileSync(join(logs(), '6.log'), '');
    await runtimeWith().createContainer(configWith());
    await runtimeWith().createContainer(configWith({ attempt: 9 }));
    expect(requestsOf('CreateContainer')).toMatchObject([
      { config: { metadata: { attempt: 7 } } },
      { config: { metadata: { attempt: 9 } } },
    ]);
  });

  it.each([
    ['the runtime can, and the container asks for it', 'IfPossible', true, true],
    ['the runtime cannot', 'IfPossible', false, false],
    ['the container does not ask for it', 'Disabled', true, false],
    ['the container says nothing', undefined, true, false],
  ])('may have mounts that are read-only recursively if %s', async (_name, recursiveReadOnly, supports, expected) => {
    responses['Status'] = { runtime_handlers: [{ name: '', features: { recursive_read_only_mounts: supports } }] };
    const asked: unknown[] = [];
    helper['generateRunContainerOptions'] = async (...parameters: readonly unknown[]) => {
      asked.push(parameters[2], parameters[3]);
      return { command: [], args: [], envs: [], mounts: [] };
    };
    const container = {
      name: 'app',
      image: 'app:1',
      volumeMounts: [{ name: 'v', mountPath: '/v', recursiveReadOnly }],
    };
    const imageVolumes = new Map([['v', 'sha256:2']]);
    await runtimeWith().createContainer(configWith({ container, imageVolumes, podIPs: ['10.0.0.1'] }));
    expect(asked).toEqual([['10.0.0.1'], { supportsRecursiveReadOnly: expected, imageVolumes }]);
  });

  it('has a link to its log when it has started, which needs a log', async () => {
    const runtime = runtimeWith();
    const id = await runtime.createContainer(configWith());
    writeFileSync(join(logs(), '1.log'), '');
    await runtime.startContainer(id);
    expect(requestsOf('StartContainer')).toEqual([{ container_id: 'c' }]);
    const links = join(folder, 'containers');
    expect(readdirSync(links)).toEqual(['web_default_app-c.log']);
    expect(readlinkSync(join(links, 'web_default_app-c.log'))).toBe(join(logs(), '1.log'));
    // The link is there already; it is made once.
    await runtime.startContainer(id);
    expect(logger.lines).toEqual([]);
  });

  it('starts even if the link to its log cannot be made, which is logged', async () => {
    const runtime = runtimeWith();
    const id = await runtime.createContainer(configWith());
    writeFileSync(join(logs(), '1.log'), '');
    rmSync(join(folder, 'containers'), { recursive: true });
    writeFileSync(join(folder, 'containers'), '');
    await runtime.startContainer(id);
    expect(logger.lines).toMatchObject([
      {
        level: 'warn',
        message: 'Failed to create the symlink to a container log',
        fields: { containerID: 'containerd://c', reason: expect.stringContaining('ENOTDIR') },
      },
    ]);
  });

  it('is stopped after whole seconds, and may be gone', async () => {
    const runtime = runtimeWith();
    await runtime.stopContainer('containerd://c', 2.9);
    expect(requestsOf('StopContainer')).toEqual([{ container_id: 'c', timeout: 2 }]);
    responses['StopContainer'] = notFound;
    await runtime.stopContainer('containerd://c', 1);
    responses['StopContainer'] = refused;
    await expect(runtime.stopContainer('containerd://c', 1)).rejects.toBe(refused);
  });

  it('is removed with its logs, also if it is gone', async () => {
    mkdirSync(logs(), { recursive: true });
    for (const name of ['1.log', '1.log.20260102-030405.gz', '2.log']) writeFileSync(join(logs(), name), '');
    responses['ContainerStatus'] = { status: containerStatus('c', { log_path: join(logs(), '1.log') }) };
    responses['RemoveContainer'] = notFound;
    await runtimeWith().removeContainer('containerd://c');
    expect(requestsOf('RemoveContainer')).toEqual([{ container_id: 'c' }]);
    expect(readdirSync(logs())).toEqual(['2.log']);
    responses['ContainerStatus'] = notFound;
    await runtimeWith().removeContainer('containerd://c');
    responses['RemoveContainer'] = refused;
    await expect(runtimeWith().removeContainer('containerd://c')).rejects.toBe(refused);
  });

  it('is resized with the limits of its pod in mind, and the error is that of Go', async () => {
    const resources = { requests: { memory: '512Mi' } };
    await runtimeWith().updateContainerResources('containerd://c', resources, {
      pod: podWith({ resources: { limits: { memory: '1Gi' } } }, { resources }),
      container: { name: 'app', resources },
    });
    expect(requestsOf('UpdateContainerResources')).toMatchObject([
      { container_id: 'c', linux: { memory_limit_in_bytes: 2 ** 30, oom_score_adj: 500 } },
    ]);
    responses['UpdateContainerResources'] = refused;
    await expect(runtimeWith().updateContainerResources('containerd://c', {})).rejects.toThrow(new Error(goMessage));
  });

  it.each([
    [1, 1],
    [1000, 1],
    [1001, 2],
    [noTimeoutMs - 1, 2_147_484],
    [noTimeoutMs, 0],
  ])('runs a command with a time-out of %i ms, in seconds: %i', async (timeoutMs, timeout) => {
    responses['ExecSync'] = { exit_code: 3, stdout: Buffer.from('ü'), stderr: Buffer.from('no') };
    const result = await runtimeWith().execSync('containerd://c', ['ls', '-l'], timeoutMs);
    expect(result).toEqual({ exitCode: 3, stdout: 'ü', stderr: 'no' });
    expect(requestsOf('ExecSync')).toEqual([{ container_id: 'c', cmd: ['ls', '-l'], timeout }]);
  });

  it('has a log, unless it is gone', async () => {
    responses['ContainerStatus'] = { status: containerStatus('c', { log_path: '/l' }) };
    expect(await runtimeWith().getContainerLog('containerd://c')).toEqual({ path: '/l', isRunning: true });
    responses['ContainerStatus'] = { status: containerStatus('c', { log_path: '/l', state: 'CONTAINER_EXITED' }) };
    expect(await runtimeWith().getContainerLog('containerd://c')).toEqual({ path: '/l', isRunning: false });
    responses['ContainerStatus'] = notFound;
    expect(await runtimeWith().getContainerLog('containerd://c')).toBeUndefined();
    responses['ContainerStatus'] = { status: null };
    expect(await runtimeWith().getContainerLog('containerd://c')).toBeUndefined();
  });

  it('has streams at the streaming server of the runtime', async () => {
    const streams = { stdin: true, stdout: true, stderr: false, tty: true };
    for (const method of ['Exec', 'Attach']) responses[method] = { url: `http://127.0.0.1/${method}` };
    const runtime = runtimeWith();
    expect(await runtime.getExec('containerd://c', ['sh'], streams)).toBe('http://127.0.0.1/Exec');
    expect(await runtime.getAttach('containerd://c', streams)).toBe('http://127.0.0.1/Attach');
    expect(requestsOf('Exec')).toEqual([{ container_id: 'c', cmd: ['sh'], ...streams }]);
    expect(requestsOf('Attach')).toEqual([{ container_id: 'c', ...streams }]);
    for (const method of ['Exec', 'Attach']) responses[method] = refused;
    await expect(runtime.getExec('containerd://c', ['sh'], streams)).rejects.toThrow(new Error(goMessage));
    await expect(runtime.getAttach('containerd://c', streams)).rejects.toThrow(new Error(goMessage));
  });
});

it('ports of a pod are those of its latest sandbox', async () => {
  responses['ListPodSandbox'] = { items: ['s1', 's3', 's2'].map((id) => listedSandbox(id, 'u')) };
  responses['PodSandboxStatus'] = ({ pod_sandbox_id: id }: { readonly pod_sandbox_id: string }) => ({
    status: sandboxStatus(id, { metadata: { attempt: Number(id.slice(1)) } }),
  });
  responses['PortForward'] = { url: 'http://127.0.0.1/forward' };
  expect(await runtimeWith().getPortForward('u', [80])).toBe('http://127.0.0.1/forward');
  expect(requestsOf('PortForward')).toEqual([{ pod_sandbox_id: 's3', port: [80] }]);
  responses['ListPodSandbox'] = { items: [] };
  await expect(runtimeWith().getPortForward('u', [])).rejects.toThrow('failed to find sandboxID for pod u');
});

describe('what a pod leaves behind', () => {
  it('are its logs, its cgroup and its IDs, and they are removed; links to logs of live containers stay', async () => {
    const removed: string[] = [];
    const shouldBeRemoved = (uid: string): boolean => uid === 'gone';
    const record = (what: string) => async (should: typeof shouldBeRemoved) =>
      void removed.push(`${what}: ${should('gone')} ${should('kept')}`);
    for (const name of ['ns_a_gone', 'ns_b_kept']) mkdirSync(join(folder, 'pods', name), { recursive: true });
    mkdirSync(join(folder, 'containers'));
    for (const id of ['running', 'created', 'exited1', 'unknown'])
      symlinkSync('/missing', join(folder, 'containers', `a_ns_app-${id}.log`));
    responses['ListContainers'] = {
      containers: [
        listedContainer('running', 'u'),
        listedContainer('created', 'u', 'CONTAINER_CREATED'),
        listedContainer('exited1', 'u', 'CONTAINER_EXITED'),
      ],
    };
    await runtimeWith({
      podCgroups: { removeOrphans: record('cgroups') },
      userNamespaces: { releaseOrphans: record('IDs') },
    }).removePodContent(shouldBeRemoved);
    expect(readdirSync(join(folder, 'pods'))).toEqual(['ns_b_kept']);
    expect(readdirSync(join(folder, 'containers')).toSorted()).toEqual([
      'a_ns_app-created.log',
      'a_ns_app-running.log',
    ]);
    expect(removed).toEqual(['cgroups: true false', 'IDs: true false']);
  });

  it('is removed without cgroups, too', async () => {
    const released: string[] = [];
    const userNamespaces = {
      releaseOrphans: async () => void released.push('orphans'),
      release: async (uid: string) => void released.push(uid),
    };
    const runtime = runtimeWith({ userNamespaces });
    await runtime.removePodContent(() => false);
    await runtime.releasePod(podWith());
    expect(released).toEqual(['orphans', 'uid-1']);
  });
});

describe('the cgroup of a pod', () => {
  it('is left to the runtime without `cgroupRoot`', async () => {
    const runtime = runtimeWith();
    await runtime.updateQOSCgroups([podWith()]);
    await runtime.preparePod(podWith());
    await runtime.updatePodResources(podWith(), 'before');
    expect(await runtime.podResources(podWith())).toBeUndefined();
    expect(requests).toEqual([]);
  });

  it('is made, read, resized, for which the runtime is asked first, and removed', async () => {
    const calls: unknown[] = [];
    const config = { cpuShares: 1024 };
    const podCgroups = {
      updateQOS: async (pods: unknown) => void calls.push(['updateQOS', pods]),
      ensureExists: async (one: unknown) => void calls.push(['ensureExists', one]),
      destroy: async (one: unknown) => void calls.push(['destroy', one]),
      resources: () => ({ limits: { cpu: '1' } }),
      update: async (_pod: unknown, step: unknown, updateSandbox: (config: object) => Promise<void>) => {
        calls.push(step);
        await updateSandbox(config);
      },
    };
    const runtime = runtimeWith({ podCgroups, userNamespaces: { release: async () => {} } });
    const pod = podWith();
    await runtime.updateQOSCgroups([pod]);
    await runtime.preparePod(pod);
    await runtime.updatePodResources(pod, 'after', { sandboxID: 's' });
    expect(await runtime.podResources(pod)).toEqual({ limits: { cpu: '1' } });
    await runtime.releasePod(pod);
    expect(calls).toEqual([['updateQOS', [pod]], ['ensureExists', pod], 'after', ['destroy', pod]]);
    expect(requestsOf('UpdatePodSandboxResources')).toMatchObject([{ pod_sandbox_id: 's' }]);
  });
});

describe('images', () => {
  it('are asked of the runtime', async () => {
    responses['ListImages'] = { images: [{ id: '1', size: 5, repo_tags: ['a'], repo_digests: ['b'], pinned: true }] };
    responses['PullImage'] = { image_ref: 'sha256:1' };
    const runtime = runtimeWith();
    expect(await runtime.imageRef('app')).toBe('sha256:1');
    expect(await runtime.listImages()).toEqual([{ id: '1', names: ['a', 'b'], sizeBytes: 5, pinned: true }]);
    await runtime.removeImage('sha256:1');
    expect(requestsOf('RemoveImage')).toEqual([{ image: { image: 'sha256:1' } }]);
    expect(await runtime.pullImage('app', podWith())).toEqual({ imageRef: 'sha256:1', sizeBytes: 5 });
    expect(requestsOf('PullImage')).toMatchObject([
      { image: { image: 'app' }, sandbox_config: { metadata: { name: 'web', attempt: 0 } } },
    ]);
    expect(await runtime.imagePullSecrets('app', podWith())).toEqual([]);
  });

  it('have a file system', async () => {
    const usage = { timestamp: 1e9, fs_id: null, used_bytes: { value: 7 }, inodes_used: { value: 2 } };
    responses['ImageFsInfo'] = { image_filesystems: [usage], container_filesystems: [] };
    const stats = { time: '1970-01-01T00:00:01Z', usedBytes: 7, inodesUsed: 2 };
    expect(await runtimeWith().imageFsStats()).toEqual({ imageFs: stats, containerFs: stats });
  });
});

/**
 * Resolves when the folders are made that the containers of `podWith()` need, which happens while their sandbox is
 * created, and removes them, so that the next call waits for those of another sandbox.
 */
async function filesMade(): Promise<void> {
  const paths = ['pods/default_web_uid-1/app', 'containers'];
  await expect.poll(() => paths.every((path) => existsSync(join(folder, path)))).toBe(true);
  for (const path of paths) rmSync(join(folder, path), { recursive: true });
}

it.each<[string, (runtime: CRIRuntime, signal: AbortSignal) => Promise<unknown>]>([
  ['status', (runtime, signal) => runtime.status({ signal })],
  ['nodeStatus', (runtime, signal) => runtime.nodeStatus({ signal }).catch(() => {})],
  ['getPod', (runtime, signal) => runtime.getPod('u', { signal })],
  [
    'updatePodResources',
    (runtime, signal) => runtime.updatePodResources(podWith(), 'before', { sandboxID: 's', signal }),
  ],
  [
    'runPodSandbox',
    async (runtime, signal) => {
      await runtime.runPodSandbox({ pod: podWith(), attempt: 0 }, { signal });
      await filesMade();
    },
  ],
  ['podSandboxStatus', (runtime, signal) => runtime.podSandboxStatus('s', { signal })],
  ['stopPodSandbox', (runtime, signal) => runtime.stopPodSandbox('s', { signal })],
  ['removePodSandbox', (runtime, signal) => runtime.removePodSandbox('s', { signal })],
  [
    'createContainer',
    (runtime, signal) => {
      const pod = podWith({ hostUsers: false });
      const container = pod.spec!.containers![0]!;
      return runtime.createContainer({ pod, container, attempt: 0, hash: '', sandboxID: 's' }, { signal });
    },
  ],
  ['startContainer', (runtime, signal) => runtime.startContainer('containerd://c', { signal })],
  ['stopContainer', (runtime, signal) => runtime.stopContainer('containerd://c', 1, { signal })],
  ['removeContainer', (runtime, signal) => runtime.removeContainer('containerd://c', { signal })],
  ['updateContainerResources', (runtime, signal) => runtime.updateContainerResources('containerd://c', {}, { signal })],
  ['execSync', (runtime, signal) => runtime.execSync('containerd://c', [], 1, { signal }).catch(() => {})],
  ['getContainerLog', (runtime, signal) => runtime.getContainerLog('containerd://c', { signal })],
  ['getExec', (runtime, signal) => runtime.getExec('containerd://c', [], {} as never, { signal })],
  ['getAttach', (runtime, signal) => runtime.getAttach('containerd://c', {} as never, { signal })],
  ['getPortForward', (runtime, signal) => runtime.getPortForward('u', [], { signal })],
  ['listPodStats', (runtime, signal) => runtime.listPodStats({ signal }).catch(() => {})],
  ['imageFsStats', (runtime, signal) => runtime.imageFsStats({ signal }).catch(() => {})],
  ['imageRef', (runtime, signal) => runtime.imageRef('app', { signal })],
  ['pullImage', (runtime, signal) => runtime.pullImage('app', podWith(), { signal })],
  ['listImages', (runtime, signal) => runtime.listImages({ signal }).catch(() => {})],
  ['removeImage', (runtime, signal) => runtime.removeImage('sha256:1', { signal })],
  ['removePodContent', (runtime, signal) => runtime.removePodContent(() => false, { signal })],
])(
  '%s passes its signal on to the runtime, and what goes on after it has a deadline of its own',
  async (name, call) => {
    mkdirSync(join(folder, 'containers'));
    symlinkSync('/missing', join(folder, 'containers', 'a_ns_app-123456.log'));
    responses['ListPodSandbox'] = { items: [listedSandbox('s', 'u')] };
    responses['ListContainers'] = { containers: [listedContainer('c', 'u')] };
    responses['ContainerStatus'] = { status: containerStatus('c') };
    responses['Status'] = { status: null, runtime_handlers: [{ name: '', features: { user_namespaces: true } }] };
    const { signal } = new AbortController();
    const runtime = runtimeWith({
      podCgroups: {
        ...{ parentOf: () => '', removeOrphans: async () => {} },
        update: async (_pod: unknown, _step: unknown, updateSandbox: (config: object) => Promise<void>) =>
          updateSandbox({ cpuShares: 2 }),
      },
      userNamespaces: { get: async () => ({ mode: 'POD' }), releaseOrphans: async () => {} },
    });
    await call(runtime, signal);
    expect(requests.length).toBeGreaterThan(0);
    const others = requests.filter((one) => one.signal !== signal);
    expect(others.map(({ method }) => method)).toEqual(name === 'runPodSandbox' ? ['ImageStatus'] : []);
    expect(others.every((one) => one.signal !== undefined)).toBe(true);
  },
);

describe('what is newer than a response', () => {
  /** The response to the next call of a method, which waits until `respond` is called. */
  function late(method: string, response: object): () => void {
    const before = responses[method]!;
    let respond = (): void => {};
    const waiting = new Promise<object>((resolve) => (respond = () => resolve(response)));
    responses[method] = () => {
      responses[method] = before;
      return waiting;
    };
    return respond;
  }
  const pod = podWith();
  const config = { pod, container: pod.spec!.containers![0]!, attempt: 0, hash: '', sandboxID: 's' };

  it('a container that is created while the pods are listed has a link to its log', async () => {
    const runtime = runtimeWith();
    const respond = late('ListContainers', { containers: [] });
    const listed = runtime.listPods();
    const id = await runtime.createContainer(config);
    respond();
    expect(await listed).toEqual([]);
    await runtime.listPods();
    writeFileSync(join(folder, 'pods', 'default_web_uid-1', 'app', '0.log'), '');
    await runtime.startContainer(id);
    expect(readdirSync(join(folder, 'containers'))).toEqual(['web_default_app-c.log']);
  });

  it.each<[string, (runtime: CRIRuntime) => Promise<unknown>]>([
    ['a resize', (runtime) => runtime.updateContainerResources('containerd://c1', { limits: { cpu: '1' } })],
    [
      'a resize that fails',
      (runtime) => {
        responses['UpdateContainerResources'] = refused;
        return runtime.updateContainerResources('containerd://c1', {}).catch(() => {});
      },
    ],
    ['a stop', (runtime) => runtime.stopContainer('containerd://c1', 0)],
    ['a later read', (runtime) => runtime.getPod('u1')],
  ])('the status of a container from before %s is not kept', async (_, change) => {
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1')] };
    responses['ContainerStatus'] = { status: containerStatus('c1', { image_ref: 'newer' }) };
    const runtime = runtimeWith();
    const respond = late('ContainerStatus', { status: containerStatus('c1', { image_ref: 'older' }) });
    const listed = runtime.listPods();
    await expect.poll(() => requestsOf('ContainerStatus')).toHaveLength(1);
    await change(runtime);
    respond();
    await listed;
    expect((await runtime.listPods())[0]!.containers[0]!.imageRef).toBe('newer');
  });

  it('the status of a container from before or during a resize is not shown while the resize has no response', async () => {
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1')] };
    const runtime = runtimeWith();
    const imageRefs: unknown[] = [];
    const list = async (imageRef: string): Promise<void> => {
      responses['ContainerStatus'] = { status: containerStatus('c1', { image_ref: imageRef }) };
      imageRefs.push((await runtime.listPods())[0]!.containers[0]!.imageRef);
    };
    await list('before');
    const respond = late('UpdateContainerResources', {});
    const resized = runtime.updateContainerResources('containerd://c1', { limits: { cpu: '1' } });
    await list('during');
    await list('changed');
    respond();
    await resized;
    await list('after');
    await list('cached');
    expect(imageRefs).toEqual(['before', 'during', 'changed', 'after', 'after']);
  });

  it('the status of a sandbox from before a later read is not kept', async () => {
    responses['ListPodSandbox'] = { items: [listedSandbox('s', 'u1')] };
    responses['PodSandboxStatus'] = { status: sandboxStatus('s', { metadata: { attempt: 2 } }) };
    const runtime = runtimeWith();
    const respond = late('PodSandboxStatus', { status: sandboxStatus('s', { metadata: { attempt: 1 } }) });
    const listed = runtime.listPods();
    await expect.poll(() => requestsOf('PodSandboxStatus')).toHaveLength(1);
    await runtime.podSandboxStatus('s');
    respond();
    await listed;
    expect((await runtime.listPods())[0]!.sandboxes![0]!.attempt).toBe(2);
  });
});

describe('what was prepared for a pod', () => {
  const userNamespaces = { release: async () => {}, releaseOrphans: async () => {} };
  it('is used only for that pod, and forgotten when its sandbox is stopped, or the pod has ended', async () => {
    const pod = podWith();
    const runtime = runtimeWith({ userNamespaces });
    await runtime.runPodSandbox({ pod, attempt: 0 });
    await filesMade();
    expect(requestsOf('ImageStatus')).toHaveLength(1);
    const other = { ...pod, metadata: { ...pod.metadata, uid: 'other' } };
    await runtime.imageRef('app:1', { pod: other });
    await runtime.imageRef('app:1');
    expect(requestsOf('ImageStatus')).toHaveLength(3);
    // A list that began before the sandbox was created does not have it.
    await runtime.listPods();
    await runtime.imageRef('app:1', { pod });
    expect(requestsOf('ImageStatus')).toHaveLength(3);
    const ends = [
      () => runtime.stopPodSandbox('s'),
      () => runtime.releasePod(pod),
      () => runtime.removePodContent((podUID) => podUID === pod.metadata.uid),
    ];
    for (const [i, end] of ends.entries()) {
      await runtime.runPodSandbox({ pod, attempt: i + 1 });
      await filesMade();
      await end();
      await runtime.imageRef('app:1', { pod });
      expect(requestsOf('ImageStatus')).toHaveLength(5 + 2 * i);
    }
  });

  it.each<[string, (runtime: CRIRuntime, pod: ValidPod) => Promise<unknown>]>([
    [
      'its sandbox cannot be created',
      async (runtime, pod) => {
        responses['RunPodSandbox'] = refused;
        await expect(runtime.runPodSandbox({ pod, attempt: 0 })).rejects.toThrow('not allowed');
      },
    ],
    [
      'its sandbox is stopped',
      async (runtime, pod) => runtime.stopPodSandbox(await runtime.runPodSandbox({ pod, attempt: 0 })),
    ],
    [
      'the pod has ended',
      async (runtime, pod) => {
        await runtime.runPodSandbox({ pod, attempt: 0 });
        await runtime.releasePod(pod);
      },
    ],
  ])('makes no file on a slow disk once %s', async (_, end) => {
    let goOn = (): void => {};
    const disk = new Promise<void>((resolve) => (goOn = resolve));
    const mkdir: HostFiles['mkdir'] = async (path, options) => {
      if (methods().includes('RunPodSandbox')) await disk;
      return systemFiles.mkdir(path, options);
    };
    const folders = { rootDirectory: join(folder, 'kubelet'), podLogsDirectory: join(folder, 'pods') };
    const files = hostPodFiles({ ...systemFiles, mkdir }, { ...folders, logger });
    const made: Promise<unknown>[] = [];
    const makeContainerFiles: typeof files.makeContainerFiles = (...args) => {
      const result = files.makeContainerFiles(...args);
      made.push(result);
      return result;
    };
    const runtime = runtimeWith({ userNamespaces, files: { ...files, makeContainerFiles } });
    await end(runtime, podWith({}, { terminationMessagePath: '/dev/termination-log' }));
    goOn();
    await expect(made[0]).rejects.toThrow('abort');
    expect(existsSync(join(folder, 'kubelet', 'pods'))).toBe(false);
  });
});

describe('logs of running containers', () => {
  it('are rotated if a kubelet or this agent has started them, without a call for one that could delay the others', async () => {
    const clock = new FakeClock('2026-01-02T03:04:05Z');
    const log = (name: string) => join(folder, 'pods', 'ns_web_u', 'app', name);
    mkdirSync(join(folder, 'pods', 'ns_web_u', 'app'), { recursive: true });
    writeFileSync(log('0.log'), 'a large log');
    responses['ListContainers'] = {
      containers: [
        listedContainer('c1', 'u'),
        { ...listedContainer('x', ''), labels: {} },
        listedContainer('gone', 'u'),
      ],
    };
    responses['ContainerStatus'] = ({ container_id: id }: { readonly container_id: string }) =>
      id === 'gone' ? { status: null } : { status: containerStatus(id, { log_path: log('0.log') }) };
    responses['ReopenContainerLog'] = () => (writeFileSync(log('0.log'), ''), {});
    const runtime = runtimeWith({ containerLogMaxSizeBytes: 10, clock });
    await runtime.listPods();
    requests = [];
    clock.advance(10_000);
    await expect.poll(() => requestsOf('ReopenContainerLog')).toHaveLength(1);
    await expect.poll(() => existsSync(log('0.log'))).toBe(true);
    await settle();
    clock.advance(10_000);
    await expect.poll(() => requestsOf('ListContainers')).toHaveLength(2);
    runtime.close();
    expect(requestsOf('ContainerStatus')).toEqual([]);
    expect(requestsOf('ListContainers')[0]).toEqual({ filter: { state: { state: 'CONTAINER_RUNNING' } } });
    expect(requestsOf('ReopenContainerLog')).toEqual([{ container_id: 'c1' }]);
    expect(readdirSync(join(log('0.log'), '..')).toSorted()).toEqual(['0.log', '0.log.20260102-030415']);
  });

  it('are rotated when they are due, also if the container has just been resized', async () => {
    const clock = new FakeClock('2026-01-02T03:04:05Z');
    const path = join(folder, 'pods', 'ns_web_u', 'app', '0.log');
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, 'a large log');
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u')] };
    responses['ContainerStatus'] = { status: containerStatus('c1', { log_path: path }) };
    const runtime = runtimeWith({ containerLogMaxSizeBytes: 10, clock });
    await runtime.listPods();
    await runtime.updateContainerResources('containerd://c1', { limits: { cpu: '1' } });
    clock.advance(10_000);
    await expect.poll(() => requestsOf('ReopenContainerLog')).toEqual([{ container_id: 'c1' }]);
    runtime.close();
  });
});

describe('an exit that containerd reports', () => {
  /** Events of containerd for a runtime without CRI events. */
  async function subscribe(runtime: CRIRuntime, clock: FakeClock, streams: readonly [TestStream, TestStream]) {
    const seen: object[] = [];
    const stop = runtime.subscribe((event) => seen.push(event));
    streams[0].emit('error', Object.assign(new Error('unknown method'), { code: 12, details: 'unknown method' }));
    clock.advance(0);
    /** A message with the ID of the container. */
    const emit = (topic: string, id: string) => {
      const value = Uint8Array.from([10, id.length, ...Buffer.from(id)]);
      streams[1].emit('data', { topic, event: { value } });
    };
    return { seen, stop, emit };
  }

  it.each(['c1', 's1'])('is an event as soon as the CRI shows it: %s', async (id) => {
    const clock = new FakeClock();
    const streams = [new TestStream(), new TestStream()] as const;
    responses['ListPodSandbox'] = { items: [listedSandbox('s1', 'u1')] };
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1')] };
    responses['ContainerStatus'] = { status: containerStatus('c1') };
    responses['PodSandboxStatus'] = { status: sandboxStatus('s1') };
    const runtime = runtimeWith({ clock });
    Object.assign(clientOf(runtime), { containerEvents: streams[0].open, stream: streams[1].open });
    await runtime.listPods();
    const { seen, stop, emit } = await subscribe(runtime, clock, streams);
    emit('/tasks/exit', id);
    await settle();
    expect(seen).toEqual([]);
    responses['ContainerStatus'] = { status: containerStatus('c1', { state: 'CONTAINER_EXITED' }) };
    responses['PodSandboxStatus'] = { status: sandboxStatus('s1', { state: 'SANDBOX_NOTREADY' }) };
    clock.advance(25);
    await expect.poll(() => seen).toHaveLength(1);
    expect(seen).toEqual([{ type: 'stopped', podUID: 'u1', ...(id === 'c1' && { containerID: 'containerd://c1' }) }]);
    requests = [];
    responses['ListContainers'] = { containers: [listedContainer('c1', 'u1', 'CONTAINER_EXITED')] };
    await runtime.getPod('u1');
    // What has changed is read while the pod is listed, and only once.
    expect(methods().filter((method) => method === 'ContainerStatus')).toHaveLength(1);
    emit('/containers/delete', id);
    emit('/tasks/start', 'unknown');
    expect(seen.slice(1)).toMatchObject([{ type: 'deleted', podUID: 'u1' }]);
    stop();
  });
});

it('close ends the calls and the rotation of logs', () => {
  const clock = new FakeClock();
  const runtime = runtimeWith({ containerLogMaxSizeBytes: 10, clock });
  expect(clock.pendingTimers).toBe(1);
  runtime.close();
  expect(clock.pendingTimers).toBe(0);
  expect(methods()).toEqual(['close']);
});
