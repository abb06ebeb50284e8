import { expect, it } from 'vitest';
import { isHeartbeat } from '../../../src/kube/http/api-path.ts';

it.each<[string, boolean]>([
  ['/api/v1/nodes/node-1', true],
  ['/api/v1/nodes/node-1/status', true],
  ['/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node-1', true],
  ['/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases', true],
  ['/apis/coordination.k8s.io/v1/namespaces/default/leases/leader', true],
  ['/api/v1/nodes', false],
  ['/api/v1/nodes/node-1/proxy', false],
  ['/api/v1/namespaces/default/pods/nodes/status', false],
])('%s is a heartbeat: %s', (path, expected) => {
  expect(isHeartbeat(path)).toBe(expected);
});
