import { describe, expect, it } from 'vitest';
import type { Pod } from 'kubelet-status-manager';
import type { Node, PodAdmitResult } from 'kubelet-status-manager/agent';
import { PredicateAdmitHandler, unsupportedFeature } from '../../../src/agent/admission/predicate-admit-handler.ts';
import { goPlatform } from '../../../src/agent/node/node-defaults.ts';

const goos = goPlatform().os;
const nodeOf = (status: object = {}): Node => ({
  metadata: { name: 'machine1' },
  status: { allocatable: { cpu: '1' }, ...status },
});
const cpuPod = (cpu: string): Pod => ({ spec: { containers: [{ name: 'app', resources: { requests: { cpu } } }] } });

const labelled = (os: string): Pod => ({ metadata: { labels: { 'kubernetes.io/os': os } } });
const withOS = (name: string): Pod => ({ spec: { os: { name } } });
const strict: Pod = { spec: { securityContext: { supplementalGroupsPolicy: 'Strict' } } };
const reasonOf = (pod: Pod, node: Node | undefined): string | undefined => unsupportedFeature(pod, node)?.reason;

describe('TestRejectPodAdmissionBasedOnOSSelector', () => {
  it.each<[string, Pod, string | undefined]>([
    ['OS label match', labelled(goos), undefined],
    ["dummyOS label, but the underlying OS doesn't match", labelled('dummyOS'), 'PodOSSelectorNodeLabelDoesNotMatch'],
    ['No label selector on the pod, should be admitted', {}, undefined],
  ])('%s', (_name, pod, reason) => {
    expect([reasonOf(pod, nodeOf()), reasonOf(pod, undefined)]).toEqual([reason, reason]);
  });
});

describe('TestRejectPodAdmissionBasedOnOSField', () => {
  it.each<[string, Pod, string | undefined]>([
    ['OS field match', withOS(goos), undefined],
    ['OS field mismatch', withOS('dummyOS'), 'PodOSNotSupported'],
    ['no OS field', { spec: {} }, undefined],
  ])('%s', (_name, pod, reason) => {
    expect([reasonOf(pod, nodeOf()), reasonOf(pod, undefined)]).toEqual([reason, reason]);
  });

  it('the operating system is the one that the Node reports', () => {
    const node = nodeOf({ nodeInfo: { operatingSystem: 'dummyOS' } });
    expect([reasonOf(withOS('dummyOS'), node), reasonOf(withOS(goos), node)]).toEqual([undefined, 'PodOSNotSupported']);
  });
});

describe('TestPodAdmissionBasedOnSupplementalGroupsPolicy', () => {
  const supported = nodeOf({ features: { supplementalGroupsPolicy: true } });
  it.each<[string, Node, Pod, string | undefined]>([
    [
      'feature=Beta, node=feature not supported, pod=in use: it should REJECT',
      nodeOf(),
      strict,
      'SupplementalGroupsPolicyNotSupported',
    ],
    ['feature=Beta, node=feature supported, pod=in use: it should ADMIT', supported, strict, undefined],
    ['feature=Beta, node=feature not supported, pod=not in use: it should ADMIT', nodeOf(), {}, undefined],
  ])('%s', (_name, node, pod, reason) => {
    expect(reasonOf(pod, node)).toBe(reason);
  });
});

describe('PredicateAdmitHandler', () => {
  const admit = (pod: Pod, otherPods: readonly Pod[], handle?: () => never[]): PodAdmitResult =>
    new PredicateAdmitHandler({
      nodeName: 'machine1',
      getNode: () => nodeOf(),
      criticalPodAdmission: {
        isPreempting: ({ metadata }) => metadata?.uid === 'preempting',
        handleAdmissionFailure: (_pod, _others, failures) => handle?.() ?? failures,
      },
    }).admit({ pod, otherPods, operation: 'add' });

  it('a resource that is missing is the reason, with the amounts in the message', () => {
    expect(admit(cpuPod('600m'), [cpuPod('0.5')])).toEqual({
      admit: false,
      reason: 'OutOfcpu',
      message: "Node didn't have enough resource: cpu, requested: 600, used: 500, capacity: 1000",
    });
  });

  it('another failure has the name of the predicate as its reason', () => {
    expect(admit({ spec: { nodeSelector: { a: 'b' } } }, [])).toEqual({
      admit: false,
      reason: 'NodeAffinity',
      message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    });
  });

  it('the requests of pods that are being preempted do not count', () => {
    expect(admit(cpuPod('600m'), [{ ...cpuPod('0.5'), metadata: { uid: 'preempting' } }])).toEqual({ admit: true });
  });

  it('a critical pod is admitted when others could be preempted, and refused with the error when not', () => {
    expect(admit(cpuPod('2'), [], () => [])).toEqual({ admit: true });
    const fail = (): never => {
      throw new Error('preemption: none');
    };
    expect(admit(cpuPod('2'), [], fail)).toEqual({
      admit: false,
      reason: 'UnexpectedAdmissionError',
      message: 'Unexpected error while attempting to recover from admission failure: preemption: none',
    });
  });
});
