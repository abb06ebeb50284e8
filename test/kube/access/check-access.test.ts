import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { APIError } from '../../../src/kube/client/api-error.ts';
import { accessParts, checkAccess, logMissingAccess, rbacManifest } from '../../../src/status-manager/index.ts';
import type { APIRequests } from '../../../src/kube/client/api-requests.ts';
import { recordingLogger } from '../../../src/testing/recording-logger.ts';

interface Attributes {
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  readonly fieldSelector?: { readonly rawSelector: string };
}

interface Server {
  readonly user?: string;
  readonly groups?: readonly string[];
  readonly denies?: (attributes: Attributes) => boolean;
  /** Of every review. */
  readonly reason?: string;
  readonly pods?: readonly object[];
  readonly fails?: (method: string, path: string) => APIError | undefined;
}

const pod = { metadata: { namespace: 'default', name: 'a', uid: 'uid-a' } };
const provider = 'system:serviceaccount:providers:provider';

/** An API server that reviews access by a function. */
function serverOf({ user = provider, groups = [], denies = () => false, reason = '', pods = [pod], fails }: Server) {
  const requests: string[] = [];
  const reviewed: Attributes[] = [];
  const transport: APIRequests = {
    request(method, path, options = {}) {
      requests.push(`${method} ${path} ${JSON.stringify(options.query ?? {})}`);
      const failure = fails?.(method, path);
      if (failure !== undefined) return Promise.reject(failure);
      const respond = (): unknown => {
        if (path.endsWith('/selfsubjectreviews')) return { status: { userInfo: { username: user, groups } } };
        if (!path.endsWith('/selfsubjectaccessreviews')) return method === 'GET' ? { items: pods } : pod;
        const { resourceAttributes } = (options.body as { spec: { resourceAttributes: Attributes } }).spec;
        reviewed.push(resourceAttributes);
        return { status: { allowed: !denies(resourceAttributes), reason } };
      };
      return Promise.resolve({ json: respond });
    },
  };
  return { transport, requests, reviewed };
}

function httpError(statusCode: number, message: string): APIError {
  return new APIError(message, { kind: 'http', statusCode });
}

const names = (checks: readonly { verb: string; resource: string; subresource: string; by: string }[]): string[] =>
  checks.map(({ verb, resource, subresource, by }) => [verb, resource, subresource, by].filter(Boolean).join(' '));

