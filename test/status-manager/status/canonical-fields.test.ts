import { describe, expect, it } from 'vitest';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import type { PodStatus } from '../../../src/kube/objects/types.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

function strict(input: unknown): PodStatus {
  return canonicalPodStatus(deepFreeze(input), { strict: true });
}

function container(input: object): unknown {
  return strict({ containerStatuses: [{ name: 'c', ...input }] }).containerStatuses![0];
}

const emptyContainer = {
  name: 'c',
  state: {},
  lastState: {},
  ready: false,
  restartCount: 0,
  image: '',
  imageID: '',
};

describe('canonicalPodStatus: fields that are always present', () => {
  it('a status has none', () => {
    expect(strict({})).toEqual({});
  });

  it.each<[string, object, object]>([
    [
      'condition',
      { conditions: [{ type: 'Ready' }] },
      { conditions: [{ type: 'Ready', status: '', lastProbeTime: null, lastTransitionTime: null }] },
    ],
    ['podIPs', { podIPs: [{}] }, { podIPs: [{ ip: '' }] }],
    ['hostIPs', { hostIPs: [{}] }, { hostIPs: [{ ip: '' }] }],
    ['container status', { containerStatuses: [{ name: 'c' }] }, { containerStatuses: [emptyContainer] }],
    ['init container status', { initContainerStatuses: [{ name: 'c' }] }, { initContainerStatuses: [emptyContainer] }],
    [
      'ephemeral container status',
      { ephemeralContainerStatuses: [{ name: 'c' }] },
      { ephemeralContainerStatuses: [emptyContainer] },
    ],
    ['volumeHealth', { volumeHealth: [{}] }, { volumeHealth: [{ name: '', lastTransitionTime: null }] }],
    [
      'healthConditions',
      { volumeHealth: [{ name: 'v', healthConditions: [{}] }] },
      { volumeHealth: [{ name: 'v', lastTransitionTime: null, healthConditions: [{ status: '', reason: '' }] }] },
    ],
    ['resourceClaimStatuses', { resourceClaimStatuses: [{}] }, { resourceClaimStatuses: [{ name: '' }] }],
    [
      'extendedResourceClaimStatus',
      { extendedResourceClaimStatus: {} },
      { extendedResourceClaimStatus: { requestMappings: null, resourceClaimName: '' } },
    ],
    [
      'requestMappings that are empty',
      { extendedResourceClaimStatus: { requestMappings: [] } },
      { extendedResourceClaimStatus: { requestMappings: [], resourceClaimName: '' } },
    ],
    [
      'requestMappings',
      { extendedResourceClaimStatus: { requestMappings: [{}] } },
      {
        extendedResourceClaimStatus: {
          requestMappings: [{ containerName: '', resourceName: '', requestName: '' }],
          resourceClaimName: '',
        },
      },
    ],
    [
      'nodeAllocatableResourceClaimStatuses',
      { nodeAllocatableResourceClaimStatuses: [{ mapping: [{}], overhead: [{}], containers: [] }] },
      {
        nodeAllocatableResourceClaimStatuses: [
          { resourceClaimName: '', mapping: [{ name: '', quantity: null }], overhead: [{ name: '' }] },
        ],
      },
    ],
    ['claims of the pod', { resources: { claims: [{}] } }, { resources: { claims: [{ name: '' }] } }],
  ])('%s', (_, input, expected) => {
    expect(strict(input)).toEqual(expected);
  });

  it.each<[string, object, object]>([
    ['running', { state: { running: {} } }, { state: { running: { startedAt: null } } }],
    [
      'terminated',
      { lastState: { terminated: {} } },
      { lastState: { terminated: { exitCode: 0, startedAt: null, finishedAt: null } } },
    ],
    ['volumeMounts', { volumeMounts: [{}] }, { volumeMounts: [{ name: '', mountPath: '' }] }],
    ['user.linux', { user: { linux: {} } }, { user: { linux: { uid: 0, gid: 0 } } }],
    ['claims', { resources: { claims: [{}] } }, { resources: { claims: [{ name: '' }] } }],
    [
      'allocatedResourcesStatus',
      { allocatedResourcesStatus: [{ resources: [{}] }] },
      { allocatedResourcesStatus: [{ name: '', resources: [{ resourceID: '' }] }] },
    ],
  ])('%s of a container', (_, input, expected) => {
    expect(container(input)).toEqual({ ...emptyContainer, ...expected });
  });
});

