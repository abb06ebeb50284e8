import type { ContainerStatusInput, PodStatusInput } from '../kube/types.ts';
import { HTTPError } from './http-error.ts';

/** The container run whose log is wanted. Source: kubelet `validateContainerLogStatus`. */
export function containerIDForLogs(
  podName: string,
  status: PodStatusInput,
  containerName: string,
  isPrevious: boolean,
): string {
  const container = `container "${containerName}" in pod "${podName}"`;
  const refuse = (message: string): never => {
    throw new HTTPError(400, message);
  };
  const found = findContainerStatus(status, containerName) ?? refuse(`${container} is not available`);
  const { waiting, running, terminated } = found.state ?? {};
  const lastID = found.lastState?.terminated?.containerID;
  if (isPrevious) return lastID || refuse(`previous terminated ${container} not found`);
  if (running) return found.containerID ?? '';
  // If the next run has not started, `terminated` has no ID.
  if (terminated) return terminated.containerID || lastID || refuse(`${container} is terminated`);
  if (found.lastState?.terminated) return lastID || refuse(`${container} is terminated`);
  if (waiting) {
    if (waiting.reason === 'ErrImagePull') return refuse(`${container} is waiting to start: image can't be pulled`);
    if (waiting.reason === 'ImagePullBackOff')
      return refuse(`${container} is waiting to start: trying and failing to pull image`);
    return refuse(`${container} is waiting to start: ${waiting.reason ?? ''}`);
  }
  return refuse(`${container} is waiting to start - no logs yet`);
}

function findContainerStatus(status: PodStatusInput, name: string): ContainerStatusInput | undefined {
  const { containerStatuses, initContainerStatuses, ephemeralContainerStatuses } = status;
  for (const statuses of [containerStatuses, initContainerStatuses, ephemeralContainerStatuses]) {
    const found = statuses?.find((status) => status.name === name);
    if (found !== undefined) return found;
  }
  return undefined;
}
