import * as fc from 'fast-check';

import type { CanonicalObject } from '../../src/kube/objects/kube-object.ts';
import type {
  ContainerState,
  ContainerStatus,
  PodCondition,
  PodStatus,
  ResourceRequirements,
  VolumeMountStatus,
} from '../../src/kube/objects/types.ts';

/** Names that are sorted differently in byte order, UTF-16 order and locale order. */
const names = ['a', 'B', 'b', 'é', '\u{1d11e}', '\uffee', 'constructor'] as const;
const text = fc.constantFrom('r', 's', 'Some text', 'naïve ☃');

const nameArbitrary = fc.constantFrom(...names);

/** A time in canonical form. */
const canonicalTimeArbitrary = fc.constantFrom('2026-01-02T03:04:05Z', '2026-01-02T03:04:06Z', '1969-12-31T23:59:59Z');
const nullableTime = fc.option(canonicalTimeArbitrary, { nil: null });

/** A quantity in Go's canonical format. */
const canonicalQuantityArbitrary = fc.constantFrom('0', '1', '500m', '1k', '1e3', '1Gi', '1536Mi', '100n');

const resourceList = fc.dictionary(
  fc.constantFrom('cpu', 'memory', 'example.com/gpu', 'a~b'),
  canonicalQuantityArbitrary,
  { minKeys: 1, noNullPrototype: true },
);

function listOf<T>(element: fc.Arbitrary<T>): fc.Arbitrary<T[]> {
  return fc.array(element, { minLength: 1, maxLength: 4 });
}

function listByKey<T>(element: fc.Arbitrary<T>, key: keyof T): fc.Arbitrary<T[]> {
  return fc.uniqueArray(element, { minLength: 1, maxLength: 5, selector: (entry) => entry[key] });
}

export interface PodStatusArbitraryOptions {
  /** Objects at every level may have a field named `x-new`, which no Kubernetes type has. */
  readonly unknownFields?: boolean;
}

/**
 * Canonical pod statuses with every field that a pod status can have, each of them absent or
 * present, and with the values that are easy to lose: present but empty, null, false.
 */