describe('canonicalPodStatus: present but empty is a value', () => {
  it.each<[string, object]>([
    ['state.waiting', { state: { waiting: {} } }],
    ['resources', { resources: {} }],
    ['user', { user: {} }],
    ['started', { started: false }],
    ['stopSignal', { stopSignal: '' }],
    ['recursiveReadOnly', { volumeMounts: [{ name: 'v', mountPath: '/v', recursiveReadOnly: '' }] }],
    ['volumeStatus', { volumeMounts: [{ name: 'v', mountPath: '/v', volumeStatus: {} }] }],
    ['volumeStatus.image', { volumeMounts: [{ name: 'v', mountPath: '/v', volumeStatus: { image: {} } }] }],
    [
      'message of a resource health',
      { allocatedResourcesStatus: [{ name: 'n', resources: [{ resourceID: 'r', message: '' }] }] },
    ],
  ])('%s of a container', (_, input) => {
    expect(container(input)).toEqual({ ...emptyContainer, ...input });
  });

  it.each<[string, object]>([
    ['resources', { resources: {} }],
    ['resourceClaimName', { resourceClaimStatuses: [{ name: 'a', resourceClaimName: '' }] }],
    [
      'perPod and perContainer',
      {
        nodeAllocatableResourceClaimStatuses: [
          { resourceClaimName: 'a', overhead: [{ name: 'o', perPod: '0', perContainer: '0' }] },
        ],
      },
    ],
  ])('%s of the pod', (_, input) => {
    expect(strict(input)).toEqual(input);
  });

  it('null is absent for all of them', () => {
    const input = {
      state: { waiting: null, running: null, terminated: null },
      lastState: null,
      resources: null,
      user: null,
      started: null,
      stopSignal: null,
      volumeMounts: [{ name: 'v', mountPath: '/v', recursiveReadOnly: null, volumeStatus: null }],
    };
    expect(container(input)).toEqual({ ...emptyContainer, volumeMounts: [{ name: 'v', mountPath: '/v' }] });
    expect(strict({ resources: null, extendedResourceClaimStatus: null })).toEqual({});
  });
});

describe('canonicalPodStatus: what is left out when empty', () => {
  it.each([[undefined], [null], ['empty']])('fields of a status: %s', (value) => {
    const empty = (ofKind: unknown): unknown => (value === 'empty' ? ofKind : value);
    const input = {
      observedGeneration: empty(0),
      conditions: empty([]),
      hostIPs: empty([]),
      podIPs: empty([]),
      startTime: empty('0001-01-01T00:00:00Z'),
      initContainerStatuses: empty([]),
      containerStatuses: empty([]),
      ephemeralContainerStatuses: empty([]),
      resourceClaimStatuses: empty([]),
      allocatedResources: empty({}),
      nodeAllocatableResourceClaimStatuses: empty([]),
      volumeHealth: empty([]),
    };
    const texts = ['phase', 'message', 'reason', 'nominatedNodeName', 'hostIP', 'podIP', 'qosClass', 'resize'];
    expect(strict({ ...input, ...Object.fromEntries(texts.map((text) => [text, empty('')])) })).toEqual({});
  });

  it('fields of a condition', () => {
    const condition = { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: null };
    expect(strict({ conditions: [{ ...condition, observedGeneration: 0, reason: '', message: '' }] })).toEqual({
      conditions: [condition],
    });
  });

  it('fields of a container status', () => {
    const input = {
      containerID: '',
      allocatedResources: {},
      resources: { limits: {}, requests: {}, claims: [] },
      volumeMounts: [],
      allocatedResourcesStatus: [],
      state: { waiting: { reason: '', message: '' } },
      lastState: { terminated: { signal: 0, reason: '', message: '', containerID: '' } },
    };
    expect(container(input)).toEqual({
      ...emptyContainer,
      resources: {},
      state: { waiting: {} },
      lastState: { terminated: { exitCode: 0, startedAt: null, finishedAt: null } },
    });
    expect(
      container({
        volumeMounts: [{ name: 'v', mountPath: '/v', readOnly: false, volumeStatus: { image: { imageRef: '' } } }],
      }),
    ).toEqual({
      ...emptyContainer,
      volumeMounts: [{ name: 'v', mountPath: '/v', volumeStatus: { image: {} } }],
    });
    expect(
      container({ resources: { claims: [{ name: 'a', request: '' }] }, user: { linux: { supplementalGroups: [] } } }),
    ).toEqual({
      ...emptyContainer,
      resources: { claims: [{ name: 'a' }] },
      user: { linux: { uid: 0, gid: 0 } },
    });
    expect(
      container({ allocatedResourcesStatus: [{ name: 'a', resources: [{ resourceID: 'r', health: '' }] }] }),
    ).toEqual({
      ...emptyContainer,
      allocatedResourcesStatus: [{ name: 'a', resources: [{ resourceID: 'r' }] }],
    });
  });
});
