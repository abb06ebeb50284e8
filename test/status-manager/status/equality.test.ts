import { describe, expect, it } from 'vitest';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import { isPodStatusByKubeletEqual, reflectsStatus } from '../../../src/status-manager/status/equality.ts';
import { normalizeStatus } from '../../../src/status-manager/status/normalize.ts';
import type { PodStatus, PodStatusInput } from '../../../src/kube/objects/types.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

function statusOf(input: PodStatusInput): PodStatus {
  return deepFreeze(normalizeStatus({}, canonicalPodStatus(input, { strict: true })));
}

function areEqual(a: PodStatusInput, b: PodStatusInput): boolean {
  const [x, y] = [statusOf(a), statusOf(b)];
  const equal = isPodStatusByKubeletEqual(x, y);
  expect(isPodStatusByKubeletEqual(y, x)).toBe(equal);
  return equal;
}

describe('TestStatusEquality', () => {
  const names = Array.from({ length: 10 }, (_, i) => `container${i}`);

  it('Order of container statuses should not affect normalized equality.', () => {
    const inOrder = { containerStatuses: names.map((name) => ({ name })) };
    const shuffled = names.map((_, i) => ({ name: names[(i * 7 + 3) % names.length]! }));
    expect(areEqual(inOrder, { containerStatuses: shuffled })).toBe(true);
    expect(areEqual(inOrder, { containerStatuses: shuffled.toReversed() })).toBe(true);
    expect(areEqual(inOrder, { containerStatuses: shuffled.slice(1) })).toBe(false);
  });

  it('Differences in pod condition not owned by kubelet should not affect normalized equality.', () => {
    const feature = (status: string) => [{ type: 'www.example.com/feature', status }];
    expect(areEqual({ conditions: feature('True') }, { conditions: feature('False') })).toBe(true);
    expect(areEqual({ conditions: feature('True') }, {})).toBe(true);
  });
});

/** A status with every field of a pod status set. */
const full = {
  observedGeneration: 1,
  phase: 'Running',
  conditions: [{ type: 'Ready', status: 'True' }],
  message: 'm',
  reason: 'r',
  nominatedNodeName: 'n',
  hostIP: '192.0.2.1',
  hostIPs: [{ ip: '192.0.2.1' }],
  podIP: '10.0.0.1',
  podIPs: [{ ip: '10.0.0.1' }],
  startTime: '2026-01-02T03:04:05Z',
  initContainerStatuses: [{ name: 'i' }],
  containerStatuses: [{ name: 'c' }],
  qosClass: 'Burstable',
  ephemeralContainerStatuses: [{ name: 'e' }],
  resize: 'InProgress',
  resourceClaimStatuses: [{ name: 'c' }],
  extendedResourceClaimStatus: { resourceClaimName: 'c', requestMappings: [] },
  allocatedResources: { cpu: '1' },
  resources: { limits: { cpu: '1' } },
  nodeAllocatableResourceClaimStatuses: [{ resourceClaimName: 'c' }],
  volumeHealth: [{ name: 'v' }],
  'x-new': { of: 'a later version' },
} satisfies PodStatusInput & { 'x-new': object };
type Field = keyof typeof full;

describe('TestIsPodStatusByKubeletEqualFutureProof', () => {
  const ignored: ReadonlySet<Field> = new Set([
    'resourceClaimStatuses',
    'extendedResourceClaimStatus',
    'nodeAllocatableResourceClaimStatuses',
  ]);

  it.each((Object.keys(full) as Field[]).map((field) => [field, ignored.has(field)] as const))(
    'a difference in %s is ignored: %s',
    (field, isIgnored) => {
      const { [field]: _, ...without } = full;
      expect(areEqual(full, without)).toBe(isIgnored);
    },
  );

  it('the list above names every field of a pod status', () => {
    const { 'x-new': _, ...known } = full;
    expect(Object.keys(canonicalPodStatus(known, { strict: true }))).toEqual(Object.keys(known));
  });
});

