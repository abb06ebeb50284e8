import type { Container } from '../../kube/types.ts';

/**
 * A command with `$(NAME)` replaced by the values that the container's spec gives its environment
 * variables; a variable with `valueFrom` is empty here. `$$` is a `$`, and an unknown `$(NAME)` stays
 * as it is. Source: kubelet `ExpandContainerCommandOnlyStatic`.
 */
export function expandCommand(command: readonly string[], env: Container['env']): string[] {
  const values = new Map(env?.map(({ name, value = '' }) => [name, value]));
  return command.map((text) =>
    text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (syntax, name?: string) =>
      name === undefined ? '$' : (values.get(name) ?? syntax),
    ),
  );
}
