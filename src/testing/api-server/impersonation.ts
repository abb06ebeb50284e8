import type { IncomingHttpHeaders } from 'node:http';
import { ApiStatusError, badRequest } from './api-status.ts';
import type { Tokens, User } from './users.ts';

/**
 * The user on whose behalf a request is made. The admin may impersonate the users that this server has.
 * @throws ApiStatusError 400, 403 as on a real server; 501 for a user that this server does not have
 */
export function impersonated(user: User, headers: IncomingHttpHeaders, tokens: Tokens): User {
  const names = Object.keys(headers).filter((name) => name.startsWith('impersonate-'));
  if (names.length === 0) return user;
  const wanted = headers['impersonate-user'];
  if (typeof wanted !== 'string' || wanted === '') {
    throw badRequest(`requested ${names.join(', ')} without impersonating a user name`);
  }
  if (user.node !== undefined) {
    const because = `User ${JSON.stringify(user.name)} cannot impersonate resource "users" in API group "" at the cluster scope`;
    throw new ApiStatusError(403, 'Forbidden', `users ${JSON.stringify(wanted)} is forbidden: ${because}`, {
      name: wanted,
      kind: 'users',
    });
  }
  const found = tokens.userNamed(wanted);
  if (found !== undefined) return found;
  const message = `ApiServer cannot impersonate ${JSON.stringify(wanted)}: it has the admin and the users of the nodes that \`nodeUsers\` names`;
  throw new ApiStatusError(501, 'NotImplemented', message);
}
