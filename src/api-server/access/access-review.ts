import { APIStatusError, badRequest, forbidden, invalid } from '../api-status.ts';
import { invalidValue } from '../../kube/validation/field-error.ts';
import { decodeKind } from '../storage/decode-object.ts';
import { authorize, type Attributes } from './node-authorizer.ts';
import { isJSONObject, type JSONObject, objectOf, stringOf } from '../../kube/objects/json-object.ts';
import { resourceNamed } from '../resources/resources.ts';
import { accessReviewResource, selfReviewResource, tokenReviewResource } from './review-resource.ts';
import { issuer } from './token-issuer.ts';
import type { ObjectStore } from '../storage/store.ts';
import type { SubresourceName } from '../resources/subresources.ts';
import type { Tokens } from './tokens.ts';
import { isAdmin, type User, userInfoOf } from './users.ts';

const apiVersion = 'authorization.k8s.io/v1';

/** Who the user is. */
export function reviewSelf(user: User): object {
  const { kind, group } = selfReviewResource;
  return { kind, apiVersion: `${group}/v1`, metadata: {}, status: { userInfo: userInfoOf(user) } };
}

/** Which user the token belongs to. @throws APIStatusError 400, 403 for a user that is neither the admin nor a node */
export function reviewToken(reviewer: User, body: JSONObject, tokens: Tokens): object {
  const { kind, group } = tokenReviewResource;
  if (!isAdmin(reviewer) && reviewer.node === undefined) {
    const because = `User "${reviewer.name}" cannot create resource "tokenreviews" in API group "${group}" at the cluster scope`;
    throw forbidden(tokenReviewResource, '', because);
  }
  const spec = objectOf(decodeKind(kind, body), 'spec');
  const token = stringOf(spec, 'token');
  if (token === '') throw badRequest('token is required for TokenReview in authentication');
  const found = tokens.authenticate(token, (spec.audiences ?? [issuer]) as readonly string[]);
  const status =
    found === undefined
      ? { user: {}, error: 'invalid bearer token' }
      : { authenticated: true, user: userInfoOf(found.user), audiences: found.audiences };
  return { kind, apiVersion: `${group}/v1`, metadata: {}, spec, status };
}

/** Evaluates the request that the review describes. @throws APIStatusError 400, 422 */
export function reviewAccess(user: User, body: JSONObject, store: ObjectStore): object {
  const spec = objectOf(decodeKind('SelfSubjectAccessReview', body), 'spec');
  const { resourceAttributes, nonResourceAttributes } = spec;
  if (isJSONObject(resourceAttributes) === isJSONObject(nonResourceAttributes)) {
    const because = 'exactly one of nonResourceAttributes or resourceAttributes must be specified';
    throw invalid({ group: accessReviewResource.group, resource: '', kind: '' }, '', [
      invalidValue('spec', null, because),
    ]);
  }
  const status = isJSONObject(resourceAttributes)
    ? resourceStatus(user, resourceAttributes, store)
    : { allowed: isAdmin(user) || isPublic(objectOf(spec, 'nonResourceAttributes')) };
  return { kind: 'SelfSubjectAccessReview', apiVersion, metadata: {}, spec, status };
}

/** Non-resource paths that every user may read. */
function isPublic(attributes: JSONObject): boolean {
  return (
    stringOf(attributes, 'verb') === 'get' && /^\/(healthz|livez|readyz|version)\/?$/.test(stringOf(attributes, 'path'))
  );
}

function resourceStatus(user: User, attributes: JSONObject, store: ObjectStore): object {
  const group = stringOf(attributes, 'group');
  const version = stringOf(attributes, 'version') || 'v1';
  const resource = stringOf(attributes, 'resource');
  const definition = resourceNamed(group, version === '*' ? 'v1' : version, resource);
  // The admin may do everything, a node's user only what the node authorizer permits, a ServiceAccount nothing.
  if (definition === undefined)
    return {
      allowed:
        isAdmin(user) || (user.node !== undefined && isKubeletReview(group, resource, stringOf(attributes, 'verb'))),
    };
  try {
    authorize(user, attributesOf(attributes, definition), store);
    return { allowed: true };
  } catch (error) {
    if (!(error instanceof APIStatusError)) throw error;
    const reasonAt = error.message.indexOf('node: ');
    return { allowed: false, ...(reasonAt === -1 ? {} : { reason: error.message.slice(reasonAt) }) };
  }
}

/** The reviews that a kubelet creates for the clients of its API. Source: `NodeRules` */
function isKubeletReview(group: string, resource: string, verb: string): boolean {
  const reviews = ['authentication.k8s.io/tokenreviews', 'authorization.k8s.io/subjectaccessreviews'];
  return verb === 'create' && reviews.includes(`${group}/${resource}`);
}

function attributesOf(attributes: JSONObject, definition: Attributes['definition']): Attributes {
  return {
    definition,
    namespace: stringOf(attributes, 'namespace'),
    name: stringOf(attributes, 'name'),
    subresource: stringOf(attributes, 'subresource') as SubresourceName | '',
    verb: stringOf(attributes, 'verb'),
    fieldSelector: stringOf(objectOf(attributes, 'fieldSelector'), 'rawSelector'),
  };
}
