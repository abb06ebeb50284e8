import { describe, expect, it } from 'vitest';
import {
  podResourcesAreReclaimed,
  type NodeResources,
} from '../../../src/status-manager/allocation/pod-resources-reclaimed.ts';
import type { ContainerStatusInput, Pod } from '../../../src/kube/objects/types.ts';
import { running, terminated, waiting } from '../../support/container-statuses.ts';

const pod: Pod = { metadata: { name: 'p', namespace: 'default', uid: 'u' } };
const clean: NodeResources = {
  runtimeContainers: () => [],
  podVolumesExist: () => false,
  podCgroupExists: () => false,
};

describe('podResourcesAreReclaimed', () => {
  const cases: readonly {
    readonly name: string;
    readonly statuses?: readonly ContainerStatusInput[];
    readonly node?: Partial<NodeResources>;
    readonly reason?: string;
  }[] = [
    { name: 'nothing left' },
    { name: 'terminated and waiting containers', statuses: [terminated('a', 1), waiting('b')] },
    {
      name: 'running containers',
      statuses: [running('a'), terminated('b', 0), running('c')],
      reason: 'containers are still running: a, c',
    },
    {
      name: 'a container of which nothing is known',
      statuses: [{ name: 'a', state: {} }],
      reason: 'containers are still running: a',
    },
    {
      name: 'the runtime does not know the pod',
      node: { runtimeContainers: () => undefined },
      reason: 'the container runtime does not respond for the pod',
    },
    {
      name: 'the runtime throws',
      node: {
        runtimeContainers: () => {
          throw new Error('token=secret');
        },
      },
      reason: 'the container runtime does not respond for the pod',
    },
    {
      name: 'dead containers in the runtime',
      node: { runtimeContainers: () => [{ name: 'a' }, { name: 'b' }] },
      reason: 'containers have not been removed from the runtime: a, b',
    },
    { name: 'volumes', node: { podVolumesExist: () => true }, reason: 'volumes have not been taken down' },
    { name: 'volumes that are kept on purpose', node: { podVolumesExist: () => true, keepTerminatedPodVolumes: true } },
    { name: 'the cgroup', node: { podCgroupExists: () => true }, reason: 'the cgroup has not been removed' },
    {
      name: 'the first of several',
      node: { podVolumesExist: () => true, podCgroupExists: () => true },
      reason: 'volumes have not been taken down',
    },
  ];

  it.each(cases)('$name: $reason', ({ statuses, node, reason }) => {
    const status = { containerStatuses: statuses, initContainerStatuses: [running('init containers do not count')] };
    expect(podResourcesAreReclaimed(pod, status, { ...clean, ...node })).toEqual(
      reason === undefined ? { reclaimed: true } : { reclaimed: false, reason },
    );
  });

  it('does not ask for a cgroup on a node without cgroups per QoS class', () => {
    const { podCgroupExists: _, ...withoutCgroups } = clean;
    expect(podResourcesAreReclaimed(pod, {}, withoutCgroups)).toEqual({ reclaimed: true });
  });

  it('asks about the pod it was given', () => {
    const asked: unknown[] = [];
    const record =
      <T>(answer: T) =>
      (of: Pod): T => {
        asked.push(of);
        return answer;
      };
    podResourcesAreReclaimed(
      pod,
      {},
      {
        runtimeContainers: record([]),
        podVolumesExist: record(false),
        podCgroupExists: record(false),
      },
    );
    expect(asked).toEqual([pod, pod, pod]);
  });
});
