/** Why a pod does not fit the Node. Source: kubelet `PredicateFailureReason`. */
export type PredicateFailure =
  | {
      readonly kind: 'InsufficientResource';
      readonly resource: string;
      /** In thousandths for cpu, like the next two. */
      readonly requested: number;
      readonly used: number;
      readonly capacity: number;
    }
  | { readonly kind: 'Predicate'; readonly name: string; readonly description: string };

/** The reason and the message of the pod's status. Source: kubelet `predicateAdmitHandler.Admit`. */
export function admissionFailure(failure: PredicateFailure): { readonly reason: string; readonly message: string } {
  if (failure.kind === 'Predicate') {
    const { name, description } = failure;
    return { reason: name, message: `Predicate ${name} failed: ${description}` };
  }
  const { resource, requested, used, capacity } = failure;
  const amounts = `requested: ${requested}, used: ${used}, capacity: ${capacity}`;
  return { reason: `OutOf${resource}`, message: `Node didn't have enough resource: ${resource}, ${amounts}` };
}