export function createPodStatusArbitrary({
  unknownFields = false,
}: PodStatusArbitraryOptions = {}): fc.Arbitrary<PodStatus> {
  const unknownValue = fc
    .constantFrom<unknown>(1, 'new', true, ['a'], [{ name: 'a' }], { 'x-new': 1 }, { 'x-new': 2, other: {} })
    // A new value each time, because some tests modify it.
    .map((value) => structuredClone(value));

  function object<T, Required extends keyof T = never>(
    model: { [Field in keyof T]: fc.Arbitrary<T[Field]> },
    required: readonly Required[],
  ): fc.Arbitrary<fc.RecordValue<T, Required>> {
    const known = fc.record<T, Required>(model, { requiredKeys: required as Required[], noNullPrototype: true });
    if (!unknownFields) return known;
    return fc
      .tuple(known, fc.option(unknownValue, { freq: 2, nil: undefined }))
      .map(([value, extra]) => (extra === undefined ? value : { ...value, 'x-new': extra }));
  }

  const resources: fc.Arbitrary<ResourceRequirements> = object(
    {
      limits: resourceList,
      requests: resourceList,
      claims: listOf(object({ name: nameArbitrary, request: text }, ['name'])),
    },
    [],
  );

  const state: fc.Arbitrary<ContainerState> = fc.oneof(
    object({}, []),
    object({ waiting: object({ reason: text, message: text }, []) }, ['waiting']),
    object({ running: object({ startedAt: nullableTime }, ['startedAt']) }, ['running']),
    object(
      {
        terminated: object(
          {
            exitCode: fc.constantFrom(0, 1, 137),
            signal: fc.constantFrom(9, 15),
            reason: text,
            message: text,
            startedAt: nullableTime,
            finishedAt: nullableTime,
            containerID: text,
          },
          ['exitCode', 'startedAt', 'finishedAt'],
        ),
      },
      ['terminated'],
    ),
  );

  const volumeMount: fc.Arbitrary<VolumeMountStatus> = object(
    {
      name: nameArbitrary,
      mountPath: fc.constantFrom('/a', '/b', '/c~d'),
      readOnly: fc.constant(true),
      recursiveReadOnly: fc.constantFrom('', 'Enabled'),
      volumeStatus: object({ image: object({ imageRef: text }, []) }, []),
    },
    ['name', 'mountPath'],
  );

  const health = object(
    { resourceID: nameArbitrary, health: fc.constantFrom('Healthy', 'Unhealthy'), message: fc.constantFrom('', 'm') },
    ['resourceID'],
  );

  const containerStatus: fc.Arbitrary<ContainerStatus> = object(
    {
      name: nameArbitrary,
      state,
      lastState: state,
      ready: fc.boolean(),
      restartCount: fc.nat(2),
      image: fc.constantFrom('', 'image:1'),
      imageID: fc.constantFrom('', 'sha256:1'),
      containerID: text,
      started: fc.boolean(),
      allocatedResources: resourceList,
      resources,
      volumeMounts: listByKey(volumeMount, 'mountPath'),
      user: object(
        {
          linux: object({ uid: fc.nat(1), gid: fc.nat(1), supplementalGroups: listOf(fc.nat(2)) }, ['uid', 'gid']),
        },
        [],
      ),
      allocatedResourcesStatus: listByKey(
        object({ name: nameArbitrary, resources: listByKey(health, 'resourceID') }, ['name']),
        'name',
      ),
      stopSignal: fc.constantFrom('', 'SIGTERM'),
    },
    ['name', 'state', 'lastState', 'ready', 'restartCount', 'image', 'imageID'],
  );
  const containerStatuses = listByKey(containerStatus, 'name');

  const condition: fc.Arbitrary<PodCondition> = object(
    {
      type: fc.oneof(fc.constantFrom('Ready', 'Initialized', 'DisruptionTarget', 'example.com/gate'), nameArbitrary),
      observedGeneration: fc.integer({ min: 1, max: 3 }),
      status: fc.constantFrom('True', 'False', 'Unknown'),
      lastProbeTime: nullableTime,
      lastTransitionTime: nullableTime,
      reason: text,
      message: text,
    },
    ['type', 'status', 'lastProbeTime', 'lastTransitionTime'],
  );
  const ips = listByKey(object({ ip: fc.constantFrom('10.0.0.2', '10.0.0.9', '10.0.0.10', 'fd00::1') }, ['ip']), 'ip');

  const resourceClaim: fc.Arbitrary<CanonicalObject<'PodResourceClaimStatus'>> = object(
    { name: nameArbitrary, resourceClaimName: fc.constantFrom('', 'claim', 'other') },
    ['name'],
  );
  const extendedResourceClaim: fc.Arbitrary<CanonicalObject<'PodExtendedResourceClaimStatus'>> = object(
    {
      requestMappings: fc.option(
        fc.array(
          object({ containerName: nameArbitrary, resourceName: text, requestName: text }, [
            'containerName',
            'resourceName',
            'requestName',
          ]),
          {
            maxLength: 2,
          },
        ),
        { nil: null },
      ),
      resourceClaimName: fc.constantFrom('', 'claim', 'other'),
    },
    ['requestMappings', 'resourceClaimName'],
  );
  const nodeAllocatableClaim: fc.Arbitrary<CanonicalObject<'NodeAllocatableResourceClaimStatus'>> = object(
    {
      resourceClaimName: nameArbitrary,
      containers: listOf(nameArbitrary),
      mapping: listByKey(
        object({ name: nameArbitrary, quantity: fc.option(canonicalQuantityArbitrary, { nil: null }) }, [
          'name',
          'quantity',
        ]),
        'name',
      ),
      overhead: listByKey(
        object({ name: nameArbitrary, perPod: canonicalQuantityArbitrary, perContainer: canonicalQuantityArbitrary }, [
          'name',
        ]),
        'name',
      ),
    },
    ['resourceClaimName'],
  );
  const volumeHealth: fc.Arbitrary<CanonicalObject<'PodVolumeHealth'>> = object(
    {
      name: nameArbitrary,
      healthConditions: listByKey(
        object({ status: fc.constantFrom('Degraded', 'Unmounted'), reason: text, message: text }, ['status', 'reason']),
        'status',
      ),
      lastTransitionTime: nullableTime,
    },
    ['name', 'lastTransitionTime'],
  );

  return object(
    {
      observedGeneration: fc.integer({ min: 1, max: 3 }),
      phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'),
      conditions: listByKey(condition, 'type'),
      message: text,
      reason: text,
      nominatedNodeName: text,
      hostIP: fc.constantFrom('192.0.2.1', '192.0.2.2'),
      hostIPs: ips,
      podIP: fc.constantFrom('10.0.0.2', 'fd00::1'),
      podIPs: ips,
      startTime: canonicalTimeArbitrary,
      initContainerStatuses: containerStatuses,
      containerStatuses,
      qosClass: fc.constantFrom('Guaranteed', 'Burstable', 'BestEffort'),
      ephemeralContainerStatuses: containerStatuses,
      resize: fc.constantFrom('InProgress', 'Deferred'),
      resourceClaimStatuses: listByKey(resourceClaim, 'name'),
      extendedResourceClaimStatus: extendedResourceClaim,
      allocatedResources: resourceList,
      resources,
      nodeAllocatableResourceClaimStatuses: listByKey(nodeAllocatableClaim, 'resourceClaimName'),
      volumeHealth: listByKey(volumeHealth, 'name'),
    },
    [],
  );
}

