import { describe, expect, it } from 'vitest';
import type { ValidPod } from 'kubelet-status-manager';
import type { Node, PodAdmitResult } from 'kubelet-status-manager/agent';
import { PredicateAdmitHandler, unsupportedFeature } from '../../../src/node/admission/predicate-admit-handler.ts';
import { goPlatform } from '../../../src/node/registration/node-defaults.ts';

const goos = goPlatform().os;
const nodeOf = (status: object = {}): Node => ({
  metadata: { name: 'machine1' },
  status: { allocatable: { cpu: '1' }, ...status },
});
const metadata = { uid: 'uid', name: 'web', namespace: 'ns' };
const cpuPod = (cpu: string): ValidPod => ({
  metadata,
  spec: { containers: [{ name: 'app', resources: { requests: { cpu } } }] },
});

const labelled = (os: string): ValidPod => ({ metadata: { ...metadata, labels: { 'kubernetes.io/os': os } } });
const withOS = (name: string): ValidPod => ({ metadata, spec: { os: { name } } });
const strict: ValidPod = { metadata, spec: { securityContext: { supplementalGroupsPolicy: 'Strict' } } };
const reasonOf = (pod: ValidPod, node: Node | undefined): string | undefined => unsupportedFeature(pod, node)?.reason;

describe('TestRejectPodAdmissionBasedOnOSSelector', () => {
  it.each<[string, ValidPod, string | undefined]>([
    ['OS label match', labelled(goos), undefined],
    ["dummyOS label, but the underlying OS doesn't match", labelled('dummyOS'), 'PodOSSelectorNodeLabelDoesNotMatch'],
    ['No label selector on the pod, should be admitted', { metadata }, undefined],
  ])('%s', (_name, pod, reason) => {
    expect([reasonOf(pod, nodeOf()), reasonOf(pod, undefined)]).toEqual([reason, reason]);
  });
});

describe('TestRejectPodAdmissionBasedOnOSField', () => {
  it.each<[string, ValidPod, string | undefined]>([
    ['OS field match', withOS(goos), undefined],
    ['OS field mismatch', withOS('dummyOS'), 'PodOSNotSupported'],
    ['no OS field', { metadata, spec: {} }, undefined],
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
  it.each<[string, Node, ValidPod, string | undefined]>([
    [
      'feature=Beta, node=feature not supported, pod=in use: it should REJECT',
      nodeOf(),
      strict,
      'SupplementalGroupsPolicyNotSupported',
    ],
    ['feature=Beta, node=feature supported, pod=in use: it should ADMIT', supported, strict, undefined],
    ['feature=Beta, node=feature not supported, pod=not in use: it should ADMIT', nodeOf(), { metadata }, undefined],
  ])('%s', (_name, node, pod, reason) => {
    expect(reasonOf(pod, node)).toBe(reason);
  });
});

describe('PredicateAdmitHandler', () => {
  const admit = (pod: ValidPod, otherPods: readonly ValidPod[], handle?: () => never[]): PodAdmitResult =>
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
    expect(admit({ metadata, spec: { nodeSelector: { a: 'b' } } }, [])).toEqual({
      admit: false,
      reason: 'NodeAffinity',
      message: "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
    });
  });

  it('the requests of pods that are being preempted do not count', () => {
    expect(admit(cpuPod('600m'), [{ ...cpuPod('0.5'), metadata: { ...metadata, uid: 'preempting' } }])).toEqual({
      admit: true,
    });
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
