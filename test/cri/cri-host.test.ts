import { expect, it } from 'vitest';
import { FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import type { RuntimeHelper } from '../../src/node/container-options/runtime-helper.ts';
import { createCRIRuntimeOn } from '../../src/cri/create-cri-runtime.ts';
import type { CRIConnection } from '../../src/cri/cri-connection.ts';
import type { CRIHost } from '../../src/cri/cri-host.ts';
import type { RuntimePodFiles } from '../../src/cri/runtime-pod-files.ts';
import { machine, podWith } from './pods.ts';

it('a runtime is created on a host without sockets and files, and uses nothing else of the machine', async () => {
  const calls: string[] = [];
  const responses: Record<string, object> = {
    Version: { runtime_name: 'simulated' },
    RuntimeConfig: { linux: null },
    RunPodSandbox: { pod_sandbox_id: 's' },
    PodSandboxStatus: { status: { id: 's', state: 'SANDBOX_READY', metadata: { attempt: 0 } } },
    ImageStatus: { image: { id: 'sha256:1' } },
    CreateContainer: { container_id: 'c' },
  };
  const connection: CRIConnection = {
    isConnected: true,
    call: async (method) => {
      calls.push(method);
      return (responses[method] ?? {}) as never;
    },
    containerEvents: () => ({ cancel: () => {} }),
    stream: () => ({ cancel: () => {} }),
    close: () => void calls.push('close'),
  };
  const podFiles: Partial<RuntimePodFiles> = {
    makePodLogsDirectory: async () => void calls.push('makePodLogsDirectory'),
    makeContainerFiles: async () => ({ nextRun: 0, terminationMessageMounts: [] }),
    linkLog: async (link, log) => calls.push(`${link} → ${log}`) > 0,
  };
  const host: CRIHost = {
    connect: () => connection,
    podFiles: () => podFiles as RuntimePodFiles,
    cgroupFiles: () => ({}) as never,
    runCommand: async () => {},
    readMachineResources: async () => machine,
    loadUserNamespaces: async () => ({
      get: async () => ({ mode: 'POD' as const }),
      getOrCreate: async () => ({ mode: 'POD' }),
      release: async () => {},
      releaseOrphans: async () => {},
    }),
  };
  const helper: RuntimeHelper = {
    generateRunContainerOptions: async () => ({ command: [], args: [], envs: [], mounts: [] }),
    getPodDNS: async () => ({ servers: [], searches: [], options: [] }),
    generatePodHostName: () => 'web',
    lookupRuntimeHandler: async () => '',
    pullCredentials: async () => ({ credentials: [], missingSecrets: [] }),
  };
  const options = { endpoint: 'unix:///simulated.sock', helper, clock: new FakeClock(), logger: silentLogger };
  const runtime = await createCRIRuntimeOn(host, options);
  const pod = podWith();
  const container = pod.spec!.containers![0]!;
  const sandboxID = await runtime.runPodSandbox({ pod, attempt: 0 });
  const id = await runtime.createContainer({ pod, container, attempt: 0, hash: '', sandboxID });
  await runtime.startContainer(id);
  runtime.close();
  expect(id).toBe('simulated://c');
  expect(calls.filter((call) => call !== 'ImageStatus')).toEqual([
    ...['Version', 'RuntimeConfig', 'makePodLogsDirectory', 'RunPodSandbox', 'PodSandboxStatus', 'CreateContainer'],
    'StartContainer',
    '/var/log/containers/web_default_app-c.log → /var/log/pods/default_web_uid-1/app/0.log',
    'close',
  ]);
});

it('an aborted signal ends the attempt to connect to a runtime that does not respond, and closes the connection', async () => {
  const stop = new AbortController();
  let isClosed = false;
  const connection: Partial<CRIConnection> = {
    call: () => new Promise<never>(() => {}),
    close: () => void (isClosed = true),
  };
  const host: Partial<CRIHost> = { connect: () => connection as CRIConnection };
  const clock = new FakeClock();
  const helper = Object.fromEntries(
    ['generateRunContainerOptions', 'getPodDNS', 'generatePodHostName', 'lookupRuntimeHandler', 'pullCredentials'].map(
      (name) => [name, () => {}],
    ),
  ) as unknown as RuntimeHelper;
  const options = { endpoint: 'unix:///simulated.sock', helper, clock, logger: silentLogger, signal: stop.signal };
  const connected = createCRIRuntimeOn(host as CRIHost, options);
  stop.abort(new Error('stopped'));
  await expect(connected).rejects.toThrow('stopped');
  expect([isClosed, clock.pendingTimers]).toEqual([true, 0]);
});