/** Canonical pod statuses; see `createPodStatusArbitrary`. */
export const podStatusArbitrary: fc.Arbitrary<PodStatus> = createPodStatusArbitrary();

/** Two statuses, the second of which shares about half of its fields with the first. */
export function relatedPodStatusesArbitrary(
  options: PodStatusArbitraryOptions = {},
): fc.Arbitrary<[PodStatus, PodStatus]> {
  const status = createPodStatusArbitrary(options);
  return fc.tuple(status, status, fc.infiniteStream(fc.boolean())).map(([from, other, isShared]) => {
    const to: { [field: string]: unknown } = {};
    for (const field of new Set([...Object.keys(from), ...Object.keys(other)])) {
      const source: { readonly [field: string]: unknown } = isShared.next().value ? { ...from } : { ...other };
      if (source[field] !== undefined) to[field] = source[field];
    }
    return [from, structuredClone(to)];
  });
}

/** What a hostile or broken server may send: JSON of any shape, and statuses with such fields. */
export const brokenPodStatusArbitrary: fc.Arbitrary<unknown> = fc.oneof(
  fc.jsonValue(),
  fc
    .tuple(
      podStatusArbitrary,
      fc.dictionary(
        fc.constantFrom('phase', 'conditions', 'podIPs', 'resources', 'containerStatuses', '__proto__'),
        fc.jsonValue(),
      ),
    )
    .map(([status, junk]) => ({ ...status, ...junk })),
  fc
    .tuple(
      podStatusArbitrary,
      fc.array(fc.oneof(fc.jsonValue(), fc.record({ type: fc.jsonValue(), ip: fc.jsonValue(), name: fc.jsonValue() }))),
    )
    .map(([status, list]) => ({
      ...status,
      conditions: list,
      hostIPs: list,
      containerStatuses: list,
      resourceClaimStatuses: list,
      volumeHealth: list,
    })),
);

/** Freezes the value at every level, so that a test fails if something modifies it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const inner of Object.values(value)) deepFreeze(inner);
  }
  return value;
}
