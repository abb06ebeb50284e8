import { type RunnableContainer, runnableSpec } from '../../src/cri/pod-spec.ts';
import type { Pod, ValidPod } from '../../src/kube/types.ts';

/** A pod with these fields of its spec, and one container `app` with these fields. */
export function podWith(spec: object = {}, container: object = {}): ValidPod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'uid-1', labels: { app: 'web' } },
    spec: { containers: [{ name: 'app', image: 'app:1', ...container }], ...spec },
  };
}

/** The container `app` of such a pod. */
export function appOf(pod: Pod): RunnableContainer {
  return runnableSpec(pod).containers![0]!;
}
