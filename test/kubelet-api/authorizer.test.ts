import { FakeClock } from 'kubelet-status-manager/testing';
import { expect, it } from 'vitest';
import { Authorizer, type KubeletAuthorization } from '../../src/kubelet-api/authorizer.ts';

type Status = Readonly<Record<string, unknown>>;

/** An authorizer, and the SubjectAccessReviews that it has created. */
function authorizerWith(status: Status | undefined, options: KubeletAuthorization = {}) {
  const clock = new FakeClock();
  const reviews: { readonly path: string; readonly body: object }[] = [];
  const authorizer = new Authorizer({
    ...options,
    clock,
    nodeName: 'node-a',
    review: async (path, body) => {
      reviews.push({ path, body });
      return { status };
    },
  });
  return { authorizer, clock, reviews };
}

const user = { username: 'u', uid: '1', groups: ['g'], extra: { scope: ['a'] } };
const attributes = { verb: 'get', subresources: ['stats'] };

it('a permission is reviewed by a SubjectAccessReview for a subresource of this Node', async () => {
  const { authorizer, reviews } = authorizerWith({ allowed: true });
  expect(await authorizer.isAllowed(user, attributes)).toBe(true);
  const resourceAttributes = { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'stats', name: 'node-a' };
  const spec = { user: 'u', uid: '1', groups: ['g'], extra: { scope: ['a'] }, resourceAttributes };
  expect(reviews).toEqual([
    {
      path: '/apis/authorization.k8s.io/v1/subjectaccessreviews',
      body: { apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview', spec },
    },
  ]);
});

it.each<[string, Status | undefined]>([
  ['no status', undefined],
  ['no answer', {}],
  ['allowed: false', { allowed: false }],
  ['an answer of another type', { allowed: 'true' }],
  ['denied: true, whatever else it says', { allowed: true, denied: true }],
])('a review with %s is a refusal', async (_name, status) => {
  expect(await authorizerWith(status).authorizer.isAllowed(user, attributes)).toBe(false);
});

it('the first subresource that is allowed is enough; what comes after it is not reviewed', async () => {
  const { authorizer, reviews } = authorizerWith({ allowed: true });
  expect(await authorizer.isAllowed(user, { verb: 'get', subresources: ['pods', 'proxy'] })).toBe(true);
  expect(reviews.length).toBe(1);
});

it.each([
  ['a permission', true, 2000],
  ['a refusal', false, 1000],
])('%s is valid for its own time', async (_name, allowed, ttlMs) => {
  const options = { cacheAuthorizedTTLMs: 2000, cacheUnauthorizedTTLMs: 1000 };
  const { authorizer, clock, reviews } = authorizerWith({ allowed }, options);
  await authorizer.isAllowed(user, attributes);
  clock.advance(ttlMs - 1);
  await authorizer.isAllowed(user, attributes);
  expect(reviews.length).toBe(1);
  clock.advance(1);
  expect(await authorizer.isAllowed(user, attributes)).toBe(allowed);
  expect(reviews.length).toBe(2);
});

it('a permission counts for this user, with these groups, this verb and this subresource only', async () => {
  const { authorizer, reviews } = authorizerWith({ allowed: true });
  await authorizer.isAllowed(user, attributes);
  await authorizer.isAllowed({ ...user, username: 'other' }, attributes);
  await authorizer.isAllowed({ ...user, groups: ['h'] }, attributes);
  await authorizer.isAllowed({ ...user, extra: { scope: ['b'] } }, attributes);
  await authorizer.isAllowed(user, { ...attributes, verb: 'create' });
  await authorizer.isAllowed(user, { ...attributes, subresources: ['log'] });
  expect(reviews.length).toBe(6);
});
