import { describe, expect, it } from 'vitest';
import { StatusManagerError } from '../../../src/shared/errors.ts';
import { canonicalPodStatus, canonicalVolumeHealthConditions } from '../../../src/status-manager/status/canonical.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

function refusal(read: () => unknown): StatusManagerError {
  try {
    read();
  } catch (error) {
    expect(error).toBeInstanceOf(StatusManagerError);
    return error as StatusManagerError;
  }
  throw new Error('it was not refused');
}

function expectRefused(input: unknown, path: string): void {
  const { code, path: refusedPath, message } = refusal(() => canonicalPodStatus(deepFreeze(input), { strict: true }));
  expect({ code, path: refusedPath }).toEqual({ code: 'INVALID_ARGUMENT', path });
  expect(message).toContain(`\`${path}\``);
}

const texts = ['phase', 'message', 'reason', 'nominatedNodeName', 'hostIP', 'podIP', 'qosClass', 'resize'];
const lists = [
  'conditions',
  'hostIPs',
  'podIPs',
  'initContainerStatuses',
  'containerStatuses',
  'ephemeralContainerStatuses',
  'resourceClaimStatuses',
  'nodeAllocatableResourceClaimStatuses',
  'volumeHealth',
];
const objects = ['extendedResourceClaimStatus', 'allocatedResources', 'resources'];

