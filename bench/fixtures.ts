import type { Pod, PodStatusInput, Time } from 'kubelet-status-manager';

/*
 * The pods and statuses of the kubelet's own benchmarks (`kubelet-oracle bench-memory`, `bench-api`):
 * two containers, five conditions, one IP address of the pod and one of the node.
 */

const image = 'registry.example/app:1';
const twoContainers = ['c0', 'c1'];
const conditionTypes = ['PodReadyToStartContainers', 'Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];

/** Pods of one node as a pod manager has them, without a status. */
export function benchPods(count: number): Pod[] {
  return Array.from({ length: count }, (_, i) => {
    const number = String(i).padStart(5, '0');
    return {
      metadata: { name: `bench-${number}`, namespace: 'default', uid: `0000-${number}`, generation: 1 },
      spec: {
        nodeName: 'node-a',
        restartPolicy: 'Always',
        containers: twoContainers.map((name) => ({ name, image })),
      },
    };
  });
}

/**
 * A new status of a running pod; no object in it is shared with an earlier one.
 * @param time called for each time in it: JSON has strings, client-node has `Date`s
 */
export function runningStatus(restartCount: number, time: () => Time, containers = twoContainers): PodStatusInput {
  return {
    phase: 'Running',
    conditions: conditionTypes.map((type) => ({ type, status: 'True', lastTransitionTime: time() })),
    hostIP: '10.0.0.1',
    hostIPs: [{ ip: '10.0.0.1' }],
    podIP: '10.1.0.9',
    podIPs: [{ ip: '10.1.0.9' }],
    startTime: time(),
    qosClass: 'BestEffort',
    containerStatuses: containers.map((name) => ({
      name,
      state: { running: { startedAt: time() } },
      ready: true,
      restartCount,
      image,
      imageID: 'sha256:aaaa',
      containerID: `containerd://${name}`,
      started: true,
    })),
  };
}
