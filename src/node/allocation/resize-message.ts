import type { Container, Pod } from '../../kube/objects/types.ts';

/**
 * The message of an event about a resize: what happened, and the requested resources as JSON.
 * Source: kubelet `podResizeMessage`.
 */
export function resizeMessage(what: string, { spec }: Pod, generation: number, error = ''): string {
  const listed = (containers: readonly Container[] = []): object[] | undefined =>
    containers.length === 0
      ? undefined
      : containers.map(({ name, resources }) => {
          const { limits, requests, claims } = resources ?? {};
          return { name, resources: { limits, requests, claims } };
        });
  const summary = {
    initContainers: listed(spec?.initContainers),
    containers: listed(spec?.containers),
    generation,
    error: error === '' ? undefined : error,
  };
  return `${what}: ${JSON.stringify(summary)}`;
}
