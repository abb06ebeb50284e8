import type { PodSource } from 'kubelet-status-manager/agent';

/** Static pods from a store that is read every 10 seconds. */
export function storeSource(readManifests: () => Promise<object[]>): PodSource {
  let timer: NodeJS.Timeout | undefined;
  return {
    name: 'store',
    start(sink, { staticPods, logger }) {
      const read = async (): Promise<void> => {
        try {
          const manifests = await readManifests();
          if (timer !== undefined) sink(manifests.flatMap((manifest) => staticPods(manifest, 'store')));
        } catch (error) {
          logger.warn({ reason: (error as Error).message }, 'Reading the store failed');
        }
      };
      timer = setInterval(() => void read(), 10_000);
      void read();
    },
    async stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}
