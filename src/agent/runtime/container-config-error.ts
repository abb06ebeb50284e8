/**
 * What `createContainer` rejects with when the container's spec cannot be met as things are: a
 * ConfigMap that does not exist, a command that is missing. The container then waits with the reason
 * `CreateContainerConfigError`, and is tried again. Source: kubelet `ErrCreateContainerConfig`.
 */
export class ContainerConfigError extends Error {
  override readonly name = 'ContainerConfigError';
}
