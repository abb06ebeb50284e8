import type { PatchFields, PatchSchema } from './patch-schema.ts';
import { podStatusFields } from './status-fields.ts';

const nullable: PatchSchema = { nullable: true };

const objectMeta: PatchFields = {
  finalizers: { mergeScalars: true },
  ownerReferences: { mergeKey: 'uid' },
  creationTimestamp: nullable,
};

const containers: PatchSchema = {
  mergeKey: 'name',
  fields: {
    ports: { mergeKey: 'containerPort' },
    env: { mergeKey: 'name' },
    volumeMounts: { mergeKey: 'mountPath' },
    volumeDevices: { mergeKey: 'devicePath' },
  },
};

/** A pod: all of its status; of metadata and spec only the fields that need a rule of their own. */
export const podFields: PatchFields = {
  metadata: { fields: objectMeta },
  spec: {
    fields: {
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
  status: { fields: podStatusFields },
};

/** A node or another object that is not a pod, like `podFields`. Taints are replaced completely. */
export const nodeFields: PatchFields = {
  metadata: { fields: objectMeta },
  spec: { fields: { podCIDRs: { mergeScalars: true } } },
  status: { fields: { conditions: { mergeKey: 'type' }, addresses: { mergeKey: 'type' } } },
  // Of a ServiceAccount.
  secrets: { mergeKey: 'name' },
};
