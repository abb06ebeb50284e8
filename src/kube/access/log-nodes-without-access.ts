import type { APIRequests } from '../client/api-requests.ts';
import { describeAPIError } from '../client/api-error.ts';
import { fieldOf } from '../../shared/json.ts';
import type { Logger } from '../../shared/logger.ts';
import { type AccessPart, leaseNamespace, type Permission, permissionsOf, resourceOf } from './permissions.ts';

/** What `logNodesWithoutAccess` checks. */
interface NodesAccessOptions {
  readonly user: string;
  /** At least one. */
  readonly nodeNames: readonly string[];
  readonly parts: readonly AccessPart[];
  readonly logger: Pick<Logger, 'warn'>;
  readonly signal: AbortSignal;
}

const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';
const maxNamedNodes = 20;

/**
 * For a user whose permissions were checked with `logMissingAccess` for another node: logs one warning if `resourceNames` of its
 * roles limit it to some nodes, and some of these are not among them. Sends one SelfSubjectRulesReview. An authorizer that cannot
 * list its rules, such as a webhook, makes the response incomplete. Then nothing is logged, and only the requests that are
 * refused later tell. Never rejects.
 */
export async function logNodesWithoutAccess(
  requests: APIRequests,
  { user, nodeNames, parts, logger, signal }: NodesAccessOptions,
): Promise<void> {
  try {
    const spec = { namespace: leaseNamespace };
    const body = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec };
    const status = fieldOf((await requests.request('POST', path, { body, signal })).json(), 'status');
    if (fieldOf(status, 'incomplete') === true) return;
    const rules = arrayOf(status, 'resourceRules');
    const refused = new Set<string>();
    const missing: string[] = [];
    for (const permission of permissionsOf(parts, nodeNames[0]!).filter(({ name }) => name !== '')) {
      const names = nodesWithout(permission, rules, nodeNames);
      if (names.length > 0) missing.push(`${permission.verb} ${resourceOf(permission)}`);
      for (const name of names) refused.add(name);
    }
    if (refused.size === 0) return;
    logger.warn(
      { user, nodes: refused.size, names: [...refused].slice(0, maxNamedNodes), missing },
      'The user lacks permissions on nodes: name them in `resourceNames` of its roles, or leave `resourceNames` out',
    );
  } catch (error) {
    if (!signal.aborted) logger.warn({ reason: describeAPIError(error).message }, 'Failed to check the permissions');
  }
}

function nodesWithout(permission: Permission, rules: readonly unknown[], nodeNames: readonly string[]): string[] {
  const granting = rules.filter((rule) => grants(rule, permission)).map((rule) => arrayOf(rule, 'resourceNames'));
  if (granting.some((names) => names.length === 0)) return [];
  const granted = new Set(granting.flat());
  return nodeNames.filter((name) => !granted.has(name));
}

/** Whether the rule grants the permission, possibly for some objects only. */
function grants(rule: unknown, permission: Permission): boolean {
  const { verb, group, subresource } = permission;
  const has = (field: string, ...values: readonly string[]): boolean =>
    arrayOf(rule, field).some((value) => value === '*' || values.includes(value as string));
  const resources = [resourceOf(permission), ...(subresource === '' ? [] : [`*/${subresource}`])];
  return has('verbs', verb) && has('apiGroups', group) && has('resources', ...resources);
}

function arrayOf(value: unknown, name: string): readonly unknown[] {
  const field = fieldOf(value, name);
  return Array.isArray(field) ? field : [];
}
