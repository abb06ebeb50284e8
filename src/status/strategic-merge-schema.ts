import type {
  ContainerState,
  ContainerStatus,
  NodeAllocatableMappedResources,
  NodeAllocatableOverheadResources,
  NodeAllocatableResourceClaimStatus,
  PodCondition,
  PodExtendedResourceClaimStatus,
  PodResourceClaimStatus,
  PodStatus,
  PodVolumeHealth,
  ResourceRequirements,
} from '../types.ts';

/**
 * How one member of a Kubernetes object is compared and patched, by its JSON name. A list without
 * `mergeKey` and `mergeScalars` is replaced as a whole; members that no table names are unknown,
 * and so are replaced lists or merged objects.
 * Source: the `patchStrategy` and `patchMergeKey` tags of `k8s.io/api/core/v1`, v1.37.
 */
export interface PatchSchema {
  /** The known members of the object, or of every object in the list. */
  readonly members?: PatchMembers;
  /** An object with free keys, all of them known: a map of quantities. */
  readonly map?: true;
  /** A list of objects that is merged element by element: its elements are told apart by this member. */
  readonly mergeKey?: string;
  /** A list that is replaced as a whole although its elements are told apart by this member. */
  readonly key?: string;
  /** A list of scalars that is merged as a set. */
  readonly mergeScalars?: true;
  /** A changed element of the merged list names all its members in `$retainKeys`. */
  readonly retainKeys?: true;
  /** Written as `null` when it has no value, not left out. */
  readonly nullable?: true;
}

export interface PatchMembers {
  readonly [member: string]: PatchSchema;
}

/** The members of type `T`, every one of them. */
type MembersOf<T> = { readonly [Member in keyof T]-?: PatchSchema };

const plain: PatchSchema = {};
const nullable: PatchSchema = { nullable: true };
const quantities: PatchSchema = { map: true };

function plainMembers<Name extends string>(...names: Name[]): { readonly [Member in Name]: PatchSchema } {
  return Object.fromEntries(names.map((name) => [name, plain])) as { [Member in Name]: PatchSchema };
}

const condition = {
  ...plainMembers('type', 'observedGeneration', 'status', 'reason', 'message'),
  lastProbeTime: nullable,
  lastTransitionTime: nullable,
} satisfies MembersOf<PodCondition>;

const ip = plainMembers('ip');

const resourceRequirements = {
  limits: quantities,
  requests: quantities,
  claims: { members: plainMembers('name', 'request') },
} satisfies MembersOf<ResourceRequirements>;

const containerState = {
  waiting: { members: plainMembers('reason', 'message') },
  running: { members: { startedAt: nullable } },
  terminated: {
    members: {
      ...plainMembers('exitCode', 'signal', 'reason', 'message', 'containerID'),
      startedAt: nullable,
      finishedAt: nullable,
    },
  },
} satisfies MembersOf<ContainerState>;

/** All members of a container status. */
export const containerStatusMembers = {
  ...plainMembers('name', 'ready', 'restartCount', 'image', 'imageID', 'containerID', 'started', 'stopSignal'),
  state: { members: containerState },
  lastState: { members: containerState },
  allocatedResources: quantities,
  resources: { members: resourceRequirements },
  volumeMounts: {
    mergeKey: 'mountPath',
    members: {
      ...plainMembers('name', 'mountPath', 'readOnly', 'recursiveReadOnly'),
      volumeStatus: { members: { image: { members: plainMembers('imageRef') } } },
    },
  },
  user: { members: { linux: { members: plainMembers('uid', 'gid', 'supplementalGroups') } } },
  allocatedResourcesStatus: {
    mergeKey: 'name',
    members: {
      name: plain,
      resources: { key: 'resourceID', members: plainMembers('resourceID', 'health', 'message') },
    },
  },
} satisfies MembersOf<ContainerStatus>;

const containerStatuses: PatchSchema = { key: 'name', members: containerStatusMembers };

/** All members of a pod status. */
export const podStatusMembers = {
  ...plainMembers('observedGeneration', 'phase', 'message', 'reason', 'nominatedNodeName', 'hostIP', 'podIP'),
  ...plainMembers('startTime', 'qosClass', 'resize'),
  conditions: { mergeKey: 'type', members: condition },
  hostIPs: { mergeKey: 'ip', members: ip },
  podIPs: { mergeKey: 'ip', members: ip },
  initContainerStatuses: containerStatuses,
  containerStatuses,
  ephemeralContainerStatuses: containerStatuses,
  resourceClaimStatuses: {
    mergeKey: 'name',
    retainKeys: true,
    members: plainMembers('name', 'resourceClaimName') satisfies MembersOf<PodResourceClaimStatus>,
  },
  extendedResourceClaimStatus: {
    members: {
      requestMappings: { nullable: true, members: plainMembers('containerName', 'resourceName', 'requestName') },
      resourceClaimName: plain,
    } satisfies MembersOf<PodExtendedResourceClaimStatus>,
  },
  allocatedResources: quantities,
  resources: { members: resourceRequirements },
  nodeAllocatableResourceClaimStatuses: {
    mergeKey: 'resourceClaimName',
    members: {
      ...plainMembers('resourceClaimName', 'containers'),
      mapping: {
        mergeKey: 'name',
        members: { name: plain, quantity: nullable } satisfies MembersOf<NodeAllocatableMappedResources>,
      },
      overhead: {
        mergeKey: 'name',
        members: plainMembers('name', 'perPod', 'perContainer') satisfies MembersOf<NodeAllocatableOverheadResources>,
      },
    } satisfies MembersOf<NodeAllocatableResourceClaimStatus>,
  },
  volumeHealth: {
    key: 'name',
    members: {
      name: plain,
      healthConditions: { mergeKey: 'status', members: plainMembers('status', 'reason', 'message') },
      lastTransitionTime: nullable,
    } satisfies MembersOf<PodVolumeHealth>,
  },
} satisfies MembersOf<PodStatus>;

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

/** A pod: its status in full, of metadata and spec only what is not merged as an object or replaced as a list. */
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

/** A node, as `podMembers`. Its taints are replaced as a whole. */
export const nodeMembers: PatchMembers = {
  metadata: { members: objectMeta },
  spec: { members: { podCIDRs: { mergeScalars: true } } },
  status: { members: { conditions: { mergeKey: 'type' }, addresses: { mergeKey: 'type' } } },
};

/** The names of the members, to look up. */
export function namesOf(members: PatchMembers): ReadonlySet<string> {
  return new Set(Object.keys(members));
}

/** The schema of one member of an object; an empty one when the member is not known. */
export function schemaOfMember(schema: PatchSchema, member: string): PatchSchema {
  const { members } = schema;
  return members !== undefined && Object.hasOwn(members, member) ? members[member]! : plain;
}

/** Whether an object may be stripped of the member: it is not one that only the server knows. */
export function isKnownMember(schema: PatchSchema, member: string): boolean {
  return schema.map === true || (schema.members !== undefined && Object.hasOwn(schema.members, member));
}
