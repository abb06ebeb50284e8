import type { ContainerStatusInput } from '../../src/status-manager/index.ts';
import type { ObservedPod } from '../../src/status-manager/status/generate.ts';

/* What the agent observes during the lifecycle of a pod whose only container is called `c`. */

export const CONTAINER_ID = 'test://c';

const container: ContainerStatusInput = { name: 'c', image: 'i', imageID: 'sha256:i', restartCount: 0 };
const sandbox: Partial<ObservedPod> = {
  sandboxes: [{ ready: true, network: { ip: '10.0.0.1' } }],
  podIPs: ['10.0.0.1'],
  hostIPs: ['10.1.0.1'],
};
const startedAt = '2024-01-01T00:00:00Z';

export const creating: ObservedPod = {
  hostIPs: ['10.1.0.1'],
  containerStatuses: [{ ...container, ready: false, state: { waiting: { reason: 'ContainerCreating' } } }],
};

/** Not ready yet, until `setContainerReadiness` is called. */
export const running: ObservedPod = {
  ...sandbox,
  containerStatuses: [
    { ...container, containerID: CONTAINER_ID, ready: false, started: true, state: { running: { startedAt } } },
  ],
};

/** The container has terminated after SIGTERM. */
export const exited: ObservedPod = {
  ...sandbox,
  containerStatuses: [
    {
      ...container,
      containerID: CONTAINER_ID,
      ready: false,
      started: false,
      state: {
        terminated: {
          exitCode: 143,
          reason: 'Error',
          containerID: CONTAINER_ID,
          startedAt,
          finishedAt: '2024-01-01T00:01:00Z',
        },
      },
    },
  ],
};
