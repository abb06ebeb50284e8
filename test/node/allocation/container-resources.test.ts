import { describe, expect, it } from 'vitest';
import type { Pod, ResourceRequirementsInput } from 'kubelet-status-manager';
import {
  areAmountsEqual,
  compareAmounts,
  containerResources,
} from '../../../src/node/allocation/container-resources.ts';
import { doActualRequestsShrink, wantsOtherResources } from '../../../src/node/allocation/resource-changes.ts';
import { resizeMessage } from '../../../src/node/allocation/resize-message.ts';
import { areResourcesEqual } from '../../../src/node/allocation/updated-from-allocation.ts';

type Requirements = ResourceRequirementsInput;

describe('the resources of a container', () => {
  const withPodLimits = (limits?: Record<string, string>): Pod => ({
    spec: { ...(limits && { resources: { limits } }) },
  });

  it.each<[string, Record<string, string> | undefined, Requirements | undefined, Requirements]>([
    ['none', undefined, undefined, {}],
    ['empty ones', undefined, { limits: {}, requests: {} }, { requests: {} }],
    [
      'its own',
      { cpu: '4' },
      { limits: { cpu: '2' }, requests: { cpu: '1' } },
      { limits: { cpu: '2' }, requests: { cpu: '1' } },
    ],
    [
      'the limits of the pod that it lacks',
      { cpu: '4', memory: '1Gi' },
      { limits: { cpu: '2' } },
      { limits: { cpu: '2', memory: '1Gi' } },
    ],
    [
      'a limit of the pod in place of zero',
      { memory: '1Gi' },
      { limits: { memory: '0' } },
      { limits: { memory: '1Gi' } },
    ],
    ['no limit of zero of the pod', { memory: '0' }, undefined, {}],
    ['no other limit of the pod', { 'hugepages-2Mi': '2Mi' }, undefined, {}],
  ])('are %s', (_, podLimits, own, expected) => {
    expect(containerResources(withPodLimits(podLimits), { resources: own })).toEqual(expected);
  });
});

it.each<[string, Requirements | undefined, Requirements | undefined, boolean]>([
  ['nothing and zero', undefined, { limits: { cpu: '0' }, requests: { memory: '0' } }, true],
  ['two formats', { limits: { cpu: '1' } }, { limits: { cpu: '1000m' } }, true],
  ['other resources', { limits: { 'example.com/gpu': '1' } }, { limits: { 'example.com/gpu': '2' } }, true],
  ['cpu limits', { limits: { cpu: '1' } }, { limits: { cpu: '2' } }, false],
  ['memory limits', { limits: { memory: '1' } }, undefined, false],
  ['cpu requests', { requests: { cpu: '1' } }, undefined, false],
  ['memory requests', { requests: { memory: '1' } }, { requests: { memory: '2' } }, false],
])('areAmountsEqual compares what can be resized: %s', (_, a, b, expected) => {
  expect([areAmountsEqual(a, b), areAmountsEqual(b, a)]).toEqual([expected, expected]);
});

it.each([
  ['1', '2', -1],
  ['2', '1000m', 1],
  ['1', '1000m', 0],
  [undefined, '1', -1],
  [undefined, '0', 0],
] as const)('an amount that becomes %s from %s', (after, before, sign) => {
  expect(Math.sign(compareAmounts(after, before))).toBe(sign);
});

describe('areResourcesEqual: two requirements are equal by value', () => {
  it.each<[string, Requirements | null | undefined, Requirements | null | undefined, boolean]>([
    ['none', null, undefined, true],
    ['none and empty ones', undefined, { limits: {}, requests: {}, claims: [] }, true],
    ['two formats', { limits: { cpu: '1' } }, { limits: { cpu: '1000m' } }, true],
    ['another limit', { limits: { cpu: '1' } }, { limits: { cpu: '2' } }, false],
    ['another request', { requests: { cpu: '1' } }, { requests: { cpu: '2' } }, false],
    ['a request more', { requests: { cpu: '1' } }, { requests: { cpu: '1', memory: '1' } }, false],
    ['another resource', { requests: { cpu: '1' } }, { requests: { memory: '1' } }, false],
    ['limits that are requests', { limits: { cpu: '1' } }, { requests: { cpu: '1' } }, false],
    ['another claim', { claims: [{ name: 'a' }] }, { claims: [{ name: 'b' }] }, false],
    ['a claim more', { claims: [{ name: 'a' }] }, undefined, false],
    ['zero is an amount', { limits: { cpu: '0' } }, {}, false],
  ])('%s', (_, a, b, expected) => {
    expect([areResourcesEqual(a, b), areResourcesEqual(b, a)]).toEqual([expected, expected]);
  });
});

