import { isResponse, type NodeClient } from './node-client.ts';
import { defaultNodeLabels } from './node-defaults.ts';
import type { NodeReporterOptions } from './node-reporter-options.ts';
import type { Node, NodeStatus } from './node-types.ts';

/** The labels that an agent keeps up to date on an existing Node. Source: kubelet `updateDefaultLabels`. */
const defaultLabels = [
  'kubernetes.io/hostname',
  'topology.kubernetes.io/zone',
  'topology.kubernetes.io/region',
  'failure-domain.beta.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region',
  'node.kubernetes.io/instance-type',
  'beta.kubernetes.io/instance-type',
  'kubernetes.io/os',
  'kubernetes.io/arch',
  'node.kubernetes.io/windows-build',
  'beta.kubernetes.io/os',
  'beta.kubernetes.io/arch',
];

/**
 * Creates the Node, or adopts the existing one: its default labels are updated, and `adoptNode` decides
 * about the rest. Rejects with the first error. Source: kubelet `tryRegisterWithAPIServer`.
 */
export async function registerNode(
  client: NodeClient,
  options: NodeReporterOptions,
  status: NodeStatus,
): Promise<Node> {
  const initial = initialNode(options, status);
  try {
    return await client.createNode(initial);
  } catch (error) {
    // A node that is not allowed to create its Node may still have one.
    if (!isResponse(error, 409) && !isResponse(error, 403)) throw error;
  }
  let node = await client.getNode();
  const patch = options.adoptNode?.(node);
  if (patch !== undefined) node = await client.patchNode(patch);
  const labels = changedDefaultLabels(initial, node);
  if (Object.keys(labels).length > 0) node = await client.patchNodeStatus({ metadata: { labels } });
  return node;
}

/** Source: kubelet `initialNode`. */
export function initialNode(
  options: Pick<NodeReporterOptions, 'annotations' | 'labels' | 'nodeName' | 'providerID' | 'taints'>,
  status: NodeStatus,
): Node {
  const { nodeName, labels, annotations, taints, providerID } = options;
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: nodeName, labels: { ...defaultNodeLabels(nodeName, status.nodeInfo), ...labels }, annotations },
    spec: { taints, providerID },
    status,
  };
}

/** The value null removes a label. */
function changedDefaultLabels(initial: Node, existing: Node): Record<string, string | null> {
  const changed: Record<string, string | null> = {};
  for (const label of defaultLabels) {
    const value = initial.metadata.labels?.[label];
    const old = existing.metadata.labels?.[label];
    if (value === undefined || value === (old ?? '')) continue;
    changed[label] = value === '' ? null : value;
  }
  return changed;
}

/**
 * Labels of the platform that somebody has removed or changed; undefined if there are none.
 * Source: kubelet `updateNode`.
 */
export function missingPlatformLabels(
  { nodeName, labels }: NodeReporterOptions,
  { metadata, status }: Node,
): Readonly<Record<string, string>> | undefined {
  const wanted: Readonly<Record<string, string>> = { ...defaultNodeLabels(nodeName, status?.nodeInfo), ...labels };
  const missing = ['kubernetes.io/os', 'kubernetes.io/arch'].filter(
    (label) => wanted[label] !== '' && metadata.labels?.[label] !== wanted[label],
  );
  if (missing.length === 0) return undefined;
  return Object.fromEntries(missing.map((label) => [label, wanted[label]!]));
}
