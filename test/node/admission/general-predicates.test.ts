import { describe, expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import type { Node } from 'kubelet-status-manager/agent';
import { insufficientResources, withoutMissingExtendedResources } from '../../../src/node/admission/fits-resources.ts';
import { generalPredicates, matchesNodeAffinity } from '../../../src/node/admission/general-predicates.ts';
import type { PredicateFailure } from '../../../src/node/admission/predicate-failure.ts';

type Requests = Readonly<Record<string, string>>;

const resourcePod = (...requests: Requests[]): Pod => ({
  spec: { containers: requests.map((one, i) => ({ name: `c${i}`, resources: { requests: one } })) },
});
const portPod = (...ports: { hostPort: number; hostIP?: string; protocol?: string }[]): Pod => ({
  spec: { containers: [{ name: 'app', ports: ports.map((port) => ({ containerPort: 80, ...port })) }] },
});
const specPod = (spec: object, isStatic = false): Pod => ({
  metadata: isStatic ? { annotations: { 'kubernetes.io/config.source': 'file' } } : {},
  spec,
});
const nodeOf = (node: { labels?: Record<string, string>; taints?: object[]; allocatable?: Requests } = {}): Node => ({
  metadata: { name: 'machine1', labels: node.labels ?? {} },
  spec: { taints: (node.taints ?? []) as never },
  status: { allocatable: node.allocatable ?? { cpu: '10m', memory: '20', pods: '32', 'ephemeral-storage': '0' } },
});
const requiresFoo = {
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'foo', operator: 'Exists' }] }],
      },
    },
  },
};
const lacks = (resource: string, requested: number, used: number, capacity: number): PredicateFailure => ({
  ...({ kind: 'InsufficientResource' } as const),
  ...{ resource, requested, used, capacity },
});
const fails = (name: string): object => expect.objectContaining({ kind: 'Predicate', name });

