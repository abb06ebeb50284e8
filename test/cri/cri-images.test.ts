import { expect, it } from 'vitest';
import type { CRIClient } from '../../src/cri/cri-client.ts';
import { CRIImages, type CRIImagesOptions } from '../../src/cri/cri-images.ts';

/** A runtime with these images, and the names it was asked for. */
function createImages(images: { id: string; uid?: { value: number }; username?: string }[]) {
  const asked: string[] = [];
  const call = async (method: string, request: { image: { image: string } }) => {
    if (method === 'ListImages')
      return { images: images.map((image) => ({ ...image, repo_tags: [], repo_digests: [] })) };
    asked.push(request.image.image);
    return { image: images.find(({ id }) => id === request.image.image || request.image.image === 'app') ?? null };
  };
  const client = { call: call as object as CRIClient['call'] };
  return { images: new CRIImages({ client } as CRIImagesOptions), asked };
}

it('a container whose image was just found starts without asking for its user again', async () => {
  const { images, asked } = createImages([{ id: 'sha256:1', uid: { value: 1000 } }]);
  expect(await images.imageRef('app')).toBe('sha256:1');
  expect(await images.imageUser('sha256:1', undefined)).toEqual({ uid: 1000 });
  expect(asked).toEqual(['app']);
});

it.each([
  [{ id: 'sha256:1', uid: { value: 0 }, username: 'app' }, { uid: 0 }],
  [{ id: 'sha256:1', username: 'app' }, { username: 'app' }],
  [{ id: 'sha256:1' }, { uid: 0 }],
  [{ id: 'sha256:2' }, { uid: 0 }],
])('the user of the image %o is %o', async (image, user) => {
  expect(await createImages([image]).images.imageUser('sha256:1', undefined)).toEqual(user);
});

it('the user of an image that is gone is forgotten', async () => {
  const list = [{ id: 'sha256:1', uid: { value: 1000 } }];
  const { images, asked } = createImages(list);
  await images.imageRef('app');
  list.length = 0;
  await images.listImages();
  await images.imageUser('sha256:1', undefined);
  expect(asked).toEqual(['app', 'sha256:1']);
});
