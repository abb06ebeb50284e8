import { existsSync, lstatSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createRuntimeHelper } from '../../../src/agent/runtime-helper/create-runtime-helper.ts';
import type { Container, ValidPod, VolumeMount } from '../../../src/kube/objects/types.ts';
import { createPodClient, type HTTPPodClient } from 'kubelet-status-manager/http';
import { APIServer, FakeClock, silentLogger } from 'kubelet-status-manager/testing';
import { TestDirectories } from '../../support/directories.ts';
import { objectTransport } from '../../support/object-transport.ts';

const directories = new TestDirectories();
const base64 = (text: string): string => Buffer.from(text).toString('base64');
let root: string;
let clock: FakeClock;
let objects: ReturnType<typeof objectTransport>;
let helper: ReturnType<typeof createRuntimeHelper>;

let server: APIServer;
let client: HTTPPodClient;
beforeAll(async () => {
  server = await APIServer.start({ nodeUsers: ['node-a'] });
  client = createPodClient(server.kubeconfig('node-a'));
});
afterAll(async () => {
  await client.transport.close();
  await server.close();
});

beforeEach(() => {
  root = directories.create();
  clock = new FakeClock();
  const namespace = '/api/v1/namespaces/default';
  const objectsOfPods = {
    [`${namespace}/configmaps/settings`]: { data: { level: 'high', color: 'red' } },
    [`${namespace}/secrets/login`]: { data: { password: base64('hush') } },
    [`${namespace}/serviceaccounts/robot/token`]: {
      status: { token: 'a-token', expirationTimestamp: new Date(clock.now() + 3_600_000).toISOString() },
    },
  };
  objects = objectTransport(objectsOfPods, client.transport);
  const ports = { client: { transport: objects.transport }, clock, logger: silentLogger };
  helper = createRuntimeHelper({ ...ports, rootDirectory: root, hostIPs: ['192.0.2.1'], mounts: false });
});
afterEach(async () => {
  await helper.close();
  directories.removeAll();
});

function podWith(container: Partial<Container>, spec: object = {}): [ValidPod, Container] {
  const app: Container = { name: 'app', ...container };
  const metadata = { namespace: 'default', name: 'web', uid: 'uid-1', labels: { app: 'web' } };
  return [
    { metadata, spec: { serviceAccountName: 'robot', enableServiceLinks: true, containers: [app], ...spec } },
    app,
  ];
}

/** Sets up the volumes, and resolves with the settings of the pod's container. */
async function optionsOf([pod, container]: [ValidPod, Container]) {
  await helper.volumeManager.waitForAttachAndMount(pod, {});
  return helper.generateRunContainerOptions(pod, container, ['192.0.2.1']);
}

it('expands $(NAME) in command and args with the complete environment of the container', async () => {
  const { command, args, envs } = await optionsOf(
    podWith({
      command: ['$(PROGRAM)', '$$(PROGRAM)'],
      args: ['$(level)', '$(KUBERNETES_SERVICE_HOST)', '$(UNKNOWN)', '$(__proto__)'],
      env: [{ name: 'PROGRAM', value: 'run' }],
      envFrom: [{ configMapRef: { name: 'settings' } }],
    }),
  );
  expect(command).toEqual(['run', '$(PROGRAM)']);
  expect(args).toEqual(['high', '127.0.0.1', '$(UNKNOWN)', '$(__proto__)']);
  expect(envs).toContainEqual({ name: 'KUBERNETES_SERVICE_PORT', value: new URL(server.url).port });
});