describe('an update of the spec is a resize', () => {
  const requests = (cpu: string): Requirements => ({ requests: { cpu } });
  const withSpec = ([pod, init, app]: readonly [string, string, string]): Pod => ({
    spec: {
      resources: requests(pod),
      initContainers: [{ name: 'init', resources: requests(init) }],
      containers: [{ name: 'first' }, { name: 'app', resources: requests(app) }],
    },
  });
  const before = withSpec(['1', '1', '1']);

  it.each<[string, Pod, boolean]>([
    ['not if nothing differs', withSpec(['1', '1', '1000m']), false],
    ['if the pod requests something else', withSpec(['2', '1', '1']), true],
    ['if an init container does', withSpec(['1', '2', '1']), true],
    ['if a container does', withSpec(['1', '1', '2']), true],
    ['if the pod has no more resources', { spec: { ...before.spec, resources: undefined } }, true],
  ])('%s', (_, after, expected) => expect(wantsOtherResources(before, after)).toBe(expected));

  it('not if there is no spec', () => expect(wantsOtherResources({}, {})).toBe(false));
});

describe('actual requests shrink', () => {
  type Shown = Readonly<Record<string, string>>;
  const withStatus = (app: Shown, sidecar: Shown = {}): Pod => ({
    status: {
      containerStatuses: [{ name: 'app', resources: { requests: app } }],
      initContainerStatuses: [{ name: 'sidecar', resources: { requests: sidecar } }],
    },
  });
  it.each<[string, Pod, Pod, boolean]>([
    ['if a container has less cpu', withStatus({ cpu: '2' }), withStatus({ cpu: '1' }), true],
    [
      'if a container has less memory, and more cpu',
      withStatus({ cpu: '1', memory: '2' }),
      withStatus({ cpu: '2', memory: '1' }),
      true,
    ],
    ['if a sidecar has less', withStatus({ cpu: '1' }, { cpu: '2' }), withStatus({ cpu: '1' }, { cpu: '1' }), true],
    ['not if both have the same', withStatus({ cpu: '1' }), withStatus({ cpu: '1000m' }), false],
    ['not if a container has more', withStatus({ cpu: '1' }), withStatus({ cpu: '2' }), false],
    ['not if no status shows them', {}, {}, false],
  ])('%s', (_, before, after, expected) => expect(doActualRequestsShrink(before, after)).toBe(expected));
});

describe('the message of an event about a resize', () => {
  it('has the requested resources of all containers as JSON, and the error', () => {
    const resources = { requests: { cpu: '1' }, limits: { cpu: '2' }, claims: [{ name: 'gpu' }] };
    const pod: Pod = {
      spec: { initContainers: [{ name: 'init', resources }], containers: [{ name: 'app', image: 'app:1' }] },
    };
    expect(resizeMessage('Pod resize Deferred', pod, 3, 'no room')).toBe(
      'Pod resize Deferred: {"initContainers":[{"name":"init","resources":{"limits":{"cpu":"2"},"requests":{"cpu":"1"},' +
        '"claims":[{"name":"gpu"}]}}],"containers":[{"name":"app","resources":{}}],"generation":3,"error":"no room"}',
    );
  });

  it('leaves out what there is none of', () => {
    expect(resizeMessage('Pod resize started', { spec: { initContainers: [], containers: [] } }, 1)).toBe(
      'Pod resize started: {"generation":1}',
    );
    expect(resizeMessage('Pod resize started', {}, 1)).toBe('Pod resize started: {"generation":1}');
  });
});
