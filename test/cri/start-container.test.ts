import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { CRIRuntime, type CRIRuntimeSettings } from '../../src/cri/cri-runtime.ts';
import { podUIDLabel } from '../../src/cri/labels.ts';
import { hostPodFiles } from '../../src/cri/runtime-pod-files.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { silentLogger } from '../../src/testing/recording-logger.ts';
import { TestDirectories } from '../support/directories.ts';
import { machine, podWith } from './pods.ts';
import { systemFiles } from '../../src/node/host-paths/host-files.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

const pod = podWith({}, { terminationMessagePath: '/dev/termination-log' });
const labels = { [podUIDLabel]: pod.metadata.uid };

/** A runtime whose calls are recorded. `RunPodSandbox` and the lists respond when they are told to. */
function setUp(generatePodHostName = () => 'web', handlers: readonly object[] = []) {
  const folder = directories.create();
  const calls: string[] = [];
  const waiting = new Map<string, () => void>();
  let state = 'CONTAINER_CREATED';
  const container = () => ({ id: 'c', pod_sandbox_id: 's', state, labels });
  const responses: Record<string, () => object> = {
    RunPodSandbox: () => ({ pod_sandbox_id: 's' }),
    Status: () => ({ runtime_handlers: handlers }),
    PodSandboxStatus: () => ({ status: { id: 's', state: 'SANDBOX_READY', metadata: { attempt: 0 } } }),
    ImageStatus: () => ({ image: { id: 'sha256:1' } }),
    CreateContainer: () => ({ container_id: 'c' }),
    StartContainer: () => {
      state = 'CONTAINER_RUNNING';
      return {};
    },
    ListPodSandbox: () => ({ items: [] }),
    ListContainers: () => ({ containers: [container()] }),
    ContainerStatus: () => ({
      status: {
        ...container(),
        metadata: { name: 'app', attempt: 0 },
        image: null,
        annotations: {},
        mounts: [],
        stop_signal: 'SIGNAL_RUNTIME_DEFAULT',
      },
    }),
  };
  const requests: Record<string, unknown>[] = [];
  const call = async (method: string, request: Record<string, unknown>): Promise<object> => {
    calls.push(method);
    requests.push(request);
    if (['RunPodSandbox', 'ListContainers'].includes(method))
      await new Promise<void>((resolve) => waiting.set(method, resolve));
    return responses[method]!();
  };
  const folders = { rootDirectory: folder, podLogsDirectory: join(folder, 'pods-logs') };
  const runtime = new CRIRuntime({
    ...{ runtimeName: 'containerd', ...folders, clock: new FakeClock() },
    files: hostPodFiles(systemFiles, { ...folders, logger: silentLogger }),
    ...{ containerLogMaxSizeBytes: Infinity, client: { call }, logger: silentLogger },
    machine,
    userNamespaces: {
      get: async () => ({ mode: 'POD', uids: [], gids: [] }),
      getOrCreate: async () => ({ mode: 'POD', uids: [], gids: [] }),
    },
    helper: {
      generateRunContainerOptions: async () => ({ command: [], args: [], envs: [], mounts: [] }),
      getPodDNS: async () => ({ servers: [], searches: [], options: [] }),
      generatePodHostName,
      lookupRuntimeHandler: async () => 'kata',
    },
  } as object as CRIRuntimeSettings);
  const respond = async (method: string): Promise<void> => {
    await expect.poll(() => waiting.has(method)).toBe(true);
    waiting.get(method)!();
  };
  return { runtime, calls, requests, respond, folder };
}

it('while the sandbox is created, the image is looked up and the files of the container are made, once', async () => {
  const { runtime, calls, respond, folder } = setUp();
  const sandbox = runtime.runPodSandbox({ pod, attempt: 0 });
  const termination = join(folder, 'pods', pod.metadata.uid, 'containers', 'app');
  await expect.poll(() => existsSync(termination) && readdirSync(termination)).toHaveLength(1);
  expect(calls).toEqual(['RunPodSandbox', 'ImageStatus']);
  await respond('RunPodSandbox');
  const sandboxID = await sandbox;
  expect(await runtime.imageRef('app:1', { pod })).toBe('sha256:1');
  const config = { pod, container: pod.spec!.containers![0]!, attempt: 0, hash: 0, sandboxID, imageRef: 'sha256:1' };
  await runtime.createContainer(config as object as Parameters<CRIRuntime['createContainer']>[0]);
  expect(calls).toEqual(['RunPodSandbox', 'ImageStatus', 'PodSandboxStatus', 'CreateContainer']);
  expect(readdirSync(termination)).toHaveLength(1);
  // The next time, both are asked for again.
  expect(await runtime.imageRef('app:1', { pod })).toBe('sha256:1');
  expect(calls).toHaveLength(5);
});