describe('isPodStatusByKubeletEqual: conditions', () => {
  const ready = { type: 'Ready', status: 'True', reason: 'r', message: 'm' };

  it.each([
    'PodScheduled',
    'Ready',
    'Initialized',
    'ContainersReady',
    'PodResizeInProgress',
    'PodResizePending',
    'PodReadyToStartContainers',
    'AllContainersRestarting',
    'DisruptionTarget',
  ])('%s counts', (type) => {
    expect(areEqual({ conditions: [{ type, status: 'True' }] }, {})).toBe(false);
    expect(areEqual({ conditions: [{ type, status: 'True' }] }, { conditions: [{ type, status: 'False' }] })).toBe(
      false,
    );
  });

  it.each([
    ['status', { status: 'False' }, false],
    ['reason', { reason: 'other' }, false],
    ['message', { message: 'other' }, false],
    ['an empty reason and message', { reason: '', message: '' }, false],
    ['lastProbeTime', { lastProbeTime: '2026-01-01T00:00:00Z' }, true],
    ['lastTransitionTime', { lastTransitionTime: '2026-01-01T00:00:00Z' }, true],
    ['observedGeneration', { observedGeneration: 7 }, true],
    ['an unknown field', { 'x-new': 1 }, true],
  ])('another %s', (_, change, expected) => {
    expect(areEqual({ conditions: [ready] }, { conditions: [{ ...ready, ...change }] })).toBe(expected);
  });

  it('the order of conditions does not count', () => {
    const initialized = { type: 'Initialized', status: 'True' };
    expect(areEqual({ conditions: [ready, initialized] }, { conditions: [initialized, ready] })).toBe(true);
  });

  it('the last of several conditions of one type on the server counts', () => {
    const unready = { ...ready, status: 'False' };
    const duplicated = canonicalPodStatus({ conditions: [ready, unready] }, { strict: false });
    expect(duplicated.conditions).toHaveLength(2);
    expect(isPodStatusByKubeletEqual(duplicated, statusOf({ conditions: [ready] }))).toBe(false);
    expect(isPodStatusByKubeletEqual(duplicated, statusOf({ conditions: [unready] }))).toBe(true);
  });
});

describe('isPodStatusByKubeletEqual: values', () => {
  it.each<[string, PodStatusInput, PodStatusInput, boolean]>([
    ['absent and empty lists', {}, { containerStatuses: [], podIPs: [] }, true],
    ['absent and empty maps', {}, { allocatedResources: {} }, true],
    ['absent and empty texts', {}, { message: '' }, true],
    ['quantities by value', { allocatedResources: { cpu: '1k' } }, { allocatedResources: { cpu: '1e3' } }, true],
    [
      'quantities by value, in containers',
      { containerStatuses: [{ name: 'c', resources: { requests: { cpu: '1k', memory: '1' } } }] },
      { containerStatuses: [{ name: 'c', resources: { requests: { memory: '1', cpu: '1e3' } } }] },
      true,
    ],
    ['quantities of another value', { allocatedResources: { cpu: '1' } }, { allocatedResources: { cpu: '2' } }, false],
    ['quantities of another resource', { allocatedResources: { a: '1' } }, { allocatedResources: { b: '1' } }, false],
    ['one quantity more', { allocatedResources: { a: '1' } }, { allocatedResources: { a: '1', b: '0' } }, false],
    [
      'times by instant',
      { startTime: '2026-01-02T03:04:05Z' },
      { startTime: new Date('2026-01-02T03:04:05.9Z') },
      true,
    ],
    ['absent and present-empty resources', {}, { resources: {} }, false],
    [
      'absent and present-empty user',
      { containerStatuses: [{ name: 'c' }] },
      { containerStatuses: [{ name: 'c', user: {} }] },
      false,
    ],
    [
      'absent and present-empty running state',
      { containerStatuses: [{ name: 'c' }] },
      { containerStatuses: [{ name: 'c', state: { running: {} } }] },
      false,
    ],
    [
      'unset and false `started`',
      { containerStatuses: [{ name: 'c' }] },
      { containerStatuses: [{ name: 'c', started: false }] },
      false,
    ],
    ['the order of IPs', { podIPs: [{ ip: 'a' }, { ip: 'b' }] }, { podIPs: [{ ip: 'b' }, { ip: 'a' }] }, false],
    ['a list that starts the same', { podIPs: [{ ip: 'a' }] }, { podIPs: [{ ip: 'a' }, { ip: 'b' }] }, false],
  ])('%s', (_, a, b, expected) => {
    expect(areEqual(a, b)).toBe(expected);
  });

  it('a condition of ours that only one of them has makes two statuses different', () => {
    const others = { type: 'Initialized', status: 'True' };
    const ready = { type: 'Ready', status: 'True' };
    expect(areEqual({ conditions: [others, ready] }, { conditions: [others] })).toBe(false);
  });

  it.each<[string, unknown]>([
    ['a list of scalars', [1, 'a', true, null]],
    ['null', null],
    ['a list of lists', [[1], [2]]],
    ['a resource list that holds no texts', { limits: { a: 1, b: null } }],
    ['a resource list that is none', { limits: 3, requests: null }],
  ])('unknown fields are equal by value: %s', (_, value) => {
    const copy: unknown = structuredClone(value);
    expect(areEqual({ 'x-new': value } as PodStatusInput, { 'x-new': copy } as PodStatusInput)).toBe(true);
  });

  it.each<[string, unknown, unknown]>([
    ['a list and an object', [], {}],
    ['null and an object', null, {}],
    ['a number and an object', 7, {}],
    ['a text and a list', '', []],
    ['null and a number', null, 0],
    ['a resource list and null', { limits: {} }, { limits: null }],
    ['a resource list and a number', { limits: {} }, { limits: 7 }],
    ['a resource list and a text', { limits: {} }, { limits: '' }],
    ['a resource list with a text and one with a number', { limits: { cpu: '1' } }, { limits: { cpu: 1 } }],
    ['a resource list with a text and one with null', { limits: { cpu: '0' } }, { limits: { cpu: null } }],
    ['one of two quantities', { limits: { a: '1', b: '1' } }, { limits: { a: '1', b: '2' } }],
    ['a quantity of a name that every object inherits', { limits: { toString: '1' } }, { limits: { other: '1' } }],
    ['a text and a number', '1', 1],
    ['other names, as many', { a: 1 }, { b: 1 }],
    ['a name that every object inherits', { constructor: {} }, { other: {} }],
    [
      '__proto__, which every object has, and another name (once they were taken for equal)',
      JSON.parse('{"__proto__": {}}'),
      { other: {} },
    ],
  ])('tells unknown fields apart: %s', (_, a, b) => {
    expect(areEqual({ 'x-new': a } as PodStatusInput, { 'x-new': b } as PodStatusInput)).toBe(false);
  });

  it('sees a difference in any field of a container status', () => {
    const container = {
      name: 'c',
      state: { waiting: { reason: 'r' } },
      lastState: { terminated: { exitCode: 1 } },
      ready: true,
      restartCount: 1,
      image: 'i',
      imageID: 'id',
      containerID: 'cid',
      started: true,
      allocatedResources: { cpu: '1' },
      resources: { limits: { cpu: '1' } },
      volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: true }],
      user: { linux: { uid: 1, gid: 1 } },
      allocatedResourcesStatus: [{ name: 'gpu', resources: [{ resourceID: '0', health: 'Healthy' }] }],
      stopSignal: 'SIGTERM',
      'x-new': [1],
    };
    const unnoticed: string[] = [];
    for (const list of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const) {
      for (const field of Object.keys(container) as (keyof typeof container)[]) {
        const { [field]: _, ...rest } = container;
        const other = field === 'name' ? { ...rest, name: 'other' } : rest;
        if (areEqual({ [list]: [container] }, { [list]: [other] })) unnoticed.push(`${list}.${field}`);
      }
    }
    expect(unnoticed).toEqual([]);
  });
});

