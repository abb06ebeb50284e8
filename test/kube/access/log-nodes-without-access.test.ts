import { expect, it } from 'vitest';
import { logNodesWithoutAccess } from '../../../src/kube/access/log-nodes-without-access.ts';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';

const nodes = { verbs: ['get', 'patch'], apiGroups: [''], resources: ['nodes', 'nodes/status'] };
const leases = { verbs: ['get', 'update'], apiGroups: ['coordination.k8s.io'], resources: ['leases'] };

async function warningsFor(response: unknown, nodeNames: readonly string[] = ['n2', 'n3'], isAborted = false) {
  const logger = recordingLogger();
  const requests: unknown[] = [];
  await logNodesWithoutAccess(
    {
      request: async (method, path, { body } = {}) => {
        requests.push({ method, path, body });
        if (response instanceof Error) throw response;
        return { json: () => response };
      },
    },
    {
      ...{ user: 'u', nodeNames, parts: ['status-manager', 'node'], logger },
      signal: isAborted ? AbortSignal.abort() : new AbortController().signal,
    },
  );
  expect(requests).toEqual([
    {
      method: 'POST',
      path: '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews',
      body: {
        ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview' },
        spec: { namespace: 'kube-node-lease' },
      },
    },
  ]);
  return logger.lines.map(({ fields }) => fields);
}

it.each<[string, object[], object[]]>([
  ['no limit', [nodes, leases], []],
  ['all names', [nodes, { ...leases, resourceNames: ['n1', 'n3', 'n2'] }], []],
  ['names in several rules', [nodes, ...['n2', 'n3'].map((name) => ({ ...leases, resourceNames: [name] }))], []],
  ['wildcards', [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }], []],
  [
    'a wildcard before the subresource only',
    [leases, { ...nodes, resources: ['*/status'] }],
    [{ user: 'u', nodes: 2, names: ['n2', 'n3'], missing: ['get nodes', 'patch nodes'] }],
  ],
  [
    'another node only',
    [nodes, { ...leases, resourceNames: ['n1'] }],
    [{ user: 'u', nodes: 2, names: ['n2', 'n3'], missing: ['get leases', 'update leases'] }],
  ],
  [
    'one verb for one of the nodes',
    [nodes, { ...leases, verbs: ['get'] }, { ...leases, verbs: ['update'], resourceNames: ['n1', 'n2'] }],
    [{ user: 'u', nodes: 1, names: ['n3'], missing: ['update leases'] }],
  ],
  ['rules without fields', [leases, nodes, {}, null as never, { verbs: 'get' }], []],
])('roles with %s: the warning has the nodes that they leave out', async (_what, resourceRules, warnings) => {
  expect(await warningsFor({ status: { resourceRules, incomplete: false } })).toEqual(warnings);
});

it('warns of nothing if not all authorizers have listed their rules', async () => {
  expect(await warningsFor({ status: { resourceRules: [], incomplete: true } })).toEqual([]);
});

it('names 20 of many nodes', async () => {
  const nodeNames = Array.from({ length: 500 }, (_, i) => `n${i}`);
  const [warning] = await warningsFor({ status: { resourceRules: [nodes] } }, nodeNames);
  expect(warning).toMatchObject({ nodes: 500, names: nodeNames.slice(0, 20) });
});

it('says why the permissions cannot be checked, unless it is stopped', async () => {
  const refused = new APIError('403 Forbidden: no', { kind: 'http', statusCode: 403 });
  expect(await warningsFor(refused)).toEqual([{ reason: '403 Forbidden: no' }]);
  expect(await warningsFor(refused, ['n2'], true)).toEqual([]);
});
