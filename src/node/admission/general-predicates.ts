import { type KubeObject, podSpecOf } from '../../kube/objects/kube-object.ts';
import type { Pod } from '../../kube/objects/types.ts';
import { isStaticPod } from '../../kube/pods/static-pods.ts';
import { isRestartableInitContainer } from '../../status-manager/status/container-restart.ts';
import type { Node } from '../registration/node-types.ts';
import { toleratesTaints } from '../registration/tolerates-taints.ts';
import { insufficientResources } from './fits-resources.ts';
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
  // As in the kubelet: other effects matter to the scheduler only.
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

/**
 * True when the Node matches the `nodeSelector` and the required node affinity of the pod. Source: component-helpers
 * `GetRequiredNodeAffinity`.
 */
export function matchesNodeAffinity(pod: Pod, { metadata: { name, labels = {} } }: Node): boolean {
  const { nodeSelector, affinity } = podSpecOf(pod);
  if (Object.entries(nodeSelector ?? {}).some(([key, value]) => labels[key] !== value)) return false;
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (required == null) return true;
  return (required.nodeSelectorTerms ?? []).some((term) => matchesTerm(term, labels, name));
}

/** A term without requirements matches nothing. */
function matchesTerm(
  { matchExpressions, matchFields }: KubeObject<'NodeSelectorTerm'>,
  labels: Readonly<Record<string, string>>,
  nodeName: string,
): boolean {
  const expressions = matchExpressions ?? [];
  const fields = matchFields ?? [];
  if (expressions.length + fields.length === 0) return false;
  return (
    expressions.every((requirement) => matchesLabels(requirement, labels)) &&
    fields.every((requirement) => matchesField(requirement, nodeName))
  );
}

/** Source: apimachinery `labels.Requirement.Matches`. */
function matchesLabels(
  { key, operator, values }: KubeObject<'NodeSelectorRequirement'>,
  labels: Readonly<Record<string, string>>,
): boolean {
  const label = Object.hasOwn(labels, key) ? labels[key]! : undefined;
  const operands = values ?? [];
  switch (operator) {
    case 'In':
      return label !== undefined && operands.includes(label);
    case 'NotIn':
      return operands.length > 0 && (label === undefined || !operands.includes(label));
    case 'Exists':
      return label !== undefined;
    case 'DoesNotExist':
      return label === undefined;
    case 'Gt':
    case 'Lt': {
      if (label === undefined || operands.length !== 1 || !isInteger(label) || !isInteger(operands[0]!)) return false;
      const [a, b] = [BigInt(label), BigInt(operands[0]!)];
      return operator === 'Gt' ? a > b : a < b;
    }
    default:
      return false;
  }
}

function isInteger(text: string): boolean {
  return /^-?[0-9]+$/.test(text);
}

/** The only field is `metadata.name`. */
function matchesField({ key, operator, values }: KubeObject<'NodeSelectorRequirement'>, nodeName: string): boolean {
  if (values?.length !== 1) return false;
  const isEqual = (key === 'metadata.name' ? nodeName : '') === values[0];
  if (operator === 'In') return isEqual;
  return operator === 'NotIn' && !isEqual;
}
