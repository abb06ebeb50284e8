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

const anImage = 'an image, or the start of one: registry.example/team/*';
it.each([
  ['', anImage],
  ['/*', anImage],
  ['*', anImage],
  ['registry.example/*/app', anImage],
  ['registry.example/*/*', anImage],
  ['registry.example/app*', anImage],
  [' app', anImage],
  ['app ', anImage],
  ['app:1', 'without tag and digest'],
  ['app@sha256:0', 'without tag and digest'],
])('the list refuses %j: expected is %s', (pattern, expected) => {
  expect(() => imagePullCredentialsVerification('NeverVerifyAllowlistedImages', ['app', pattern])).toThrow(
    `Expected \`imagePulls.preloadedImagesVerificationAllowlist[1]\` to be ${expected}`,
  );
});

it('the start of images may have the port of a registry', () => {
  const requires = imagePullCredentialsVerification('NeverVerifyAllowlistedImages', ['registry.example:5000/*']);
  expect([requires('registry.example:5000/app', true), requires('registry.example/app', true)]).toEqual([false, true]);
});
