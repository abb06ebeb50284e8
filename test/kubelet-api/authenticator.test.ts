import type { IncomingMessage } from 'node:http';
import { FakeClock } from 'kubelet-status-manager/testing';
import { expect, it } from 'vitest';
import { Authenticator, type KubeletAuthentication } from '../../src/kubelet-api/authenticator.ts';

type Status = Readonly<Record<string, unknown>>;

/** An authenticator, and the TokenReviews that it has created. */
function authenticatorWith(status: Status | undefined, options: KubeletAuthentication = {}) {
  const clock = new FakeClock();
  const reviews: { readonly path: string; readonly body: object }[] = [];
  const authenticator = new Authenticator({
    ...options,
    clock,
    review: async (path, body) => {
      reviews.push({ path, body });
      return { status };
    },
  });
  const authenticate = (authorization?: string): ReturnType<Authenticator['authenticate']> =>
    authenticator.authenticate({ headers: { authorization }, socket: {} } as IncomingMessage);
  return { clock, reviews, authenticate };
}

const admin = { authenticated: true, user: { username: 'admin', uid: '1', groups: ['g'], extra: { scope: ['a'] } } };
const adminUser = { ...admin.user, groups: ['g', 'system:authenticated'] };

it('a bearer token is reviewed by a TokenReview, which has nothing but the token', async () => {
  const { authenticate, reviews } = authenticatorWith(admin);
  expect(await authenticate('Bearer a.b-c')).toEqual(adminUser);
  expect(reviews).toEqual([
    {
      path: '/apis/authentication.k8s.io/v1/tokenreviews',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 'a.b-c' } },
    },
  ]);
});

it.each(['bearer token', 'BEARER   token', 'Bearer token  '])('%j has a token', async (authorization) => {
  const { authenticate, reviews } = authenticatorWith(admin);
  expect(await authenticate(authorization)).toEqual(adminUser);
  expect(reviews).toMatchObject([{ body: { spec: { token: 'token' } } }]);
});

it.each([undefined, '', 'Bearer', 'Bearer ', 'Bearertoken', 'Bearer two words', 'x Bearer token', 'Basic dTpw'])(
  '%j has no token, and nothing is reviewed',
  async (authorization) => {
    const { authenticate, reviews } = authenticatorWith(admin);
    expect(await authenticate(authorization)).toBeUndefined();
    expect(reviews).toEqual([]);
  },
);

it.each<[string, Status | undefined]>([
  ['no status', undefined],
  ['nothing about the token', { user: admin.user }],
  ['not authenticated', { ...admin, authenticated: false }],
  ['an answer of another type', { ...admin, authenticated: 'true' }],
])('a review with %s refuses the token', async (_name, status) => {
  expect(await authenticatorWith(status).authenticate('Bearer token')).toBeUndefined();
});

it('an authenticated user has the group system:authenticated once, and no name if the review has none', async () => {
  const user = { groups: ['system:authenticated', 'g'] };
  expect(await authenticatorWith({ authenticated: true, user }).authenticate('Bearer token')).toEqual({
    username: '',
    groups: ['system:authenticated', 'g'],
  });
  expect(await authenticatorWith({ authenticated: true }).authenticate('Bearer token')).toEqual({
    username: '',
    groups: ['system:authenticated'],
  });
});

it.each([
  ['accepted', admin],
  ['refused', { authenticated: false }],
])('a token that was %s is reviewed again after webhookCacheTTLMs', async (_name, status) => {
  const { authenticate, reviews, clock } = authenticatorWith(status, { webhookCacheTTLMs: 1000 });
  await authenticate('Bearer token');
  clock.advance(999);
  await authenticate('Bearer token');
  expect(reviews.length).toBe(1);
  clock.advance(1);
  await authenticate('Bearer token');
  expect(reviews.length).toBe(2);
});

it('without webhook, a token counts as no credential', async () => {
  const { authenticate, reviews } = authenticatorWith(admin, { webhook: false });
  expect(await authenticate('Bearer token')).toBeUndefined();
  const anonymous = authenticatorWith(admin, { webhook: false, anonymous: true });
  expect(await anonymous.authenticate('Bearer token')).toEqual({
    username: 'system:anonymous',
    groups: ['system:unauthenticated'],
  });
  expect([reviews, anonymous.reviews]).toEqual([[], []]);
});
