import type { PodStatusInput } from '../../src/index.ts';

/** What the agent sees of a pod with the one container `c`. */
const conditions = (ready: 'True' | 'False'): NonNullable<PodStatusInput['conditions']> => [
  { type: 'PodReadyToStartContainers', status: 'True' },
  { type: 'Initialized', status: 'True' },
  { type: 'Ready', status: ready },
  { type: 'ContainersReady', status: ready },
  { type: 'PodScheduled', status: 'True' },
];

const network = { hostIP: '10.1.0.1', hostIPs: [{ ip: '10.1.0.1' }], podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] };
const container = { name: 'c', image: 'i', imageID: 'sha256:i', restartCount: 0 };

export const CONTAINER_ID = 'test://c';

export const creating: PodStatusInput = {
  phase: 'Pending',
  qosClass: 'BestEffort',
  conditions: conditions('False'),
  containerStatuses: [{ ...container, ready: false, state: { waiting: { reason: 'ContainerCreating' } } }],
};

/** Not ready yet: `setContainerReadiness` makes it so. */
export const running: PodStatusInput = {
  ...network,
  phase: 'Running',
  qosClass: 'BestEffort',
  conditions: conditions('False'),
  containerStatuses: [
    {
      ...container,
      containerID: CONTAINER_ID,
      ready: false,
      started: true,
      state: { running: { startedAt: '2024-01-01T00:00:00Z' } },
    },
  ],
};

/** The container was told to end, and did. */
export const exited: PodStatusInput = {
  ...running,
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
          startedAt: '2024-01-01T00:00:00Z',
          finishedAt: '2024-01-01T00:01:00Z',
        },
      },
    },
  ],
};
