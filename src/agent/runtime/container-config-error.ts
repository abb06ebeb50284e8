/**
 * `createContainer` rejects with this error if the container's spec cannot be satisfied now, for example
 * because a ConfigMap does not exist or the command is missing. The container then waits with the reason
 * `CreateContainerConfigError`, and is tried again. Source: kubelet `ErrCreateContainerConfig`.
 */
export class ContainerConfigError extends Error {
  override readonly name = 'ContainerConfigError';
}
