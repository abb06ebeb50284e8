import { aBoolean, oneOf, type OptionChecks, optional } from '../../shared/option-checks.ts';

/**
 * The parts of a pod's spec that a provider implements. A pod that needs anything else is refused, or has an Event: see
 * `VirtualNodesOptions.undeclared`.
 */
export interface ProviderCapabilities {
  /** Init containers run one after the other, before the others, and are reported. Default: false. */
  readonly initContainers?: boolean | undefined;
  /** Init containers with the restartPolicy Always run beside the others, and are reported. Default: false. */
  readonly sidecars?: boolean | undefined;
  /**
   * Who runs start-up, liveness and readiness probes. `provider`: the cloud, which reports `started` and `ready`. `node`:
   * the virtual node; this process must reach the addresses of pods. It runs commands with `exec`, and kills a container
   * whose start-up or liveness probe has failed with `killContainer`. Default: nobody does.
   */
  readonly probes?: 'node' | 'provider' | undefined;
  /**
   * Who starts containers again, as the restart policy demands. `provider`: the cloud, each container with its `restartCount`.
   * `node`: once all containers of a pod have ended, the virtual node calls `createPod` with the next `restartCount`, with the
   * back-off of the kubelet. Default: nobody does; a pod with the restartPolicy Always that stops has failed.
   */
  readonly restarts?: 'node' | 'provider' | undefined;
  /** postStart and preStop are run. Default: false. */
  readonly hooks?: boolean | undefined;
  /** Containers may use the network, the processes or the IPC of their host. Default: false. */
  readonly hostNamespaces?: boolean | undefined;
  /**
   * Kinds of volumes that it mounts, such as `emptyDir`. configMap, secret, downwardAPI and projected need not be declared,
   * because `materials()` has their files. Default: none.
   */
  readonly volumes?: readonly string[] | undefined;
}

export const capabilityChecks: OptionChecks<ProviderCapabilities> = {
  initContainers: aBoolean,
  sidecars: aBoolean,
  probes: oneOf('node', 'provider'),
  restarts: oneOf('node', 'provider'),
  hooks: aBoolean,
  hostNamespaces: aBoolean,
  volumes: optional(
    'a list of fields of a volume, such as `emptyDir`',
    (list) => Array.isArray(list) && (list as unknown[]).every((kind) => typeof kind === 'string'),
  ),
};