describe('with `mounts: false`', () => {
  const mountsOf = async (volumes: object[], volumeMounts: readonly VolumeMount[], spec: object = {}) => {
    const pod = podWith({ volumeMounts }, { volumes, ...spec });
    return (await optionsOf(pod)).mounts.map(({ containerPath, hostPath }) => ({ containerPath, hostPath }));
  };

  it('a volume of each kind is a folder that only the user of the agent can open', async () => {
    const host = directories.create();
    const mounts = await mountsOf(
      [
        { name: 'memory', emptyDir: { medium: 'Memory' } },
        { name: 'host', hostPath: { path: host } },
        { name: 'config', configMap: { name: 'settings' } },
        { name: 'secret', secret: { secretName: 'login' } },
        {
          name: 'all',
          projected: {
            sources: [
              { downwardAPI: { items: [{ path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } }] } },
              { serviceAccountToken: { path: 'token' } },
            ],
          },
        },
      ],
      ['memory', 'host', 'config', 'secret', 'all'].map((name) => ({ name, mountPath: `/${name}` })),
    );
    expect(mounts.map(({ containerPath }) => containerPath)).toEqual([
      ...['/memory', '/host', '/config', '/secret', '/all'],
    ]);
    const [memory, onHost, config, secret, all] = mounts.map(({ hostPath }) => hostPath);
    expect(statSync(memory!).isDirectory()).toBe(true);
    expect(onHost).toBe(host);
    expect(readFileSync(join(config!, 'level'), 'utf8')).toBe('high');
    expect(readFileSync(join(secret!, 'password'), 'utf8')).toBe('hush');
    expect(readFileSync(join(all!, 'labels'), 'utf8')).toBe('app="web"');
    expect(readFileSync(join(all!, 'token'), 'utf8')).toBe('a-token');
    // On the disk of the folder, not mounted over it.
    expect(new Set([root, memory!, secret!, all!].map((path) => statSync(path).dev)).size).toBe(1);
    expect(statSync(join(root, 'pods', 'uid-1', 'volumes')).mode & 0o777).toBe(0o700);
  });

  it('no file gets the fsGroup or the user of the pod, which only root could set', async () => {
    const [mount] = await mountsOf(
      [{ name: 'all', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }],
      [{ name: 'all', mountPath: '/all' }],
      { securityContext: { runAsUser: 4242, fsGroup: 4242 } },
    );
    const { uid, gid } = statSync(join(mount!.hostPath, 'token'));
    expect({ uid, gid }).toEqual({ uid: process.getuid!(), gid: process.getgid!() });
  });

  it('a subPath is the path below the volume, which follows changes of a ConfigMap', async () => {
    const mounts = () =>
      mountsOf(
        [
          { name: 'config', configMap: { name: 'settings' } },
          { name: 'disk', emptyDir: {} },
        ],
        [
          { name: 'config', mountPath: '/level', subPath: 'level' },
          { name: 'disk', mountPath: '/data', subPath: 'new/folder' },
        ],
      );
    const [level, data] = await mounts();
    expect(readFileSync(level!.hostPath, 'utf8')).toBe('high');
    expect(lstatSync(data!.hostPath).isDirectory()).toBe(true);
    objects.set('/api/v1/namespaces/default/configmaps/settings', { data: { level: 'low' } });
    clock.advance(2000);
    await mounts();
    expect(readFileSync(level!.hostPath, 'utf8')).toBe('low');
  });

  it('a subPath does not lead out of its volume', async () => {
    const volumes = [{ name: 'disk', emptyDir: {} }];
    const [disk] = await mountsOf(volumes, [{ name: 'disk', mountPath: '/disk' }]);
    const outside = directories.create();
    symlinkSync(outside, join(disk!.hostPath, 'link'));
    await expect(mountsOf(volumes, [{ name: 'disk', mountPath: '/d', subPath: 'link/new' }])).rejects.toThrow(
      'failed to prepare subPath',
    );
    expect(existsSync(join(outside, 'new'))).toBe(false);
  });

  it('an emptyDir keeps its files for the next agent, and goes with its pod; what a hostPath has stays', async () => {
    const host = directories.create();
    const volumes = [
      { name: 'disk', emptyDir: {} },
      { name: 'host', hostPath: { path: host } },
    ];
    const volumeMounts = volumes.map(({ name }) => ({ name, mountPath: `/${name}` }));
    const [pod, container] = podWith({ volumeMounts }, { volumes });
    const { mounts } = await optionsOf([pod, container]);
    for (const { hostPath } of mounts) writeFileSync(join(hostPath, 'file'), 'kept');
    await helper.close();
    helper = createRuntimeHelper({ rootDirectory: root, mounts: false, clock, logger: silentLogger });
    await helper.volumeManager.waitForAttachAndMount(pod, {});
    expect(readFileSync(join(mounts[0]!.hostPath, 'file'), 'utf8')).toBe('kept');
    await helper.volumeManager.waitForUnmount(pod, {});
    await helper.volumeManager.cleanupOrphanedPodDirs!(new Set(), {});
    expect(existsSync(join(root, 'pods', 'uid-1'))).toBe(false);
    expect(readFileSync(join(host, 'file'), 'utf8')).toBe('kept');
  });
});

it('`mounts` is a boolean', () => {
  expect(() => createRuntimeHelper({ mounts: 'no' as never })).toThrow('Expected `mounts` to be a boolean');
});

it.each([
  ['a block volume', { volumeDevices: [{ name: 'disk', devicePath: '/dev/x' }] }, 'volumeDevices'],
  [
    'mount options, also in an ephemeral container that admission has not seen',
    { volumeMounts: [{ name: 'v', mountPath: '/v', bindMountOptions: ['noexec'] }] },
    'volumeMounts[0].bindMountOptions',
  ],
])('refuses a container with %s', async (_name, fields, path) => {
  const [pod, container] = podWith(fields);
  await expect(helper.generateRunContainerOptions(pod, container, [])).rejects.toThrow(
    `container app.${path} is not supported by this agent`,
  );
});
