import { expect, it } from 'vitest';
import { imagePullCredentialsVerification } from '../../../src/agent/image-pulls/verification-policy.ts';

it.each([
  [undefined, false, true],
  ['NeverVerify', false, false],
  ['NeverVerifyPreloadedImages', false, true],
  ['NeverVerifyAllowlistedImages', true, true],
  ['AlwaysVerify', true, true],
] as const)('%s verifies a preloaded image: %s, one that was pulled: %s', (policy, preloaded, pulled) => {
  const requires = imagePullCredentialsVerification(policy);
  expect([requires('app', false), requires('app', true)]).toEqual([preloaded, pulled]);
});

it.each([
  ['registry.example/team/app', 'registry.example/team/app:1', false],
  ['registry.example/team/app', 'registry.example/team/app@sha256:0123', false],
  ['registry.example/team/app', 'registry.example/team/apple', true],
  ['registry.example/team/*', 'registry.example/team/app:1', false],
  ['registry.example/team/*', 'registry.example/teams/app', true],
  ['registry.example:5000/app', 'registry.example:5000/app', false],
])('the list with %s requires credentials for %s: %s', (pattern, image, required) => {
  expect(imagePullCredentialsVerification('NeverVerifyAllowlistedImages', [pattern])(image, true)).toBe(required);
});

it.each(['', '/*', '*', 'registry.example/*/app', 'registry.example/app*', ' app', 'app ', 'app:1', 'app@sha256:0'])(
  'the list refuses %j',
  (pattern) => {
    expect(() => imagePullCredentialsVerification('NeverVerifyAllowlistedImages', ['app', pattern])).toThrow(
      'Expected `imagePulls.preloadedImagesVerificationAllowlist[1]` to be ',
    );
  },
);
