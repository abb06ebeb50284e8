/**
 * Whether the Node authorizer refused a request because it does not know that the object belongs to the node. This
 * happens for a moment after a pod was bound, and until a restarted API server has read all objects.
 * Source: node authorizer `authorizeGet`.
 */
export function isUnrelatedToNode(reason: string): boolean {
  return reason.includes('no relationship found between node');
}
