import { describe, expect, it } from 'vitest';
import { canonicalPodStatus } from '../../../src/status-manager/status/canonical.ts';
import type { PodStatus } from '../../../src/kube/objects/types.ts';
import { deepFreeze } from '../../support/arbitraries.ts';

function strict(input: unknown): PodStatus {
  return canonicalPodStatus(deepFreeze(input), { strict: true });
}

describe('canonicalPodStatus: values', () => {
  const full = {
    observedGeneration: 3,
    phase: 'Running',
    conditions: [
      {
        type: 'Ready',
        observedGeneration: 3,
        status: 'True',
        lastProbeTime: '2026-01-02T03:04:05Z',
        lastTransitionTime: '2026-01-02T03:04:05Z',
        reason: 'r',
        message: 'm',
      },
    ],
    message: 'm',
    reason: 'r',
    nominatedNodeName: 'n',
    hostIP: '192.0.2.1',
    hostIPs: [{ ip: '192.0.2.1' }],
    podIP: '10.0.0.1',
    podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }],
    startTime: '2026-01-02T03:04:05Z',
    containerStatuses: [
      {
        name: 'c',
        state: {
          terminated: {
            exitCode: -1,
            signal: 9,
            reason: 'r',
            message: 'm',
            startedAt: '2026-01-02T03:04:05Z',
            finishedAt: '2026-01-02T03:04:06Z',
            containerID: 'id',
          },
        },
        lastState: { waiting: { reason: 'r', message: 'm' } },
        ready: true,
        restartCount: 2147483647,
        image: 'i',
        imageID: 'ii',
        containerID: 'id',
        started: true,
        allocatedResources: { cpu: '500m' },
        resources: { limits: { cpu: '1' }, requests: { cpu: '500m' }, claims: [{ name: 'a', request: 'b' }] },
        volumeMounts: [
          {
            name: 'v',
            mountPath: '/v',
            readOnly: true,
            recursiveReadOnly: 'Enabled',
            volumeStatus: { image: { imageRef: 'x' } },
          },
        ],
        user: { linux: { uid: 1, gid: 2, supplementalGroups: [3, 0] } },
        allocatedResourcesStatus: [{ name: 'gpu', resources: [{ resourceID: '0', health: 'Healthy', message: 'm' }] }],
        stopSignal: 'SIGTERM',
      },
    ],
    qosClass: 'Burstable',
    resize: 'InProgress',
    resourceClaimStatuses: [{ name: 'a', resourceClaimName: 'b' }],
    extendedResourceClaimStatus: {
      requestMappings: [{ containerName: 'c', resourceName: 'r', requestName: 'q' }],
      resourceClaimName: 'a',
    },
    allocatedResources: { cpu: '1' },
    resources: { requests: { memory: '1Gi' } },
    nodeAllocatableResourceClaimStatuses: [
      {
        resourceClaimName: 'a',
        containers: ['c', ''],
        mapping: [{ name: 'cpu', quantity: '1' }],
        overhead: [{ name: 'cpu', perPod: '1', perContainer: '2' }],
      },
    ],
    volumeHealth: [
      {
        name: 'v',
        healthConditions: [{ status: 's', reason: 'r', message: 'm' }],
        lastTransitionTime: '2026-01-02T03:04:05Z',
      },
    ],
  };

  it('a canonical status stays as it is, in a new object at every level', () => {
    const canonical = strict(full);
    expect(canonical).toEqual(full);
    expect(canonical.containerStatuses![0]!.resources!.limits).not.toBe(full.containerStatuses[0]!.resources.limits);
  });

  it.each([
    ['1000m', '1'],
    ['0.5', '500m'],
    ['1024Mi', '1Gi'],
    ['1.5Gi', '1536Mi'],
    ['1000', '1k'],
    ['0Mi', '0'],
    ['1e3', '1e3'],
    [2, '2'],
    [null, '0'],
  ])('the quantity %j is formatted as %j in every field', (input, expected) => {
    const list = { cpu: input };
    expect(
      strict({
        allocatedResources: list,
        resources: { limits: list, requests: list },
        containerStatuses: [{ name: 'c', allocatedResources: list, resources: { limits: list, requests: list } }],
      }),
    ).toMatchObject({
      allocatedResources: { cpu: expected },
      resources: { limits: { cpu: expected }, requests: { cpu: expected } },
      containerStatuses: [
        {
          allocatedResources: { cpu: expected },
          resources: { limits: { cpu: expected }, requests: { cpu: expected } },
        },
      ],
    });
    if (input === null) return;
    const claim = {
      mapping: [{ name: 'a', quantity: input }],
      overhead: [{ name: 'a', perPod: input, perContainer: input }],
    };
    expect(strict({ nodeAllocatableResourceClaimStatuses: [claim] })).toMatchObject({
      nodeAllocatableResourceClaimStatuses: [
        { mapping: [{ quantity: expected }], overhead: [{ perPod: expected, perContainer: expected }] },
      ],
    });
  });

  it('times are cut wherever one stands', () => {
    const date = new Date('2026-01-02T03:04:05.678Z');
    const text = JSON.stringify(
      strict({
        startTime: date,
        conditions: [{ type: 'a', lastProbeTime: date, lastTransitionTime: date }],
        containerStatuses: [
          {
            name: 'a',
            state: { running: { startedAt: date } },
            lastState: { terminated: { startedAt: date, finishedAt: date } },
          },
        ],
        volumeHealth: [{ name: 'v', lastTransitionTime: date }],
      }),
    );
    expect(text.split('"2026-01-02T03:04:05Z"')).toHaveLength(1 + 1 + 2 + 3 + 1);
    expect(text).not.toContain('678');
  });

  it('half of a surrogate pair becomes U+FFFD: the API server would show it so, and the status would differ for ever', () => {
    const half = '\u{1f600}'.slice(0, 1);
    const status = strict({
      message: `a${half}`,
      conditions: [{ type: 'Ready', message: half }],
      containerStatuses: [{ name: 'c', state: { terminated: { message: `${half}b` } } }],
      'x-new': [half],
    });
    expect(status).toMatchObject({
      message: 'a\ufffd',
      conditions: [{ message: '\ufffd' }],
      containerStatuses: [{ state: { terminated: { message: '\ufffdb' } } }],
      'x-new': ['\ufffd'],
    });
  });

  it('of several entries with the same key the last is kept, in the position of the first', () => {
    const status = strict({
      conditions: [{ type: 'a', reason: '1' }, { type: 'b' }, { type: 'a', reason: '2' }],
      podIPs: [{ ip: 'x' }, { ip: 'y' }, { ip: 'x', 'x-new': 1 }],
      hostIPs: [{ ip: 'x' }, { ip: 'x' }],
      containerStatuses: [
        { name: 'a', image: '1' },
        { name: 'a', image: '2' },
      ],
      initContainerStatuses: [
        { name: 'a', image: '1' },
        { name: 'a', image: '2' },
      ],
      ephemeralContainerStatuses: [
        { name: 'a', image: '1' },
        { name: 'a', image: '2' },
      ],
    });
    expect(status.conditions?.map(({ type, reason }) => [type, reason])).toEqual([
      ['a', '2'],
      ['b', undefined],
    ]);
    expect(status.podIPs).toEqual([{ ip: 'x', 'x-new': 1 }, { ip: 'y' }]);
    expect(status.hostIPs).toEqual([{ ip: 'x' }]);
    for (const list of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const)
      expect(status[list]?.map(({ image }) => image)).toEqual(['2']);
  });

  it('the same in a list of many', () => {
    const conditions = Array.from({ length: 40 }, (_, i) => ({ type: `t${i % 20}`, reason: `${i}` }));
    expect(strict({ conditions }).conditions?.map(({ reason }) => reason)).toEqual(
      Array.from({ length: 20 }, (_, i) => `${i + 20}`),
    );
  });
});
