/** Compiles, or a manager cannot be faked by hand. Nothing here runs. */
import type { Pod, PodStatus, StatusManager, StatusManagerLike } from '../../src/status-manager/index.ts';
import type { PodStatusProvider } from '../../src/status-manager/status-manager-like.ts';
import type { InformerPodManager } from '../../src/kube/informer/index.ts';

declare const onInformer: StatusManager<InformerPodManager>;

export const like: StatusManagerLike = onInformer;
export const provider: PodStatusProvider = onInformer;

export class FakeManager implements Pick<StatusManagerLike, 'getPodStatus' | 'setPodStatus' | 'terminatePod'> {
  readonly terminated: Pod[] = [];

  getPodStatus(): PodStatus {
    return { phase: 'Running' };
  }

  setPodStatus() {
    return { status: {}, changed: true };
  }

  terminatePod(pod: Pod) {
    this.terminated.push(pod);
    return { status: {}, changed: false, ignored: 'unchanged' } as const;
  }
}
