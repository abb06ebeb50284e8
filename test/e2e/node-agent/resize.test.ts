import { it } from 'vitest';
import { compareQuantities } from '../../../src/kube/objects/quantity.ts';
import type { NodeAgentNode, NodeAgentOptions, PodAdmitAttributes } from 'kubelet-status-manager/agent';
import { uniqueName } from '../../contract/pod-api.ts';
import { expectLife } from './expect-life.ts';
import { describeOnServers } from './on-servers.ts';

const cpuOf = (pod: PodAdmitAttributes['pod']): string =>
  pod.spec?.containers?.[0]?.resources?.requests?.['cpu'] ?? '0';
const compareCpu = (pod: PodAdmitAttributes['pod'], cpu: string): number => compareQuantities(cpuOf(pod), cpu) ?? 0;

/** One pod of a time may have more than 1 CPU, and none more than 4. */
const canAdmitPod: NodeAgentOptions['canAdmitPod'] = ({ pod, otherPods }) => {
  if (compareCpu(pod, '4') > 0) return { admit: false, reason: 'Infeasible', message: 'too large' };
  const isLarge = (other: PodAdmitAttributes['pod']): boolean => compareCpu(other, '1') > 0;
  return isLarge(pod) && otherPods.some(isLarge)
    ? { admit: false, reason: 'Deferred', message: 'no room' }
    : { admit: true };
};
const specOf = (cpu: string) => ({
  containers: [{ name: 'app', image: 'app:1', resources: { requests: { cpu } } }],
});

/** The API server refuses a resize to more than that. */
const node: NodeAgentNode = { nodeStatus: () => ({ capacity: { cpu: '16', memory: '16Gi', pods: '110' } }) };

describeOnServers(
  'resizes',
  () => ({ canAdmitPod, node }),
  (cluster) => {
    it.concurrent('a deferred resize is applied without a restart when another pod is gone', async (context) => {
      const large = await cluster().create(uniqueName('large'), specOf('3'));
      await large.shows('Running Ready: app running cpu 3');
      const pod = await cluster().create(uniqueName('resized'), specOf('1'));
      const life = [
        'Pending',
        '(Pending: app ContainerCreating)',
        ['Running Ready: app running cpu 1', () => pod.resize('app', { cpu: '2' })],
        ['Running Ready PodResizePending=Deferred: app running cpu 1', () => large.delete()],
        '(Running Ready: app running cpu 1)',
        '(Running Ready PodResizeInProgress: app running cpu 1)',
        ['Running Ready: app running cpu 2', () => pod.delete()],
        '(Running Ready terminating: app running cpu 2)',
        'Failed terminating: app exit 143 cpu 2',
        'gone',
      ] as const;
      await expectLife(pod, life, context);
      context.expect(pod.starts).toEqual({ app: 1 });
      context
        .expect(cluster().runtime.callsOf({ method: 'updateContainerResources', podUID: pod.uid }))
        .toHaveLength(1);
    });

    it.concurrent('an infeasible resize is refused, and a smaller one is applied', async (context) => {
      const pod = await cluster().create(uniqueName('greedy'), specOf('1'));
      const life = [
        'Pending',
        '(Pending: app ContainerCreating)',
        ['Running Ready: app running cpu 1', () => pod.resize('app', { cpu: '8' })],
        ['Running Ready PodResizePending=Infeasible: app running cpu 1', () => pod.resize('app', { cpu: '500m' })],
        '(Running Ready: app running cpu 1)',
        '(Running Ready PodResizeInProgress: app running cpu 1)',
        ['Running Ready: app running cpu 500m', () => pod.delete()],
        '(Running Ready terminating: app running cpu 500m)',
        'Failed terminating: app exit 143 cpu 500m',
        'gone',
      ] as const;
      await expectLife(pod, life, context);
      context.expect(pod.starts).toEqual({ app: 1 });
    });
  },
  ['resize-subresource'],
);