describe('canonicalPodStatus refuses, strictly, with the path', () => {
  it.each([[null], [undefined], ['text'], [7], [true], [[]], [new Date()], [() => {}], [Symbol('s')], [7n]])(
    'a status that is %s',
    (input) => expectRefused(input, 'status'),
  );

  it.each(texts)('%s that is not a string', (field) => {
    for (const value of [7, true, {}, [], 7n, Symbol('s'), () => {}, new Date()]) {
      expectRefused({ [field]: value }, `status.${field}`);
    }
  });

  it.each(lists)('%s that is not a list of objects', (field) => {
    for (const value of [7, 'text', {}, true, new Set(), new Date()]) {
      expectRefused({ [field]: value }, `status.${field}`);
    }
    const element = { type: 't', name: 'n' };
    for (const value of [null, undefined, 'text', 7, [], new Date()]) {
      expectRefused({ [field]: [element, value] }, `status.${field}[1]`);
    }
  });

  it.each(objects)('%s that is not an object', (field) => {
    for (const value of [7, 'text', true, [], new Date()]) expectRefused({ [field]: value }, `status.${field}`);
  });

  it.each<[string, unknown]>([
    ['status.phase', { phase: 'Runing' }],
    ['status.phase', { phase: 'running' }],
    ['status.qosClass', { qosClass: 'Best-Effort' }],
    [
      'status.conditions[1].status',
      {
        conditions: [
          { type: 'a', status: 'True' },
          { type: 'Ready', status: 'true' },
        ],
      },
    ],
    ['status.observedGeneration', { observedGeneration: 1.5 }],
    ['status.observedGeneration', { observedGeneration: '1' }],
    ['status.observedGeneration', { observedGeneration: 2 ** 53 }],
    ['status.observedGeneration', { observedGeneration: Number.NaN }],
    ['status.observedGeneration', { observedGeneration: Number.POSITIVE_INFINITY }],
    ['status.startTime', { startTime: '2021-02-29T00:00:00Z' }],
    ['status.startTime', { startTime: new Date(Number.NaN) }],
    ['status.startTime', { startTime: 0 }],
    ['status.startTime', { startTime: '' }],
    ['status.conditions[0].type', { conditions: [{}] }],
    ['status.conditions[1].type', { conditions: [{ type: 'a' }, { type: '' }] }],
    ['status.conditions[0].type', { conditions: [{ type: 7 }] }],
    ['status.conditions[0].status', { conditions: [{ type: 'a', status: true }] }],
    ['status.conditions[0].lastProbeTime', { conditions: [{ type: 'Ready', lastProbeTime: 'now' }] }],
    ['status.conditions[0].lastTransitionTime', { conditions: [{ type: 'Ready', lastTransitionTime: 'now' }] }],
    ['status.conditions[0].observedGeneration', { conditions: [{ type: 'a', observedGeneration: 'x' }] }],
    ['status.podIPs[0].ip', { podIPs: [{ ip: 7 }] }],
    ['status.allocatedResources.cpu', { allocatedResources: { cpu: 'one' } }],
    ['status.allocatedResources.cpu', { allocatedResources: { cpu: '' } }],
    ['status.allocatedResources.cpu', { allocatedResources: { cpu: {} } }],
    ['status.allocatedResources.cpu', { allocatedResources: { cpu: Number.NaN } }],
    ['status.resources.limits', { resources: { limits: 'x' } }],
    ['status.resources.requests.memory', { resources: { requests: { memory: '1GB' } } }],
    ['status.resources.claims[0].name', { resources: { claims: [{ name: 1 }] } }],
    ['status.resourceClaimStatuses[0].resourceClaimName', { resourceClaimStatuses: [{ resourceClaimName: 1 }] }],
    ['status.extendedResourceClaimStatus.requestMappings', { extendedResourceClaimStatus: { requestMappings: {} } }],
    [
      'status.extendedResourceClaimStatus.requestMappings[0].requestName',
      { extendedResourceClaimStatus: { requestMappings: [{ requestName: 1 }] } },
    ],
    [
      'status.nodeAllocatableResourceClaimStatuses[0].containers[1]',
      { nodeAllocatableResourceClaimStatuses: [{ containers: ['a', 1] }] },
    ],
    [
      'status.nodeAllocatableResourceClaimStatuses[0].mapping[0].quantity',
      { nodeAllocatableResourceClaimStatuses: [{ mapping: [{ quantity: 'x' }] }] },
    ],
    [
      'status.nodeAllocatableResourceClaimStatuses[0].overhead[0].perPod',
      { nodeAllocatableResourceClaimStatuses: [{ overhead: [{ perPod: 'x' }] }] },
    ],
    ['status.volumeHealth[0].lastTransitionTime', { volumeHealth: [{ lastTransitionTime: 'x' }] }],
    ['status.volumeHealth[0].healthConditions[0].reason', { volumeHealth: [{ healthConditions: [{ reason: 1 }] }] }],
  ])('%s', (path, input) => expectRefused(input, path));

  it.each<[string, object]>([
    ['name', { name: '' }],
    ['name', { name: undefined }],
    ['name', { name: 7 }],
    ['ready', { ready: 'true' }],
    ['started', { started: 1 }],
    ['restartCount', { restartCount: 2 ** 31 }],
    ['restartCount', { restartCount: -(2 ** 31) - 1 }],
    ['restartCount', { restartCount: 0.5 }],
    ['image', { image: 7 }],
    ['containerID', { containerID: 7 }],
    ['stopSignal', { stopSignal: 15 }],
    ['state', { state: 'running' }],
    ['state', { state: { running: {}, waiting: {} } }],
    ['state', { state: { running: {}, terminated: {} } }],
    ['lastState', { lastState: { waiting: {}, terminated: {} } }],
    ['state.running', { state: { running: true } }],
    ['state.running.startedAt', { state: { running: { startedAt: 'x' } } }],
    ['state.waiting.reason', { state: { waiting: { reason: 1 } } }],
    ['state.terminated.exitCode', { state: { terminated: { exitCode: '1' } } }],
    ['lastState.terminated.signal', { lastState: { terminated: { signal: 1.5 } } }],
    ['lastState.terminated.finishedAt', { lastState: { terminated: { finishedAt: 5 } } }],
    ['resources.limits.cpu', { resources: { limits: { cpu: '?' } } }],
    ['volumeMounts[0].readOnly', { volumeMounts: [{ readOnly: 'yes' }] }],
    ['volumeMounts[0].volumeStatus.image.imageRef', { volumeMounts: [{ volumeStatus: { image: { imageRef: 1 } } }] }],
    ['user.linux', { user: { linux: 1 } }],
    ['user.linux.uid', { user: { linux: { uid: '0' } } }],
    ['user.linux.supplementalGroups', { user: { linux: { supplementalGroups: '0' } } }],
    ['user.linux.supplementalGroups[1]', { user: { linux: { supplementalGroups: [0, 'x'] } } }],
    ['allocatedResourcesStatus[0].resources[0].health', { allocatedResourcesStatus: [{ resources: [{ health: 1 }] }] }],
  ])('%s of a container status (%j)', (path, container) => {
    for (const list of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses']) {
      expectRefused({ [list]: [{ name: 'first' }, { name: 'c', ...container }] }, `status.${list}[1].${path}`);
    }
  });

  it('says what was expected and what came, shortly', () => {
    const { message } = refusal(() => canonicalPodStatus({ startTime: 'x'.repeat(10_000) }, { strict: true }));
    expect(message).toBe(
      `Expected \`status.startTime\` to be a Date or an RFC 3339 time with seconds and zone, got \`${'x'.repeat(40)}…\` (string)`,
    );
  });

  it.each<[string, unknown]>([
    ['status` to be an object,', 7],
    ['phase` to be a string,', { phase: 7 }],
    ['conditions[0].type` to be a non-empty string,', { conditions: [{ type: '' }] }],
    ['containerStatuses` to be a list,', { containerStatuses: 7 }],
    ['containerStatuses[0]` to be an object,', { containerStatuses: [7] }],
    ['containerStatuses[0].ready` to be a boolean,', { containerStatuses: [{ name: 'c', ready: 1 }] }],
    [
      'containerStatuses[0].restartCount` to be an integer between -2147483648 and 2147483647,',
      { containerStatuses: [{ name: 'c', restartCount: 2 ** 31 }] },
    ],
    [
      'containerStatuses[0].state` to be an object with at most one of waiting, running, terminated,',
      { containerStatuses: [{ name: 'c', state: { running: {}, waiting: {} } }] },
    ],
    [
      'containerStatuses[0].user.linux.supplementalGroups` to be a list,',
      { containerStatuses: [{ name: 'c', user: { linux: { supplementalGroups: 7 } } }] },
    ],
    ['resources` to be an object,', { resources: 7 }],
    ['allocatedResources.cpu` to be a quantity,', { allocatedResources: { cpu: 'x' } }],
    ['x-new` to be a JSON value,', { 'x-new': 7n }],
  ])('says what it expected: `%s', (expected, input) => {
    expect(refusal(() => canonicalPodStatus(input, { strict: true })).message).toContain(expected);
  });

  it('no number at the edge of an int32, and neither an absent nor a null field', () => {
    const { containerStatuses } = canonicalPodStatus({
      containerStatuses: [
        { name: 'c', restartCount: -(2 ** 31), ready: null, user: { linux: { supplementalGroups: null } } },
      ],
    });
    expect(containerStatuses).toMatchObject([{ restartCount: -(2 ** 31), ready: false }]);
  });

  it('under the name it is given', () => {
    expect(refusal(() => canonicalPodStatus(1, { strict: true, name: 'previous' })).path).toBe('previous');
  });
});

