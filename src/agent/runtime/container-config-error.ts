/**
 * `createContainer` rejects with this error if the container's spec cannot be satisfied now, for example
 * because a ConfigMap does not exist or the command is missing. The container then waits with the reason
 * `CreateContainerConfigError`, and is tried again. Source: kubelet `ErrCreateContainerConfig`.
 *
 * @example
 * ```ts
 * import { type ContainerConfig, ContainerConfigError } from 'kubelet-status-manager/agent';
 *
 * function commandOf({ container }: ContainerConfig): readonly string[] {
 *   if (container.command?.length) return container.command;
 *   throw new ContainerConfigError(`Container ${container.name} has no command`);
 * }
 * ```
 */
export class ContainerConfigError extends Error {
  override readonly name = 'ContainerConfigError';
}
