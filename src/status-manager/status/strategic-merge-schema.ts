import type { PatchMembers, PatchSchema } from './patch-schema.ts';
import { podStatusMembers } from './status-members.ts';

const nullable: PatchSchema = { nullable: true };

const objectMeta: PatchMembers = {
  finalizers: { mergeScalars: true },
  ownerReferences: { mergeKey: 'uid' },
  creationTimestamp: nullable,
};

const containers: PatchSchema = {
  mergeKey: 'name',
  members: {
    ports: { mergeKey: 'containerPort' },
    env: { mergeKey: 'name' },
    volumeMounts: { mergeKey: 'mountPath' },
    volumeDevices: { mergeKey: 'devicePath' },
  },
};

/** A pod: all of its status; of metadata and spec only the members that need a rule of their own. */
export const podMembers: PatchMembers = {
  metadata: { members: objectMeta },
  spec: {
    members: {
      volumes: { mergeKey: 'name', retainKeys: true },
      initContainers: containers,
      containers,
      ephemeralContainers: containers,
      imagePullSecrets: { mergeKey: 'name' },
      hostAliases: { mergeKey: 'ip' },
      topologySpreadConstraints: { mergeKey: 'topologyKey' },
      schedulingGates: { mergeKey: 'name' },
      resourceClaims: { mergeKey: 'name', retainKeys: true },
      evictionResponders: { mergeKey: 'name' },
    },
  },
  status: { members: podStatusMembers },
};

/** A node, like `podMembers`. Its taints are replaced completely. */
export const nodeMembers: PatchMembers = {
  metadata: { members: objectMeta },
  spec: { members: { podCIDRs: { mergeScalars: true } } },
  status: { members: { conditions: { mergeKey: 'type' }, addresses: { mergeKey: 'type' } } },
};