describe('canonicalVolumeHealthConditions', () => {
  it('reads the list, or undefined for none', () => {
    const read = (input: unknown) => canonicalVolumeHealthConditions(input, { strict: true });
    expect(read([{ status: 's' }])).toEqual([{ status: 's', reason: '' }]);
    expect(read([])).toBeUndefined();
    expect(refusal(() => read([{}, { status: 7 }])).path).toBe('conditions[1].status');
    expect(refusal(() => read({})).path).toBe('conditions');
  });
});

describe('canonicalPodStatus accepts, strictly,', () => {
  it.each(['', 'Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'])('the phase %j', (phase) => {
    expect(canonicalPodStatus({ phase }, { strict: true })).toEqual(phase === '' ? {} : { phase });
  });

  it('a typing error in a phase is named with the words that there are', () => {
    expect(() => canonicalPodStatus({ phase: 'Runing' }, { strict: true })).toThrow(
      "Expected `status.phase` to be one of 'Pending', 'Running', 'Succeeded', 'Failed', 'Unknown', got `Runing` (string)",
    );
  });

  it('and leniently keeps what a newer server may show', () => {
    const status = { phase: 'Hibernating', qosClass: 'Gold', conditions: [{ type: 'a', status: 'Maybe' }] };
    expect(canonicalPodStatus(status, { strict: false })).toMatchObject(status);
  });
});
