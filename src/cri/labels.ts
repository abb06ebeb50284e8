import type { KubeObject } from '../kube/objects/kube-object.ts';
import type { Pod, ValidPod } from '../kube/objects/types.ts';

/*
 * The kubelet's names, labels and annotations of sandboxes and containers. With them, a kubelet and this runtime can
 * adopt each other's sandboxes and containers. Source: kubelet `kuberuntime/labels.go`, `pkg/kubelet/types`.
 */

export const podNameLabel = 'io.kubernetes.pod.name';
export const podNamespaceLabel = 'io.kubernetes.pod.namespace';
export const podUIDLabel = 'io.kubernetes.pod.uid';
export const containerNameLabel = 'io.kubernetes.container.name';

export const hashAnnotation = 'io.kubernetes.container.hash';
export const restartCountAnnotation = 'io.kubernetes.container.restartCount';
export const terminationMessagePathAnnotation = 'io.kubernetes.container.terminationMessagePath';
export const terminationMessagePolicyAnnotation = 'io.kubernetes.container.terminationMessagePolicy';
const podDeletionGracePeriodAnnotation = 'io.kubernetes.pod.deletionGracePeriod';
const podTerminationGracePeriodAnnotation = 'io.kubernetes.pod.terminationGracePeriod';
const preStopHandlerAnnotation = 'io.kubernetes.container.preStopHandler';
const portsAnnotation = 'io.kubernetes.container.ports';

type Strings = Readonly<Record<string, string>>;

/** Labels of a sandbox. Source: kubelet `newPodLabels`. */
export function newPodLabels({ metadata: { labels, name, namespace, uid } }: ValidPod): Strings {
  return { ...labels, [podNameLabel]: name, [podNamespaceLabel]: namespace, [podUIDLabel]: uid };
}

/** Labels of a container. Source: kubelet `newContainerLabels`. */
export function newContainerLabels(
  { metadata: { name, namespace, uid } }: ValidPod,
  container: KubeObject<'Container'>,
): Strings {
  return {
    [podNameLabel]: name,
    [podNamespaceLabel]: namespace,
    [podUIDLabel]: uid,
    [containerNameLabel]: container.name,
  };
}

/** Annotations of a container. Source: kubelet `newContainerAnnotations`. */
export function newContainerAnnotations(
  { metadata, spec }: Pod,
  { terminationMessagePath = '', terminationMessagePolicy = '', lifecycle, ports = [] }: KubeObject<'Container'>,
  run: { readonly attempt: number; readonly hash: string },
): Strings {
  const deletionGracePeriod = metadata?.deletionGracePeriodSeconds;
  const terminationGracePeriod = spec?.terminationGracePeriodSeconds;
  const preStop = lifecycle?.preStop;
  return {
    [hashAnnotation]: run.hash,
    [restartCountAnnotation]: String(run.attempt),
    [terminationMessagePathAnnotation]: terminationMessagePath,
    [terminationMessagePolicyAnnotation]: terminationMessagePolicy,
    ...(deletionGracePeriod != null && { [podDeletionGracePeriodAnnotation]: String(deletionGracePeriod) }),
    ...(terminationGracePeriod != null && { [podTerminationGracePeriodAnnotation]: String(terminationGracePeriod) }),
    ...(preStop != null && { [preStopHandlerAnnotation]: JSON.stringify(preStop) }),
    ...(ports.length > 0 && { [portsAnnotation]: JSON.stringify(ports) }),
  };
}

/** The folder of a pod's logs below the root of all logs. Source: kubelet `BuildPodLogsDirectory`. */
export function podLogsDirectoryName({ metadata: { name, namespace, uid } }: ValidPod): string {
  return `${namespace}_${name}_${uid}`;
}
