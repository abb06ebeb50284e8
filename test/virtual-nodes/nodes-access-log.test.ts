import { expect, it } from 'vitest';
import { recordingLogger } from 'kubelet-status-manager/testing';
import { NodesAccessLog } from '../../src/virtual-nodes/nodes-access-log.ts';

const nodeNames = Array.from({ length: 50 }, (_, i) => `node-${i}`);

/** Of a service account: the names of the roles, for an API server on which all other permissions are granted. */
async function logged(resourceNames: readonly string[], groups: readonly string[] = []) {
  const logger = recordingLogger();
  const reviews: string[] = [];
  const nodes = { apiGroups: [''], resources: ['nodes', 'nodes/status'], verbs: ['get', 'patch'], resourceNames };
  const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'update'], resourceNames };
  const statuses: Readonly<Record<string, object>> = {
    selfsubjectreviews: { userInfo: { username: 'system:serviceaccount:default:provider', groups } },
    selfsubjectaccessreviews: { allowed: true },
    selfsubjectrulesreviews: { resourceRules: [nodes, leases], incomplete: false },
  };
  const log = new NodesAccessLog({
    requests: {
      request: async (_method, path) => {
        const what = path.split('/').at(-1)!;
        if (what in statuses) reviews.push(what);
        return { json: () => (what in statuses ? { status: statuses[what] } : { items: [] }) };
      },
    },
    ...{ logger, signal: new AbortController().signal, parts: () => ['status-manager', 'node'] },
  });
  for (const nodeName of nodeNames) log.add(nodeName);
  await log.whenLogged();
  const countOf = (what: string): number => reviews.filter((review) => review === what).length;
  return {
    warnings: logger.warnings.map(({ fields }) => fields),
    ofFirst: countOf('selfsubjectaccessreviews'),
    ofOthers: countOf('selfsubjectrulesreviews'),
  };
}

it('a service account whose roles name some of the nodes only: one warning has the others', async () => {
  expect((await logged(nodeNames.slice(0, -2))).warnings).toEqual([
    {
      ...{ user: 'system:serviceaccount:default:provider', nodes: 2, names: ['node-48', 'node-49'] },
      missing: ['get nodes', 'patch nodes', 'patch nodes/status', 'get leases', 'update leases'],
    },
  ]);
});

it('one request checks all nodes of a service account but the first', async () => {
  expect(await logged(nodeNames)).toEqual({ warnings: [], ofFirst: 10, ofOthers: 1 });
});

it('a user who may do everything is not asked for again', async () => {
  expect(await logged([], ['system:masters', 'system:authenticated'])).toEqual({
    ...{ warnings: [], ofFirst: 10, ofOthers: 0 },
  });
});
