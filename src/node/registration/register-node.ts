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

type Labels = Readonly<Record<string, string>>;

/**
 * Creates the Node, or adopts the existing one: its default labels are updated and `keptLabels` added,
 * and `adoptNode` decides about the rest. Rejects with the first error. Source: kubelet `tryRegisterWithAPIServer`.
 */
export async function registerNode(
  client: NodeClient,
  options: NodeReporterOptions,
  status: NodeStatus,
  keptLabels: Labels = {},
): Promise<Node> {
  const initial = initialNode({ ...options, labels: { ...options.labels, ...keptLabels } }, status);
  let refusal: unknown;
  try {
    return await client.createNode(initial);
  } catch (error) {
    // A node that is not allowed to create its Node may still have one.
    if (!isResponse(error, 409) && !isResponse(error, 403)) throw error;
    refusal = error;
  }
  let node = await client.getNode().catch((error: unknown) => {
    // Why there is no Node.
    throw isResponse(error, 404) ? refusal : error;
  });
  const patch = options.adoptNode?.(node);
  if (patch !== undefined) node = await client.patchNode(patch);
  const labels = changedLabels(initial, node, [...defaultLabels, ...Object.keys(keptLabels)]);
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
function changedLabels(initial: Node, existing: Node, names: readonly string[]): Record<string, string | null> {
  const changed: Record<string, string | null> = {};
  for (const label of names) {
    const value = initial.metadata.labels?.[label];
    const old = existing.metadata.labels?.[label];
    if (value === undefined || value === (old ?? '')) continue;
    changed[label] = value === '' ? null : value;
  }
  return changed;
}

/**
 * Labels of the platform, and kept ones, that somebody has removed or changed; undefined if there are none.
 * Source: kubelet `updateNode`.
 */
export function missingLabels(
  { nodeName, labels }: NodeReporterOptions,
  { metadata, status }: Node,
  keptLabels: Labels = {},
): Labels | undefined {
  const wanted: Labels = { ...defaultNodeLabels(nodeName, status?.nodeInfo), ...labels, ...keptLabels };
  const missing = ['kubernetes.io/os', 'kubernetes.io/arch', ...Object.keys(keptLabels)].filter(
    (label) => wanted[label] !== '' && metadata.labels?.[label] !== wanted[label],
  );
  if (missing.length === 0) return undefined;
  return Object.fromEntries(missing.map((label) => [label, wanted[label]!]));
}