describe('TestGeneralPredicates: generalPredicates', () => {
  const noExecute = { key: 'bar', effect: 'NoExecute' };
  const noSchedule = { key: 'foo', effect: 'NoSchedule' };
  it.each<[string, Pod, Pod[], Node, unknown[]]>([
    ['no resources/port/host requested always fits', {}, [resourcePod({ cpu: '9m', memory: '19' })], nodeOf(), []],
    [
      'not enough cpu and memory resource',
      resourcePod({ cpu: '8m', memory: '10' }),
      [resourcePod({ cpu: '5m', memory: '19' })],
      nodeOf(),
      [lacks('cpu', 8, 5, 10), lacks('memory', 10, 19, 20)],
    ],
    [
      'cpu, memory and ephemeral storage are checked in this order, whatever the order of the requests',
      resourcePod({ 'ephemeral-storage': '1', memory: '21', cpu: '11m' }),
      [],
      nodeOf(),
      [lacks('cpu', 11, 0, 10), lacks('memory', 21, 0, 20), lacks('ephemeral-storage', 1, 0, 0)],
    ],
    ['host not match', specPod({ nodeName: 'machine2' }), [], nodeOf(), [fails('NodeName')]],
    ['hostport conflict', portPod({ hostPort: 123 }), [portPod({ hostPort: 123 })], nodeOf(), [fails('NodePorts')]],
    [
      'taint/toleration match',
      specPod({ tolerations: [{ key: 'foo' }, { key: 'bar' }] }),
      [],
      nodeOf({ taints: [noSchedule, noExecute] }),
      [],
    ],
    ['NoSchedule taint/toleration not match', {}, [], nodeOf({ taints: [noSchedule] }), []],
    ['NoExecute taint/toleration not match', {}, [], nodeOf({ taints: [noExecute] }), [fails('TaintToleration')]],
    [
      'PreferNoSchedule taint/toleration not match',
      ...([{}, [], nodeOf({ taints: [{ key: 'baz', effect: 'PreferNoSchedule' }] }), []] as const),
    ] as never,
    ['static pods ignore taints', specPod({}, true), [], nodeOf({ taints: [noSchedule, noExecute] }), []],
    ['node affinity failure', specPod(requiresFoo, true), [], nodeOf(), [fails('NodeAffinity')]],
    [
      "node affinity failure on cached node and node name doesn't match",
      specPod({ ...requiresFoo, nodeName: 'some-node-name' }, true),
      [],
      nodeOf(),
      [fails('NodeAffinity'), fails('NodeName')],
    ],
    [
      'node affinity failure on fresh node, but not the cached one',
      specPod(requiresFoo, true),
      [],
      nodeOf({ labels: { foo: 'bar' } }),
      [],
    ],
  ])('%s', (_name, pod, otherPods, node, expected) => {
    expect(generalPredicates(pod, otherPods, { nodeName: 'machine1', node })).toEqual(expected);
  });

  it('without a Node, only the node name and the host ports are checked', () => {
    const pod = specPod({
      ...requiresFoo,
      nodeName: 'machine2',
      containers: [{ name: 'app', resources: { requests: { cpu: '99' } } }],
    });
    expect(generalPredicates(pod, [], { nodeName: 'machine1', node: undefined })).toEqual([fails('NodeName')]);
  });

  it.each([
    ['other protocols', { protocol: 'UDP' }, true],
    ['other addresses', { hostIP: '10.0.0.2' }, true],
    ['all addresses', { hostIP: '0.0.0.0' }, false],
    ['another port', { hostPort: 81 }, true],
  ])('host ports: %s', (_name, other, fits) => {
    const [pod, otherPod] = [portPod({ hostPort: 80, hostIP: '10.0.0.1' }), portPod({ hostPort: 80, ...other })];
    expect(generalPredicates(pod, [otherPod], { nodeName: 'machine1', node: nodeOf() }).length === 0).toBe(fits);
  });

  it('a sidecar keeps its host ports, an init container does not', () => {
    const initPod = (restartPolicy?: string): Pod =>
      specPod({ containers: [], initContainers: [{ name: 'init', restartPolicy, ports: [{ hostPort: 80 }] }] });
    const conflicts = (pod: Pod): number =>
      generalPredicates(portPod({ hostPort: 80 }), [pod], { nodeName: 'machine1', node: nodeOf() }).length;
    expect([conflicts(initPod('Always')), conflicts(initPod())]).toEqual([1, 0]);
  });
});

describe('insufficientResources', () => {
  it('the number of pods is limited', () => {
    const node = nodeOf({ allocatable: { pods: '2' } });
    expect(insufficientResources({}, [{}], node)).toEqual([]);
    expect(insufficientResources({}, [{}, {}], node)).toEqual([lacks('pods', 1, 2, 2)]);
  });

  it('cpu, memory, ephemeral storage and pods are unlimited if the Node does not list them; huge pages are not', () => {
    const requests = { cpu: '100', memory: '1Ti', 'ephemeral-storage': '1Ti', 'hugepages-2Mi': '4Mi' };
    const node = nodeOf({ allocatable: {} });
    expect(insufficientResources(resourcePod(requests), [], node)).toEqual([lacks('hugepages-2Mi', 4_194_304, 0, 0)]);
  });

  it('a pod whose containers still have more than they are allocated uses the larger amount', () => {
    const shrinking: Pod = { ...resourcePod({ cpu: '2m' }), status: { resources: { requests: { cpu: '8m' } } } };
    expect(insufficientResources(resourcePod({ cpu: '5m' }), [shrinking], nodeOf())).toEqual([lacks('cpu', 5, 8, 10)]);
  });
});

