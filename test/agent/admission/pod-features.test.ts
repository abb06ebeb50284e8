import { expect, it } from 'vitest';
import { PodFeaturesAdmitHandler } from '../../../src/agent/admission/pod-features.ts';

const withOptions = { volumeMounts: [{ name: 'v', mountPath: '/v', bindMountOptions: ['noexec'] }] };
const hostUsers = { hostNetwork: true, hostUsers: false };

it.each<[string, object, string | undefined]>([
  ['nothing special', { containers: [{ name: 'app' }] }, undefined],
  ['a user namespace in the network of the node', hostUsers, 'UserNamespacesHostNetworkSupport'],
  ['a user namespace', { hostUsers: false }, undefined],
  ['mount options in an init container', { initContainers: [withOptions] }, 'VolumeBindMountOptions'],
  [
    'both',
    { ...hostUsers, containers: [withOptions, withOptions] },
    'UserNamespacesHostNetworkSupport, VolumeBindMountOptions',
  ],
])('TestDeclaredFeaturesAdmitHandler: a pod that needs %s', (_name, spec, missing) => {
  const pod = { metadata: { uid: 'u', name: 'web', namespace: 'ns' }, spec };
  const expected =
    missing === undefined
      ? { admit: true }
      : {
          admit: false,
          reason: 'PodFeatureUnsupported',
          message: `Pod requires node features that are not available: ${missing}`,
        };
  expect(new PodFeaturesAdmitHandler().admit({ pod, otherPods: [], operation: 'add' })).toEqual(expected);
});
