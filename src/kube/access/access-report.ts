import { type AccessPart, type Permission, resourceOf } from './permissions.ts';
import { rbacManifest, type RBACSubject } from './rbac-manifest.ts';

/** One permission, and whether the user has it. */
export interface AccessCheck extends Permission {
  /** `unknown`: it could not be checked; `reason` says why. */
  readonly result: 'allowed' | 'denied' | 'unknown';
  /** `review`: checked by the API server's authorizers. `dry-run`: also checked by admission, with a PATCH that changes nothing. */
  readonly by: 'review' | 'dry-run';
  /** The API server's reason in readable form; undefined or empty if there is none. */
  readonly reason: string | undefined;
}

/** The data of an `AccessReport`. */
export interface AccessReportOptions {
  readonly nodeName: string;
  readonly parts: readonly AccessPart[];
  /** Undefined if the API server does not return it. */
  readonly user: { readonly name: string; readonly groups: readonly string[] } | undefined;
  readonly checks: readonly AccessCheck[];
}

const nodeUserPrefix = 'system:node:';
const serviceAccount = /^system:serviceaccount:([^:]+):([^:]+)$/;

/** The permissions that a user has and lacks. A snapshot. */
export class AccessReport {
  /** As in the options of `checkAccess`. */
  readonly nodeName: string;
  /** As in the options of `checkAccess`. */
  readonly parts: readonly AccessPart[];
  /** For example `system:node:node-1` or `system:serviceaccount:default:agent`; undefined if the API server does not return it. */
  readonly user: string | undefined;
  /** The groups of the user; empty if the API server does not return them. */
  readonly groups: readonly string[];
  /** One entry for each permission. */
  readonly checks: readonly AccessCheck[];

  constructor({ nodeName, parts, user, checks }: AccessReportOptions) {
    this.nodeName = nodeName;
    this.parts = parts;
    this.user = user?.name;
    this.groups = user?.groups ?? [];
    this.checks = checks;
  }

  /** True if no permission is known to be missing. */
  get isComplete(): boolean {
    return this.missing.length === 0;
  }

  /** The permissions that are missing. */
  get missing(): readonly AccessCheck[] {
    return this.checks.filter(({ result }) => result === 'denied');
  }

  /** The permissions that could not be checked. */
  get unknown(): readonly AccessCheck[] {
    return this.checks.filter(({ result }) => result === 'unknown');
  }

  /** True if the user is a node (`system:node:NAME`), to which the Node authorizer and NodeRestriction apply. */
  get isNodeUser(): boolean {
    return this.user?.startsWith(nodeUserPrefix) ?? false;
  }

  /**
   * YAML for `kubectl apply` that grants the user all permissions that its parts need. Undefined if
   * nothing is missing, and for a node's user, which gets its permissions from the Node authorizer.
   */
  get rbac(): string | undefined {
    const denied = this.missing.filter(({ by }) => by === 'review');
    if (denied.length === 0 || this.user === undefined || this.isNodeUser) return undefined;
    return rbacManifest({ nodeName: this.nodeName, parts: this.parts, subject: subjectOf(this.user) });
  }

  /** The report in readable form, in one or several lines, with the YAML. */
  explain(): string {
    const user = this.user ?? 'The user';
    const { length } = this.checks;
    if (this.isComplete) {
      return [
        `${user} has all permissions that ${this.parts.join(', ')} need on node ${this.nodeName}.`,
        ...this.#unknown(),
      ].join('\n');
    }
    const { rbac } = this;
    return [
      `${user} lacks ${this.missing.length} of ${length} permissions that ${this.parts.join(', ')} need on node ${this.nodeName}:`,
      ...this.missing.map((check) => `- ${describe(check)}, so that ${check.purpose}${because(check)}`),
      ...this.#unknown(),
      ...this.#advice(),
      ...(rbac === undefined ? [] : ['To give them, apply this as an administrator:', '', rbac]),
    ].join('\n');
  }

  #unknown(): string[] {
    return this.unknown.map((check) => `Not checked: ${describe(check)}${because(check)}`);
  }

  #advice(): string[] {
    if (!this.isNodeUser) return [];
    if (this.user !== `${nodeUserPrefix}${this.nodeName}`) {
      return [`This is the user of another node: the user of ${this.nodeName} is ${nodeUserPrefix}${this.nodeName}.`];
    }
    if (!this.groups.includes('system:nodes')) {
      return ['The user must be in the group system:nodes, or the Node authorizer does not know it as a node.'];
    }
    return ['The Node authorizer gives them: kube-apiserver must run with --authorization-mode=Node,RBAC.'];
  }
}

function subjectOf(user: string): RBACSubject {
  const [, namespace, name] = serviceAccount.exec(user) ?? [];
  if (namespace === undefined || name === undefined) return { kind: 'User', name: user };
  return { kind: 'ServiceAccount', namespace, name };
}

function describe(check: AccessCheck): string {
  const { verb, group, namespace, name, by } = check;
  const resource = `${resourceOf(check)}${group === '' ? '' : `.${group}`}${name === '' ? '' : ` ${name}`}`;
  return `${verb} ${resource}${namespace === '' ? '' : ` in ${namespace}`}${by === 'dry-run' ? ' (dry run)' : ''}`;
}

function because({ reason }: AccessCheck): string {
  return reason === undefined || reason === '' ? '' : ` (${reason})`;
}