describe('checkAccess', () => {
  it('reviews the permissions of the parts, writes nothing, and is complete when all are allowed', async () => {
    const { transport, requests, reviewed } = serverOf({});
    const report = await checkAccess(transport, { nodeName: 'n1' });
    expect(names(report.checks)).toEqual([
      'get pods review',
      'patch pods status review',
      'delete pods review',
      'list pods review',
      'watch pods review',
      'patch pods status dry-run',
    ]);
    expect(reviewed.find(({ verb }) => verb === 'watch')!.fieldSelector).toEqual({ rawSelector: 'spec.nodeName=n1' });
    expect(requests.filter((line) => !/^(GET|POST .*reviews) /.test(line))).toEqual([
      'PATCH /api/v1/namespaces/default/pods/a/status {"dryRun":"All"}',
    ]);
    expect(report).toMatchObject({ isComplete: true, user: provider, rbac: undefined, missing: [], unknown: [] });
    expect(report.explain()).toBe(`${provider} has all permissions that status-manager, informer need on node n1.`);
  });

  it('names the missing permissions, and the manifest that grants them', async () => {
    const { transport, requests } = serverOf({ denies: ({ subresource }) => subresource === 'status' });
    const report = await checkAccess({ transport }, { nodeName: 'n1', parts: ['status-manager'] });
    expect(names(report.missing)).toEqual(['patch pods status review']);
    // It would be refused for the same reason.
    expect(requests.some((line) => line.startsWith('PATCH'))).toBe(false);
    const subject = { kind: 'ServiceAccount', namespace: 'providers', name: 'provider' } as const;
    expect(report.rbac).toBe(rbacManifest({ nodeName: 'n1', parts: ['status-manager'], subject }));
    expect(report.explain()).toBe(
      `${provider} lacks 1 of 3 permissions that status-manager need on node n1:\n` +
        '- patch pods/status, so that pod statuses are written\n' +
        `To give them, apply this as an administrator:\n\n${report.rbac}`,
    );
  });

  it('a pod that the Node authorizer does not know yet says nothing about the permission to read pods', async () => {
    const reason = "no relationship found between node 'n1' and this object";
    const denies = ({ verb, name }: Attributes): boolean => verb === 'get' && name === 'a';
    const { transport } = serverOf({ user: 'system:node:n1', groups: ['system:nodes'], denies, reason });
    const report = await checkAccess(transport, { nodeName: 'n1' });
    expect([report.isComplete, report.unknown]).toMatchObject([true, [{ verb: 'get', name: 'a', reason }]]);
  });

  it('detects with a dry run that admission refuses a request that RBAC allows', async () => {
    const { transport } = serverOf({
      fails: (method) => (method === 'PATCH' ? httpError(403, '403 Forbidden: webhook says no') : undefined),
    });
    const report = await checkAccess(transport, { nodeName: 'n1' });
    expect(report.missing).toMatchObject([{ by: 'dry-run', namespace: 'default', name: 'a' }]);
    expect(report.rbac).toBeUndefined();
    expect(report.explain()).toContain(
      '- patch pods/status a in default (dry run), so that pod statuses are written (403 Forbidden: webhook says no)',
    );
  });

  it.each([
    ['the pod is gone', httpError(404, '404 NotFound')],
    ['a conflict', httpError(409, '409 Conflict')],
    ['a pause', httpError(429, '429 TooManyRequests')],
    ['a server error', httpError(500, '500 InternalError')],
  ])('a dry run that says nothing about permissions is unknown: %s', async (_what, error) => {
    const { transport } = serverOf({ fails: (method) => (method === 'PATCH' ? error : undefined) });
    const report = await checkAccess(transport, { nodeName: 'n1' });
    expect([report.isComplete, report.unknown]).toMatchObject([true, [{ by: 'dry-run', reason: error.message }]]);
  });

  it('without a pod, or without the permission to list pods, the dry run is unknown', async () => {
    const empty = await checkAccess(serverOf({ pods: [] }).transport, { nodeName: 'n1' });
    expect(empty.explain()).toContain('Not checked: patch pods/status (dry run) (the node has no pod to try it on)');
    const { transport } = serverOf({
      fails: (method) => (method === 'GET' ? httpError(403, '403 Forbidden: no list') : undefined),
    });
    const report = await checkAccess(transport, { nodeName: 'n1' });
    expect(report.unknown).toMatchObject([{ reason: 'the pods of the node cannot be listed: 403 Forbidden: no list' }]);
  });

  it('reviews that are refused are unknown, and no manifest is returned', async () => {
    const { transport } = serverOf({
      fails: (method) => (method === 'POST' ? httpError(403, '403 Forbidden: anonymous') : undefined),
    });
    const report = await checkAccess(transport, { nodeName: 'n1', parts: ['events'] });
    expect(report).toMatchObject({ user: undefined, isComplete: true, rbac: undefined });
    expect(report.explain()).toContain('Not checked: create events (403 Forbidden: anonymous)');
  });

  it.each([
    ['the credentials are not accepted', httpError(401, '401 Unauthorized')],
    ['the API server does not respond', new APIError('ECONNREFUSED', { kind: 'network' })],
  ])('rejects when %s', async (_what, error) => {
    const { transport } = serverOf({ fails: () => error });
    await expect(checkAccess(transport, { nodeName: 'n1' })).rejects.toBe(error);
  });

  it.each([
    [
      'of another node',
      'system:node:n2',
      ['system:nodes'],
      'This is the user of another node: the user of n1 is system:node:n1.',
    ],
    ['outside of its group', 'system:node:n1', ['system:authenticated'], 'The user must be in the group system:nodes'],
    ['without the Node authorizer', 'system:node:n1', ['system:nodes'], '--authorization-mode=Node,RBAC'],
  ])('tells a node user %s what is wrong, instead of a manifest', async (_what, user, groups, advice) => {
    const { transport } = serverOf({ user, groups, denies: ({ verb }) => verb === 'list' });
    const report = await checkAccess(transport, { nodeName: 'n1' });
    expect(report).toMatchObject({ isNodeUser: true, rbac: undefined });
    expect(report.explain()).toContain(advice);
  });

  it.each([
    [{}, { nodeName: 'n1' }, 'client'],
    [undefined, { nodeName: 'n1' }, 'client'],
    [serverOf({}).transport, undefined, 'options'],
    [serverOf({}).transport, { nodeName: '' }, 'options.nodeName'],
    [serverOf({}).transport, { nodeName: 'n1', parts: ['all'] }, 'parts'],
    [serverOf({}).transport, { nodeName: 'n1', parts: [] }, 'parts'],
  ])('refuses what it cannot use (%#)', async (client, options, path) => {
    await expect(checkAccess(client as never, options as never)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      path,
    });
  });
});

