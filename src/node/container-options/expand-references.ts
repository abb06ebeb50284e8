import type { Container, EphemeralContainer } from '../../kube/objects/types.ts';
import { ExpansionLimit } from './expansion-limit.ts';
import type { EnvironmentVariable, RunContainerOptions } from './run-container-options.ts';

/**
 * `$(NAME)` is the variable's value and `$$` is `$`; a name without a value stays as it is.
 * Source: kubelet `expansion.Expand`. @throws ContainerConfigError beyond the limit
 */
export function expandReferences(
  text: string,
  valueOf: (name: string) => string | undefined,
  limit: ExpansionLimit,
): string {
  const expanded: string[] = [];
  const append = (part: string): void => void expanded.push(limit.count(part));
  let position = 0;
  for (let dollar = text.indexOf('$'); dollar !== -1; dollar = text.indexOf('$', position)) {
    append(text.slice(position, dollar));
    const end = text[dollar + 1] === '(' ? text.indexOf(')', dollar) : dollar;
    // Later references are not closed either. Searching for the end of each would take quadratic time.
    if (end === -1) return [...expanded, limit.count(text.slice(dollar).replaceAll('$$', () => '$'))].join('');
    if (end === dollar) {
      append('$');
      position = dollar + (text[dollar + 1] === '$' ? 2 : 1);
    } else {
      position = end + 1;
      append(valueOf(text.slice(dollar + 2, end)) ?? text.slice(dollar, position));
    }
  }
  append(text.slice(position));
  return expanded.join('');
}

/** Source: kubelet `kubecontainer.ExpandContainerCommandAndArgs`. @throws ContainerConfigError */
export function expandContainerCommandAndArgs(
  { command = [], args = [] }: Container | EphemeralContainer,
  envs: readonly EnvironmentVariable[],
): Pick<RunContainerOptions, 'command' | 'args'> {
  const values = new Map(envs.map(({ name, value }) => [name, value]));
  const limit = new ExpansionLimit();
  const expand = (text: string): string => expandReferences(text, (name) => values.get(name), limit);
  return { command: command.map(expand), args: args.map(expand) };
}
