import { type KubeObject, podSpecOf } from '../../kube/objects/kube-object.ts';
import type { Pod } from '../../kube/objects/types.ts';
import { isStaticPod } from '../../kube/pods/static-pods.ts';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import type { Node } from '../registration/node-types.ts';
import { toleratesTaints } from '../registration/tolerates-taints.ts';
import { insufficientResources } from './fits-resources.ts';
import { matchesNodeAffinity } from './node-affinity.ts';
import type { PredicateFailure } from './predicate-failure.ts';

/**
 * Why the pod does not fit on the Node with the other pods; empty if it fits. Without a Node, checks that need it are
 * skipped. Source: kubelet `generalFilter`, scheduler `AdmissionCheck`.
 */
export function generalPredicates(
  pod: Pod,
  otherPods: readonly Pod[],
  { nodeName, node }: { readonly nodeName: string; readonly node: Node | undefined },
): PredicateFailure[] {
  const wantedName = podSpecOf(pod).nodeName;
  const failures = node ? insufficientResources(pod, otherPods, node) : [];
  const fail = (name: string, description: string): void =>
    void failures.push({ kind: 'Predicate', name, description });
  if (node && !matchesNodeAffinity(pod, node))
    fail('NodeAffinity', "node(s) didn't match Pod's node affinity/selector");
  if (wantedName && wantedName !== nodeName) fail('NodeName', "node(s) didn't match the requested node name");
  if (!areHostPortsFree(pod, otherPods))
    fail('NodePorts', "node(s) didn't have free ports for the requested pod ports");
  // A kubelet considers only these.
  const taints = (node?.spec?.taints ?? []).filter(({ effect }) => effect === 'NoExecute');
  if (!isStaticPod(pod) && !toleratesTaints(pod, taints))
    fail('TaintToleration', "node(s) had taints that the pod didn't tolerate");
  return failures;
}

/** Source: scheduler `nodeports.Fits`. */
function areHostPortsFree(pod: Pod, otherPods: readonly Pod[]): boolean {
  const used = otherPods.flatMap(hostPorts);
  return !hostPorts(pod).some((wanted) => used.some((port) => doPortsConflict(wanted, port)));
}

/** Of containers and sidecars. Source: scheduler `GetHostPorts`. */
function hostPorts(pod: Pod): KubeObject<'ContainerPort'>[] {
  const { containers = [], initContainers = [] } = podSpecOf(pod);
  return [...initContainers.filter(isRestartableInitContainer), ...containers]
    .flatMap(({ ports }) => ports ?? [])
    .filter(({ hostPort = 0 }) => hostPort > 0);
}

const anyAddress = '0.0.0.0';

/** Source: scheduler `HostPortInfo.CheckConflict`. */
function doPortsConflict(a: KubeObject<'ContainerPort'>, b: KubeObject<'ContainerPort'>): boolean {
  if (a.hostPort !== b.hostPort || (a.protocol || 'TCP') !== (b.protocol || 'TCP')) return false;
  const [addressA, addressB] = [a.hostIP || anyAddress, b.hostIP || anyAddress];
  return addressA === addressB || addressA === anyAddress || addressB === anyAddress;
}