describe('logMissingAccess', () => {
  it('logs one warning with the manifest, and nothing when nothing is missing', async () => {
    const logger = recordingLogger();
    await logMissingAccess(serverOf({}).transport, { nodeName: 'n1', logger });
    expect(logger.lines).toEqual([]);
    const { transport } = serverOf({ denies: ({ verb }) => verb === 'watch' || verb === 'patch' });
    await logMissingAccess(transport, { nodeName: 'n1', logger });
    expect(logger.warnings).toMatchObject([
      {
        message: expect.stringContaining(`${provider} lacks 2 of 5 permissions`),
        fields: { nodeName: 'n1', user: provider, missing: ['patch pods/status', 'watch pods'] },
      },
    ]);
  });

  it('never rejects: logs a warning when the API server does not respond', async () => {
    const logger = recordingLogger();
    const { transport } = serverOf({ fails: () => new APIError('ECONNREFUSED', { kind: 'network' }) });
    await logMissingAccess(transport, { nodeName: 'n1', logger });
    expect(logger.warnings).toMatchObject([
      { message: 'Failed to check the permissions', fields: { reason: 'ECONNREFUSED' } },
    ]);
  });
});

describe('rbacManifest', () => {
  it('is valid YAML, whatever characters the names contain', () => {
    const name = 'a"b\\c: #d';
    const text = rbacManifest({ nodeName: 'n1', parts: accessParts, subject: { kind: 'User', name } });
    const documents = parseAllDocuments(text).map(
      (document) => document.toJS() as { kind: string; subjects?: object[] },
    );
    expect(documents.map(({ kind }) => kind)).toEqual(['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']);
    expect(documents[1]!.subjects).toEqual([{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }]);
  });

  it('grants no Secrets, no wildcards and no verbs outside the list', () => {
    const text = rbacManifest({ nodeName: 'n1', parts: accessParts, subject: { kind: 'User', name: 'u' } });
    expect(text).not.toMatch(/\*|secrets|configmaps|impersonate|deletecollection/);
  });

  it('grants what `createRuntimeHelper` reads with the part runtime-helper', () => {
    const text = rbacManifest({ nodeName: 'n1', parts: ['runtime-helper'], subject: { kind: 'User', name: 'u' } });
    const { rules } = parseAllDocuments(text)[0]!.toJS() as { rules: { resources: string[]; verbs: string[] }[] };
    expect(rules.map(({ resources, verbs }) => `${verbs.join()} ${resources.join()}`)).toEqual([
      'get configmaps',
      'get secrets',
      'list,watch services',
      'create serviceaccounts/token',
      'get runtimeclasses',
    ]);
  });
});
