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
