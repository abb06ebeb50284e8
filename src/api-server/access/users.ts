/** An authenticated user. */
export interface User {
  readonly name: string;
  /** Set for a node's own user: the name of its Node. */
  readonly node: string | undefined;
  /** Set for a ServiceAccount. */
  readonly uid?: string | undefined;
  /** Without `system:authenticated`, which every user belongs to. */
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** A user, and which of the requested audiences the token is valid for. */
export interface Authenticated {
  readonly user: User;
  readonly audiences: readonly string[];
}

const masters = 'system:masters';

export const admin: User = { name: 'system:admin', node: undefined, groups: [masters] };

export function nodeUser(node: string): User {
  return { name: `system:node:${node}`, node, groups: ['system:nodes'] };
}

/** Whether the user may do everything. */
export function isAdmin({ groups }: User): boolean {
  return groups.includes(masters);
}

/** As reviews show it. Source: `authentication.k8s.io` `UserInfo`. */
export function userInfoOf({ name: username, uid, groups, extra }: User): object {
  return {
    username,
    ...(uid === undefined ? {} : { uid }),
    groups: [...groups, 'system:authenticated'],
    ...(extra === undefined ? {} : { extra }),
  };
}
