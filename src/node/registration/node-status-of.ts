import type { NodeStatus } from './node-types.ts';
import type { NodeAgentNode } from '../node-options.ts';

/** What the status of a Node contains in addition to its options. */
export interface NodeStatusFacts {
  /** Default: the Node has none. */
  readonly hostname?: string | undefined;
  readonly kubeletPort?: number | undefined;
  /** Declared in addition to those of `nodeStatus`. */
  readonly features: readonly string[];
}

/** The status of the Node by its options. */
export async function nodeStatusOf(
  { addresses, nodeStatus }: Pick<NodeAgentNode, 'addresses' | 'nodeStatus'>,
  { hostname, kubeletPort, features }: NodeStatusFacts,
): Promise<NodeStatus> {
  const own = addresses && [
    ...addresses.map((address) => ({ type: 'InternalIP', address })),
    ...(hostname === undefined ? [] : [{ type: 'Hostname', address: hostname }]),
  ];
  const daemonEndpoints = kubeletPort !== undefined && { kubeletEndpoint: { Port: kubeletPort } };
  const status = await nodeStatus?.();
  return {
    ...(own && { addresses: own }),
    ...(daemonEndpoints && { daemonEndpoints }),
    ...status,
    ...(features.length > 0 && { declaredFeatures: [...(status?.declaredFeatures ?? []), ...features] }),
  };
}
