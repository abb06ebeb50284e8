import { expect, it } from 'vitest';
import { generateContainerConfig } from '../../src/cri/container-config.ts';
import { appOf, hostUsers, machine, podWith } from './pods.ts';

const pod = podWith();
const configOf = (mounts: readonly object[], hasSELinux: boolean, userNamespace: object = hostUsers) =>
  generateContainerConfig({ pod, container: appOf(pod), attempt: 0, hash: '' }, {
    options: { command: [], args: [], envs: [], mounts },
    moreMounts: [{ container_path: '/dev/termination-log', host_path: '/log', selinux_relabel: true }],
    imageUser: {},
    userNamespace,
    targetID: undefined,
    seccompProfileRoot: '/seccomp',
    seccompDefault: false,
    machine: { ...machine, hasSELinux },
  } as Parameters<typeof generateContainerConfig>[1]);

it('the runtime is asked to relabel the volumes of a pod and its termination message where SELinux is enabled', () => {
  const mounts = [
    { containerPath: '/data', hostPath: '/pods/data', seLinuxRelabel: true },
    { containerPath: '/disk', hostPath: '/mnt/disk', seLinuxRelabel: false },
  ];
  const relabeled = (hasSELinux: boolean) =>
    configOf(mounts, hasSELinux).mounts!.map(({ selinux_relabel: relabel }) => relabel);
  expect(relabeled(true)).toEqual([true, false, true]);
  expect(relabeled(false)).toEqual([false, false, false]);
});

it('in a user namespace, root of the container owns what root of the machine owns, in each mount', () => {
  const ids = [{ host_id: 65_536, container_id: 0, length: 65_536 }];
  const userNamespace = { mode: 'POD', uids: ids, gids: ids };
  const { mounts, linux } = configOf([{ containerPath: '/data', hostPath: '/pods/data' }], false, userNamespace);
  expect(mounts!.map(({ uidMappings, gidMappings }) => [uidMappings, gidMappings])).toEqual([
    [ids, ids],
    [ids, ids],
  ]);
  expect(linux!.security_context!.namespace_options!.userns_options).toEqual(userNamespace);
});

it('an image volume is a mount of the image, below its subPath', () => {
  const image = { imageRef: 'sha256:1', userSpecifiedImage: 'tools:1', subPath: 'bin' };
  const { mounts } = configOf([{ containerPath: '/tools', hostPath: '', image, readOnly: true }], false);
  expect(mounts![0]).toMatchObject({
    container_path: '/tools',
    host_path: '',
    image: { image: 'sha256:1', user_specified_image: 'tools:1' },
    image_sub_path: 'bin',
    readonly: true,
  });
});

it('a container has the names of the kubelet, its command, environment and streams', () => {
  const container = {
    ...{ name: 'app', image: 'app:1', workingDir: '/work', stdin: true, stdinOnce: true, tty: true },
    ...{ terminationMessagePath: '/t', terminationMessagePolicy: 'File' },
    ports: [{ containerPort: 80 }],
    lifecycle: { stopSignal: 'SIGUSR1', preStop: { exec: { command: ['stop'] } } },
  };
  const own = podWith({ containers: [container], terminationGracePeriodSeconds: 30 });
  const deleted = { ...own, metadata: { ...own.metadata, deletionGracePeriodSeconds: 0 } };
  const config = generateContainerConfig(
    { pod: deleted, container, attempt: 2, hash: 'f00', imageRef: 'sha256:1' },
    {
      options: { command: ['run'], args: ['-v'], envs: [{ name: 'A', value: 'ü' }], mounts: [] },
      ...{ moreMounts: [], imageUser: {}, userNamespace: hostUsers, targetID: undefined },
      ...{ seccompProfileRoot: '/seccomp', seccompDefault: false, machine },
    },
  );
  const { linux, ...rest } = config;
  expect(linux?.resources?.cpu_shares).toBe(2);
  expect(rest).toEqual({
    metadata: { name: 'app', attempt: 2 },
    image: { image: 'sha256:1', user_specified_image: 'app:1' },
    ...{ command: ['run'], args: ['-v'], working_dir: '/work', mounts: [] },
    envs: [{ key: 'A', value: Buffer.from('ü') }],
    labels: {
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': 'uid-1',
      'io.kubernetes.container.name': 'app',
    },
    annotations: {
      'io.kubernetes.container.hash': 'f00',
      'io.kubernetes.container.restartCount': '2',
      'io.kubernetes.container.terminationMessagePath': '/t',
      'io.kubernetes.container.terminationMessagePolicy': 'File',
      'io.kubernetes.pod.deletionGracePeriod': '0',
      'io.kubernetes.pod.terminationGracePeriod': '30',
      'io.kubernetes.container.preStopHandler': '{"exec":{"command":["stop"]}}',
      'io.kubernetes.container.ports': '[{"containerPort":80}]',
    },
    ...{ log_path: 'app/2.log', stdin: true, stdin_once: true, tty: true, stop_signal: 'SIGNAL_SIGUSR1' },
  });
});

it('a container that says nothing has no annotation about it, no stop signal, and the image of its spec', () => {
  const config = configOf([], false);
  expect(config.image).toEqual({ image: 'app:1', user_specified_image: 'app:1' });
  expect(config.stop_signal).toBeUndefined();
  expect(Object.keys(config.annotations!)).toEqual([
    'io.kubernetes.container.hash',
    'io.kubernetes.container.restartCount',
    'io.kubernetes.container.terminationMessagePath',
    'io.kubernetes.container.terminationMessagePolicy',
  ]);
});

it('a container that must not run as root is refused with an image of root', () => {
  const own = podWith({ securityContext: { runAsNonRoot: true } });
  const options = { command: [], args: [], envs: [], mounts: [] };
  const settings = { options, moreMounts: [], imageUser: { uid: 0 }, userNamespace: hostUsers, targetID: undefined };
  expect(() =>
    generateContainerConfig(
      { pod: own, container: appOf(own), attempt: 0, hash: '' },
      { ...settings, seccompProfileRoot: '/seccomp', seccompDefault: false, machine },
    ),
  ).toThrow('container has runAsNonRoot and image will run as root');
});

it('a mount has the propagation and the protection of the volume', () => {
  const mount = { containerPath: '/a', hostPath: '/b', readOnly: true, recursiveReadOnly: true };
  const { mounts } = configOf([{ ...mount, propagation: 'PROPAGATION_BIDIRECTIONAL' }], false);
  expect(mounts![0]).toMatchObject({
    ...{ container_path: '/a', host_path: '/b', readonly: true, recursive_read_only: true },
    propagation: 'PROPAGATION_BIDIRECTIONAL',
  });
});
