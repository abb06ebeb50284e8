import type { MachineResources } from '../../src/cri/linux-resources.ts';
import { type KubeObject, podSpecOf } from '../../src/kube/objects/kube-object.ts';
import type { Pod, ValidPod } from '../../src/kube/objects/types.ts';

/** A machine with cgroup v1 and nothing that depends on hardware. */
export const machine: MachineResources = {
  ...{ memoryBytes: 2 ** 30, cpus: 2, hugePageSizes: [], thermalThrottlePaths: [] },
  ...{ hasCgroup2: false, hasSwapController: false, hasSELinux: false },
};

/** The user namespace of a pod that has none of its own. */
export const hostUsers = { mode: 'NODE' } as const;

/** A pod with these fields of its spec, and one container `app` with these fields. */
export function podWith(spec: object = {}, container: object = {}): ValidPod {
  return {
    metadata: { name: 'web', namespace: 'default', uid: 'uid-1', labels: { app: 'web' } },
    spec: { containers: [{ name: 'app', image: 'app:1', ...container }], ...spec },
  };
}

/** The container `app` of such a pod. */
export function appOf(pod: Pod): KubeObject<'Container'> {
  return podSpecOf(pod).containers![0]!;
}
