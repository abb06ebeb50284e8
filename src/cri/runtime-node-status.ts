import type { NodeStatus } from '../node/index.ts';
import type { CRIMessage } from './cri-messages.ts';

/** Source: kubelet `nodeStatusMaxImages`, `MaxNamesPerImageInNodeStatus`. */
const maxImages = 50;
const maxNamesPerImage = 5;

/** The fields of a Node's status that the runtime knows. Source: kubelet `nodestatus`. */
export function nodeStatusOfRuntime(
  version: CRIMessage<'VersionResponse'>,
  { runtime_handlers: handlers, features }: CRIMessage<'StatusResponse'>,
  images: readonly CRIMessage<'Image'>[],
): NodeStatus {
  return {
    nodeInfo: { containerRuntimeVersion: `${version.runtime_name}://${version.runtime_version}` },
    images: images
      // Sorted, because another order from the runtime would change the Node.
      .toSorted((a, b) => b.size - a.size || (a.id < b.id ? 1 : -1))
      .slice(0, maxImages)
      .map(({ repo_digests: digests, repo_tags: tags, size }) => {
        return { names: [...digests, ...tags].slice(0, maxNamesPerImage), sizeBytes: size };
      }),
    ...(handlers.length > 0 && {
      runtimeHandlers: handlers
        .toSorted((a, b) => (a.name < b.name ? -1 : 1))
        .map(({ name, features: supported }) => {
          return {
            name,
            features: {
              recursiveReadOnlyMounts: supported?.recursive_read_only_mounts ?? false,
              userNamespaces: supported?.user_namespaces ?? false,
            },
          };
        }),
    }),
    ...(features && { features: { supplementalGroupsPolicy: features.supplemental_groups_policy } }),
  };
}
