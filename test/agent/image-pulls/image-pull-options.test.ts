import { expect, it } from 'vitest';
import {
  type ImagePullOptions,
  parallelImagePulls,
  requireImagePulls,
} from '../../../src/agent/image-pulls/image-pull-options.ts';

const many = Number.POSITIVE_INFINITY;

it.each<[ImagePullOptions, number]>([
  [{}, 1],
  [{ serializeImagePulls: false }, many],
  [{ maxParallelImagePulls: 1 }, 1],
  [{ maxParallelImagePulls: 5 }, 5],
  [{ serializeImagePulls: true, maxParallelImagePulls: 1 }, 1],
  [{ serializeImagePulls: false, maxParallelImagePulls: 3 }, 3],
])('with %o, %d images are pulled at a time', (options, parallel) => {
  expect(() => requireImagePulls(options)).not.toThrow();
  expect(parallelImagePulls(options)).toBe(parallel);
});

it.each<[object, string, string]>([
  [{ serializeImagePulls: 'yes' }, 'serializeImagePulls', 'a boolean'],
  [{ maxParallelImagePulls: 0 }, 'maxParallelImagePulls', 'an integer ≥ 1'],
  [{ maxParallelImagePulls: 1.5 }, 'maxParallelImagePulls', 'an integer ≥ 1'],
  [
    ...([{ serializeImagePulls: true, maxParallelImagePulls: 2 }, 'maxParallelImagePulls'] as const),
    'at most 1, as `serializeImagePulls` is true',
  ],
  [{ preloadedImagesVerificationAllowlist: 'app' }, 'preloadedImagesVerificationAllowlist', 'a list of images'],
  [{ preloadedImagesVerificationAllowlist: ['app', 1] }, 'preloadedImagesVerificationAllowlist', 'a list of images'],
  [
    ...([{ preloadedImagesVerificationAllowlist: ['app'] }, 'preloadedImagesVerificationAllowlist'] as const),
    'absent, as `imagePullCredentialsVerificationPolicy` is not NeverVerifyAllowlistedImages',
  ],
  [
    ...([{ imagePullCredentialsVerificationPolicy: 'Never' }, 'imagePullCredentialsVerificationPolicy'] as const),
    'NeverVerify, NeverVerifyPreloadedImages, NeverVerifyAllowlistedImages or AlwaysVerify',
  ],
  [{ serialize: true }, 'serialize', 'absent'],
])('%j is refused: %s is expected to be %s', (options, name, expected) => {
  const path = `imagePulls.${name}`;
  expect(() => requireImagePulls(options)).toThrow(expect.objectContaining({ code: 'INVALID_OPTION', path }));
  expect(() => requireImagePulls(options)).toThrow(`Expected \`${path}\` to be ${expected}`);
});

it.each<ImagePullOptions>([
  {
    imagePullCredentialsVerificationPolicy: 'NeverVerifyAllowlistedImages',
    preloadedImagesVerificationAllowlist: ['registry.example/app'],
  },
])('%j is valid', (options) => expect(() => requireImagePulls(options)).not.toThrow());
