import type { Pod, PodClient, PodManager, PodReference } from 'kubelet-status-manager';

/** A client that accepts every patch without storing it, and responds immediately with the pod of the pod manager. */
export function immediateClient(podManager: PodManager & { getPods(): Pod[] }): PodClient {
  let podByName: Map<string, Pod> | undefined;
  const podOf = ({ name }: PodReference): Promise<Pod> => {
    podByName ??= new Map(podManager.getPods().map((pod) => [pod.metadata!.name!, pod]));
    return Promise.resolve(podByName.get(name)!);
  };
  return { getPod: podOf, patchPodStatus: podOf, deletePod: () => Promise.resolve() };
}
