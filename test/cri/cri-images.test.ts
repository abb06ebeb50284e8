import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { CRIError } from '../../src/cri/cri-error.ts';
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

describe('a pull with several credentials', () => {
  const secret = { uid: 'u', namespace: 'team', name: 'pull', credentialHash: 'hash' };
  const credentials = [
    { username: 'old', password: '1', secret: { ...secret, name: 'old' } },
    { username: 'node', password: '2' },
    { username: 'new', password: '3', secret },
  ];
  const pod = { metadata: { uid: 'u', name: 'web', namespace: 'team' } };

  /** A registry that accepts this user; undefined: everybody. */
  function imagesFor(accepted: string | undefined, available: typeof credentials | [] = credentials) {
    const auths: unknown[] = [];
    const call = async (method: string, { auth }: { auth?: { username?: string } }): Promise<object> => {
      if (method === 'ImageStatus') return { image: { id: 'sha256:1', size: 5 } };
      auths.push(auth);
      if (accepted !== undefined && auth?.username !== accepted) throw new Error(`401 for ${auth?.username}`);
      return { image_ref: 'sha256:1' };
    };
    const client = { call };
    const options = {
      client,
      helper: { pullCredentials: async () => ({ credentials: available, missingSecrets: ['gone'] }) },
      sandboxConfig: async () => ({}),
    };
    return { images: new CRIImages(options as object as CRIImagesOptions), auths, client };
  }

  it('names the Secret whose credentials the registry has accepted', async () => {
    const { images, auths } = imagesFor('new');
    expect(await images.pullImage('reg.io/app', pod)).toEqual({
      imageRef: 'sha256:1',
      sizeBytes: 5,
      pullSecret: secret,
    });
    expect(auths).toEqual(credentials.map(({ username, password }) => ({ username, password })));
  });

  it.each([
    ['those of the node', 'node', credentials],
    ['none', undefined, [] as []],
  ])('names no Secret for %s', async (_, accepted, available) => {
    const { images } = imagesFor(accepted, available);
    expect(await images.pullImage('reg.io/app', pod)).toEqual({ imageRef: 'sha256:1', sizeBytes: 5 });
  });

  it('rejects with the errors of all of them, each once, and the names of missing Secrets', async () => {
    const message = '[401 for old, 401 for node, 401 for new]';
    const pulling = imagesFor('nobody').images.pullImage('reg.io/app', pod);
    await expect(pulling).rejects.toMatchObject({ message, missingPullSecrets: ['gone'] });
    const twice = imagesFor('nobody', [credentials[0]!, credentials[0]!]).images.pullImage('reg.io/app', pod);
    await expect(twice).rejects.toMatchObject({ message: '401 for old', missingPullSecrets: ['gone'] });
  });

  it('says that the image may have been pulled if one of the answers was lost', async () => {
    const failing = (code: number) => {
      const { images, client } = imagesFor('nobody');
      client.call = async () => {
        throw new CRIError({ code, details: 'failed', message: 'failed' });
      };
      return images.pullImage('reg.io/app', pod);
    };
    await expect(failing(status.UNAVAILABLE)).rejects.toMatchObject({ mayHavePulled: true });
    await expect(failing(status.NOT_FOUND)).rejects.toMatchObject({ mayHavePulled: false });
  });

  it.each(['imageRef', 'pullImage'] as const)('%s refuses an invalid name without a request', async (method) => {
    const { images, auths } = imagesFor(undefined);
    await expect(images[method]('A//b', pod as never)).rejects.toMatchObject({ reason: 'InvalidImageName' });
    expect(auths).toEqual([]);
  });

  it('the Secrets of a pod are those with credentials for the image', async () => {
    expect(await imagesFor('new').images.imagePullSecrets('reg.io/app', pod)).toEqual([
      { ...secret, name: 'old' },
      secret,
    ]);
  });
});
