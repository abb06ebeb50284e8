import type { Pod } from '../../kube/types.ts';
import type { ObjectReference } from './event-recorder.ts';

const containerLists = ['containers', 'initContainers', 'ephemeralContainers'] as const;

/**
 * A reference to the pod, or to one of its containers. A container that is not in the pod's spec
 * is marked as implicit. Source: kubelet `GenerateContainerRef`.
 */
export function podReference({ metadata, spec }: Pod, container?: string): ObjectReference {
  const { name = '', namespace, uid, resourceVersion } = metadata ?? {};
  const list = containerLists.find((list) => spec?.[list]?.some((one) => one.name === container));
  const fieldPath = list === undefined ? `implicitly required container ${container}` : `spec.${list}{${container}}`;
  return {
    kind: 'Pod',
    apiVersion: 'v1',
    namespace,
    name,
    uid,
    ...(resourceVersion && { resourceVersion }),
    ...(container === undefined ? {} : { fieldPath }),
  };
}

/** A reference to the Node; `uid` is absent until the agent knows it. Source: kubelet `nodeRefWithUID`. */
export function nodeReference(nodeName: string, uid: string | undefined): ObjectReference {
  return { kind: 'Node', apiVersion: 'v1', name: nodeName, uid };
}
