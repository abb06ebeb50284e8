import { type KubeObject, podSpecOf } from '../../kube/objects/kube-object.ts';
import type { Pod } from '../../kube/objects/types.ts';
import type { Node } from '../registration/node-types.ts';

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
