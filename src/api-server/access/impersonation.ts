import type { IncomingHttpHeaders } from 'node:http';
import { APIStatusError, badRequest, forbidden } from '../api-status.ts';
import type { ResourceRequest } from '../http/request.ts';
import type { Tokens } from './tokens.ts';
import { isAdmin, type User } from './users.ts';

/**
 * The impersonated user of a request. The admin may impersonate all users of this server.
 * Other users may not impersonate; see `refuseImpersonation`.
 * @throws APIStatusError 400 as on a real server, 501 for a user that this server does not have
 */
export function impersonated(user: User, headers: IncomingHttpHeaders, tokens: Tokens): User {
  if (!isAdmin(user)) return user;
  const names = Object.keys(headers).filter((name) => name.startsWith('impersonate-'));
  if (names.length === 0) return user;
  const wanted = headers['impersonate-user'];
  if (typeof wanted !== 'string' || wanted === '') {
    throw badRequest(`requested ${names.join(', ')} without impersonating a user name`);
  }
  const found = tokens.userNamed(wanted);
  if (found !== undefined) return found;
  const message = `APIServer cannot impersonate ${JSON.stringify(wanted)}: it has the admin and the users of the nodes that \`nodeUsers\` names`;
  throw new APIStatusError(501, 'NotImplemented', message);
}

/** Only the admin may impersonate. @throws APIStatusError 403 */
export function refuseImpersonation(user: User, headers: IncomingHttpHeaders, resource: ResourceRequest): void {
  if (isAdmin(user) || headers['impersonate-user'] === undefined) return;
  const { definition, name, verb } = resource;
  const because = `User ${JSON.stringify(user.name)} cannot impersonate-on:user-info:${verb} resource ${JSON.stringify(definition.resource)} in API group ${JSON.stringify(definition.group)}`;
  throw forbidden(definition, name, because);
}
