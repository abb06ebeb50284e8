import { type Bounded, type BoundedMethods, boundedPort } from '../../shared/bounded-port.ts';
import type { Clock } from '../../shared/clock.ts';
import type { ValidPod } from '../../kube/objects/types.ts';
import type { CallOptions, InPodScope } from '../../node/index.ts';
import type { VolumeManager } from './volume-manager.ts';

/** The volume manager that all parts of the agent get. */
export type BoundedVolumeManager = Bounded<
  Omit<VolumeManager, 'waitForAttachAndMount'> & {
    waitForAttachAndMount(pod: ValidPod, options: CallOptions & InPodScope): Promise<void>;
  }
>;

/** Source: kubelet `podAttachAndMountTimeout`. */
const timeoutMs = 123_000;
/** Long, because nothing waits for it and millions of files take minutes. The next call removes the rest. */
const cleanUpTimeoutMs = 600_000;
/** Short, because it resolves soon with what it knows. */
const statsTimeoutMs = 10_000;

const methods: BoundedMethods<VolumeManager> = {
  waitForAttachAndMount: { parameters: 2, isInTurn: true },
  waitForUnmount: { parameters: 2 },
  cleanupOrphanedPodDirs: { parameters: 2, timeoutMs: () => cleanUpTimeoutMs },
  getPodVolumeStats: { parameters: 2, timeoutMs: () => statsTimeoutMs },
};

/** The same volume manager with a time-out for each call. */
export function boundedVolumeManager(
  volumeManager: VolumeManager,
  { clock, signal }: { readonly clock: Pick<Clock, 'afterFunc'>; readonly signal: AbortSignal },
): BoundedVolumeManager {
  return boundedPort(volumeManager, { name: 'the volume manager', methods, clock, timeoutMs, signal });
}
