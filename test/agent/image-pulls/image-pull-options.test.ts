import { expect, it } from 'vitest';
import { type ImagePullOptions, parallelImagePulls } from '../../../src/agent/image-pulls/image-pull-options.ts';

const many = Number.POSITIVE_INFINITY;

it.each<[ImagePullOptions, number]>([
  [{}, 1],
  [{ serializeImagePulls: false }, many],
  [{ maxParallelImagePulls: 1 }, 1],
  [{ maxParallelImagePulls: 5 }, 5],
  [{ serializeImagePulls: true, maxParallelImagePulls: 1 }, 1],
  [{ serializeImagePulls: false, maxParallelImagePulls: 3 }, 3],
])('with %o, %d images are pulled at a time', (options, parallel) => {
  expect(parallelImagePulls(options)).toBe(parallel);
});
