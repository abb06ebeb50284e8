import type { Container, EphemeralContainer } from '../../kube/types.ts';
import type { EnvironmentVariable, RunContainerOptions } from './run-container-options.ts';

/**
 * `$(NAME)` is the variable's value and `$$` is `$`; a name without a value stays as it is.
 * Source: kubelet `expansion.Expand`.
 */
export function expandReferences(text: string, valueOf: (name: string) => string | undefined): string {
  return text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (syntax, name?: string) =>
    name === undefined ? '$' : (valueOf(name) ?? syntax),
  );
}

/** Source: kubelet `kubecontainer.ExpandContainerCommandAndArgs`. */
export function expandContainerCommandAndArgs(
  { command = [], args = [] }: Container | EphemeralContainer,
  envs: readonly EnvironmentVariable[],
): Pick<RunContainerOptions, 'command' | 'args'> {
  const values = new Map(envs.map(({ name, value }) => [name, value]));
  const expand = (text: string): string => expandReferences(text, (name) => values.get(name));
  return { command: command.map(expand), args: args.map(expand) };
}