describe('TestRemoveMissingExtendedResources: withoutMissingExtendedResources', () => {
  const resource = 'foo.com/bar';
  const deviceClass = 'deviceclass.resource.kubernetes.io/bar';
  const podOf = (requests: Requests, claimed?: string): Pod => {
    const containers = [{ name: 'test-container', resources: { requests } }];
    const requestMappings = [{ containerName: 'test-container', resourceName: claimed ?? '', requestName: 'r' }];
    return {
      spec: { containers, initContainers: containers },
      ...(claimed !== undefined && {
        status: { extendedResourceClaimStatus: { requestMappings, resourceClaimName: 'c' } },
      }),
    };
  };
  it.each<[string, Pod, string[], Requests]>([
    ['requests in Limits should be ignored', podOf({}), ['foo.com/baz'], {}],
    [
      'requests for resources available in node should not be removed',
      podOf({ [resource]: '1' }),
      [resource],
      { [resource]: '1' },
    ],
    ['requests for resources unavailable in node should be removed', podOf({ [resource]: '1' }), ['foo.com/baz'], {}],
    [
      'requests for extended resources with Allocatable 0 should not be removed',
      podOf({ [resource]: '1' }),
      [resource],
      { [resource]: '1' },
    ],
    [
      'requests for extended resources that are not available in node should be removed',
      podOf({ [resource]: '1' }),
      [],
      {},
    ],
    [
      'request for extended resource backed by DRA should be removed if Allocatable is 0',
      podOf({ [resource]: '1' }, resource),
      [resource],
      {},
    ],
    [
      'request for extended resource backed by DRA should be removed if Allocatable is absent',
      podOf({ [resource]: '1' }, resource),
      [],
      {},
    ],
    [
      'request for implicit extended resource backed by DRA should be removed',
      podOf({ [deviceClass]: '1' }, deviceClass),
      [],
      {},
    ],
  ])('%s', (_name, pod, allocatable, expected) => {
    const { containers, initContainers } = withoutMissingExtendedResources(pod, new Set(allocatable)).spec ?? {};
    expect(containers?.[0]?.resources?.requests).toEqual(expected);
    expect(initContainers?.[0]?.resources?.requests).toEqual(expected);
  });
});

describe('matchesNodeAffinity', () => {
  const node = nodeOf({ labels: { zone: 'a', size: '10' } });
  const requires = (...terms: object[]): Pod =>
    specPod({
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } },
      },
    });
  const label = (key: string, operator: string, ...values: string[]): object => ({
    matchExpressions: [{ key, operator, values }],
  });
  const field = (operator: string, ...values: string[]): object => ({
    matchFields: [{ key: 'metadata.name', operator, values }],
  });
  it.each<[string, Pod, boolean]>([
    ['a nodeSelector that matches', specPod({ nodeSelector: { zone: 'a' } }), true],
    ['a nodeSelector with another value', specPod({ nodeSelector: { zone: 'a', size: '1' } }), false],
    ['In', requires(label('zone', 'In', 'b', 'a')), true],
    ['In without the label', requires(label('rack', 'In', 'a')), false],
    ['NotIn', requires(label('zone', 'NotIn', 'a')), false],
    ['NotIn without the label', requires(label('rack', 'NotIn', 'a')), true],
    ['DoesNotExist', requires(label('rack', 'DoesNotExist')), true],
    ['Gt', requires(label('size', 'Gt', '9')), true],
    ['Lt', requires(label('size', 'Lt', '9')), false],
    ['Gt of a text', requires(label('zone', 'Gt', '9')), false],
    ['an unknown operator', requires(label('zone', 'Like', 'a')), false],
    ['the name of the Node', requires(field('In', 'machine1')), true],
    ['not the name of the Node', requires(field('NotIn', 'machine1')), false],
    ['one of several terms', requires(label('zone', 'In', 'b'), label('zone', 'In', 'a')), true],
    ['both requirements of a term', requires({ ...label('zone', 'In', 'a'), ...field('In', 'machine2') }), false],
    ['an empty term', requires({}), false],
    ['no terms', requires(), false],
  ])('%s', (_name, pod, expected) => {
    expect(matchesNodeAffinity(pod, node)).toBe(expected);
  });
});
