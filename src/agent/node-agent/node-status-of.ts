import type { NodeStatus } from '../node/node-types.ts';
import type { NodeAgentNode } from './node-agent-options.ts';

/** The status of the Node by its options; `features` are declared in addition to those of `nodeStatus`. */
export async function nodeStatusOf(
  nodeName: string,
  { addresses, nodeStatus }: Pick<NodeAgentNode, 'addresses' | 'nodeStatus'>,
  { kubeletPort, features }: { readonly kubeletPort?: number | undefined; readonly features: readonly string[] },
): Promise<NodeStatus> {
  const own = addresses && [
    ...addresses.map((address) => ({ type: 'InternalIP', address })),
    { type: 'Hostname', address: nodeName },
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
