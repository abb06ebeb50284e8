import { requireText } from '../../shared/validate.ts';
import { type AccessPart, type Permission, permissionsOf, requireParts, resourceOf } from './permissions.ts';

/** The subject that a manifest grants permissions to. */
export type RBACSubject =
  | { readonly kind: 'ServiceAccount'; readonly namespace: string; readonly name: string }
  | { readonly kind: 'User' | 'Group'; readonly name: string };

/** Options of `rbacManifest`. */
export interface RBACManifestOptions {
  /** The node that the manifest is for. */
  readonly nodeName: string;
  /** The parts that must work. */
  readonly parts: readonly AccessPart[];
  /** Who is granted the permissions. */
  readonly subject: RBACSubject;
}

interface Rule {
  readonly group: string;
  readonly name: string;
  readonly resources: string[];
  readonly verbs: string[];
}

/**
 * YAML for `kubectl apply`: a ClusterRole with only the permissions that `parts` need on this node, and
 * its binding; for the part `node` also a Role for its Lease. The objects are named after the node.
 * @throws StatusManagerError INVALID_ARGUMENT
 *
 * @example
 * ```ts
 * import { accessParts, rbacManifest } from 'kubelet-status-manager';
 *
 * const subject = { kind: 'ServiceAccount', namespace: 'providers', name: 'provider' } as const;
 * console.log(rbacManifest({ nodeName: 'virtual-1', parts: accessParts, subject }));
 * ```
 */
export function rbacManifest({ nodeName, parts, subject }: RBACManifestOptions): string {
  requireText('nodeName', nodeName);
  requireParts(parts);
  requireText('subject.name', subject?.name);
  const permissions = permissionsOf(parts, nodeName);
  const namespaces = [...new Set(permissions.map(({ namespace }) => namespace))];
  return namespaces
    .flatMap((namespace) => {
      const rules = rulesOf(permissions.filter((permission) => permission.namespace === namespace));
      const metadata = [
        'metadata:',
        `  name: ${quote(`kubelet-status-manager:${nodeName}`)}`,
        ...(namespace === '' ? [] : [`  namespace: ${namespace}`]),
      ];
      return [roleOf(namespace, metadata, rules), bindingOf(namespace, metadata, nodeName, subject)];
    })
    .join('---\n');
}

function rulesOf(permissions: readonly Permission[]): Rule[] {
  const rules: Rule[] = [];
  for (const permission of permissions) {
    const { group, name, verb } = permission;
    const resource = resourceOf(permission);
    const rule = rules.find((one) => one.group === group && one.name === name && one.resources.includes(resource));
    if (rule === undefined) rules.push({ group, name, resources: [resource], verbs: [verb] });
    else rule.verbs.push(verb);
  }
  return rules;
}

function roleOf(namespace: string, metadata: readonly string[], rules: readonly Rule[]): string {
  return lines([
    'apiVersion: rbac.authorization.k8s.io/v1',
    `kind: ${namespace === '' ? 'ClusterRole' : 'Role'}`,
    ...metadata,
    'rules:',
    ...rules.flatMap(({ group, name, resources, verbs }) => [
      `  - apiGroups: [${quote(group)}]`,
      `    resources: [${resources.map(quote).join(', ')}]`,
      ...(name === '' ? [] : [`    resourceNames: [${quote(name)}]`]),
      `    verbs: [${verbs.map(quote).join(', ')}]`,
    ]),
  ]);
}

function bindingOf(namespace: string, metadata: readonly string[], nodeName: string, subject: RBACSubject): string {
  const kind = namespace === '' ? 'ClusterRole' : 'Role';
  return lines([
    'apiVersion: rbac.authorization.k8s.io/v1',
    `kind: ${kind}Binding`,
    ...metadata,
    'roleRef:',
    '  apiGroup: rbac.authorization.k8s.io',
    `  kind: ${kind}`,
    `  name: ${quote(`kubelet-status-manager:${nodeName}`)}`,
    'subjects:',
    `  - kind: ${subject.kind}`,
    `    name: ${quote(subject.name)}`,
    subject.kind === 'ServiceAccount'
      ? `    namespace: ${quote(subject.namespace)}`
      : '    apiGroup: rbac.authorization.k8s.io',
  ]);
}

function lines(all: readonly string[]): string {
  return `${all.join('\n')}\n`;
}

/** Formats a YAML string; every JSON string is valid YAML. */
function quote(text: string): string {
  return JSON.stringify(text);
}
