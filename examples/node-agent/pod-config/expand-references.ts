/**
 * The text with each `$(NAME)` replaced by the value of the variable. Unknown ones stay as they are,
 * and `$$` becomes one `$`. Source: `k8s.io/kubernetes/third_party/forked/golang/expansion`.
 */
export function expandReferences(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$(?:\$|\(([^)]*)\))/g, (reference, name?: string) =>
    name === undefined ? '$' : (values.get(name) ?? reference),
  );
}