describe('reflectsStatus', () => {
  const shows = (server: object, ours: object) => reflectsStatus(statusOf(server), statusOf(ours));

  it.each<[string, object, object]>([
    ['in the status', { phase: 'Running', 'x-new': 1 }, { phase: 'Running' }],
    [
      'in a container status',
      { containerStatuses: [{ name: 'c', 'x-new': {} }] },
      { containerStatuses: [{ name: 'c' }] },
    ],
    ['in a list with keys', { podIPs: [{ ip: 'a', 'x-new': 1 }] }, { podIPs: [{ ip: 'a' }] }],
    ['in a condition of ours', { conditions: [{ type: 'Ready', 'x-new': 1 }] }, { conditions: [{ type: 'Ready' }] }],
  ])(
    'a newer server’s own field is no difference (it made every full batch read the pod once): %s',
    (_, server, ours) => {
      expect(shows(server, ours)).toBe(true);
      expect(shows(ours, server)).toBe('conditions' in ours);
    },
  );

  it.each<[string, object, object]>([
    ['another value of an unknown field', { 'x-new': 1 }, { 'x-new': 2 }],
    ['a known field that only the server has', { phase: 'Running' }, {}],
    [
      'one in a container status',
      { containerStatuses: [{ name: 'c', started: true }] },
      { containerStatuses: [{ name: 'c' }] },
    ],
    ['a condition of ours', { conditions: [{ type: 'Ready' }] }, {}],
    ['one element more', { podIPs: [{ ip: 'a' }, { ip: 'b' }] }, { podIPs: [{ ip: 'a' }] }],
  ])('%s is one', (_, server, ours) => {
    expect(shows(server, ours)).toBe(false);
    expect(shows(ours, server)).toBe(false);
  });

  it('quantities compare by value, and claim fields not at all', () => {
    const allocatedResources = { cpu: '1k' };
    expect(
      shows({ allocatedResources, resourceClaimStatuses: [{ name: 'a' }] }, { allocatedResources: { cpu: '1e3' } }),
    ).toBe(true);
  });
});

it('many conditions of other writers are compared in linear time', () => {
  let reads = 0;
  const condition = (i: number) => ({
    get type() {
      reads++;
      return `example.com/${i}`;
    },
    ...{ status: 'True', lastProbeTime: null, lastTransitionTime: null },
  });
  const status = (): PodStatus => ({ conditions: Array.from({ length: 1000 }, (_, i) => condition(i)) });
  expect(isPodStatusByKubeletEqual(status(), { ...status(), phase: 'Running' })).toBe(false);
  expect(isPodStatusByKubeletEqual(status(), status())).toBe(true);
  expect(reflectsStatus(status(), status())).toBe(true);
  expect(reads).toBeLessThan(100_000);
});
