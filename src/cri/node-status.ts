import type { NodeStatus } from '../agent/node/node-types.ts';
import type { CRIMessage } from './cri-messages.ts';

/** Source: kubelet `nodeStatusMaxImages`, `MaxNamesPerImageInNodeStatus`. */
const maxImages = 50;
const maxNamesPerImage = 5;

/** The members of a Node's status that the runtime knows. Source: kubelet `nodestatus`. */
export function nodeStatusOfRuntime(
  version: CRIMessage<'VersionResponse'>,
  { runtime_handlers: handlers, features }: CRIMessage<'StatusResponse'>,
  images: readonly CRIMessage<'Image'>[],
): NodeStatus {
  return {
    nodeInfo: { containerRuntimeVersion: `${version.runtime_name}://${version.runtime_version}` },
    images: images
      .toSorted((a, b) => b.size - a.size)
      .slice(0, maxImages)
      .map(({ repo_digests: digests, repo_tags: tags, size }) => {
        return { names: [...digests, ...tags].slice(0, maxNamesPerImage), sizeBytes: size };
      }),
    ...(handlers.length > 0 && {
      runtimeHandlers: handlers.map(({ name, features: handlerFeatures }) => {
        return {
          name,
          ...(handlerFeatures && {
            features: {
              recursiveReadOnlyMounts: handlerFeatures.recursive_read_only_mounts,
              userNamespaces: handlerFeatures.user_namespaces,
            },
          }),
        };
      }),
    }),
    ...(features && { features: { supplementalGroupsPolicy: features.supplemental_groups_policy } }),
  };
}
