/**
 * `$(NAME)` is the variable's value and `$$` is `$`; a name without a value stays as it is.
 * Source: kubelet `expansion.Expand`.
 */
export function expandReferences(text: string, valueOf: (name: string) => string | undefined): string {
  return text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (syntax, name?: string) =>
    name === undefined ? '$' : (valueOf(name) ?? syntax),
  );
}