it('the status of a container that was just started is read while its pod is listed', async () => {
  const { runtime, calls, respond } = setUp();
  const sandbox = runtime.runPodSandbox({ pod, attempt: 0 });
  await respond('RunPodSandbox');
  const config = { pod, container: pod.spec!.containers![0]!, attempt: 0, hash: 0, sandboxID: await sandbox };
  const id = await runtime.createContainer(config as object as Parameters<CRIRuntime['createContainer']>[0]);
  await runtime.startContainer(id);
  calls.length = 0;
  const got = runtime.getPod(pod.metadata.uid);
  expect(calls).toEqual(['ContainerStatus', 'ListPodSandbox', 'ListContainers']);
  await respond('ListContainers');
  expect((await got)!.containers).toMatchObject([{ id: 'containerd://c', state: 'running' }]);
  expect(calls).toHaveLength(3);
});

it('a pod in the network of the node has no hostname of its own that could be too long', async () => {
  const { runtime, respond } = setUp(() => {
    throw new Error('failed to construct FQDN');
  });
  await expect(runtime.runPodSandbox({ pod, attempt: 0 })).rejects.toThrow('failed to construct FQDN');
  const onHost = podWith({ hostNetwork: true });
  const sandbox = runtime.runPodSandbox({ pod: onHost, attempt: 0 });
  await respond('RunPodSandbox');
  const container = onHost.spec!.containers![0]!;
  const config = { pod: onHost, container, attempt: 0, hash: '', sandboxID: await sandbox };
  expect(await runtime.createContainer(config)).toBe('containerd://c');
});

it.each<[string, object, readonly object[], string]>([
  ['an old runtime', {}, [], 'runtime does not support user namespaces'],
  [
    'a runtime without user namespaces',
    {},
    [{ name: '', features: { user_namespaces: false } }],
    'runtime does not support user namespaces',
  ],
  [
    'a handler without user namespaces',
    { runtimeClassName: 'vm' },
    [
      { name: '', features: { user_namespaces: true } },
      { name: 'kata', features: null },
    ],
    'RuntimeClass handler "kata" does not support user namespaces',
  ],
  [
    'an unknown handler',
    { runtimeClassName: 'vm' },
    [{ name: '', features: { user_namespaces: true } }],
    'RuntimeClass handler "kata" does not support user namespaces: the handler "kata" is not known',
  ],
])('hostUsers: false is refused on %s: its root is never root of the node', async (_name, spec, handlers, why) => {
  const { runtime, calls } = setUp(undefined, handlers);
  const isolated = podWith({ hostUsers: false, ...spec });
  await expect(runtime.runPodSandbox({ pod: isolated, attempt: 0 })).rejects.toThrow(
    new Error(`can't set \`spec.hostUsers: false\`, ${why}`),
  );
  expect(calls).toEqual(['Status']);
});

it('hostUsers: false is a user namespace of the sandbox, on a runtime that has them, which is asked once, for the sandbox', async () => {
  const { runtime, requests, calls, respond } = setUp(undefined, [{ name: '', features: { user_namespaces: true } }]);
  const isolated = podWith({ hostUsers: false });
  const sandbox = runtime.runPodSandbox({ pod: isolated, attempt: 0 });
  await respond('RunPodSandbox');
  const container = isolated.spec!.containers![0]!;
  await runtime.createContainer({ pod: isolated, container, attempt: 0, hash: '', sandboxID: await sandbox });
  const config = requests.find((request) => 'config' in request)!['config'];
  expect(config).toMatchObject({
    linux: { security_context: { namespace_options: { userns_options: { mode: 'POD' } } } },
  });
  expect(calls.filter((method) => method === 'Status')).toHaveLength(1);
});
