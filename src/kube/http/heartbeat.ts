/** A node's Lease, and its Node object with its status: kubelet `pkg/kubelet/nodelease` and `updateNodeStatus`. */
const heartbeatPath =
  /^\/api\/v1\/nodes\/[^/]+(\/status)?$|^\/apis\/coordination\.k8s\.io\/[^/]+\/namespaces\/kube-node-lease\/leases(\/|$)/;

/** True for the requests by which the control plane knows that a node is alive. */
export function isHeartbeat(path: string): boolean {
  return heartbeatPath.test(path);
}
