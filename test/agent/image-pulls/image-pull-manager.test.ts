import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemDisk } from '../../../src/shared/disk.ts';
import { FakeClock, recordingLogger } from 'kubelet-status-manager/testing';
import { ImagePullManager, type ImagePullManagerOptions } from '../../../src/agent/image-pulls/image-pull-manager.ts';
import { imagePullCredentialsVerification } from '../../../src/agent/image-pulls/verification-policy.ts';
import type { ImagePullSecret } from '../../../src/node/runtime/container-runtime.ts';
import { asBounded } from '../../support/as-bounded.ts';

const image = 'registry.example/app:1';
const imageRef = 'sha256:1';

const secretOf = (fields: Partial<ImagePullSecret> = {}): ImagePullSecret => ({
  ...{ uid: 'uid-a', namespace: 'team', name: 'pull', credentialHash: 'hash-a' },
  ...fields,
});

let root: string;
let clock: FakeClock;
let logger: ReturnType<typeof recordingLogger>;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'image-pulls-'));
  clock = new FakeClock('2026-01-02T03:04:05.678Z');
  logger = recordingLogger();
});
afterEach(() => rm(root, { recursive: true, force: true }));

function newManager(options: Partial<ImagePullManagerOptions> = {}): ImagePullManager {
  return new ImagePullManager({
    disk: systemDisk,
    ...{ runtime: {}, rootDirectory: root, clock, logger },
    requireCredentialVerification: imagePullCredentialsVerification(),
    ...options,
  });
}
async function pull(manager: ImagePullManager, secret?: ImagePullSecret, name = image): Promise<void> {
  await manager.recordPullIntent(name);
  await manager.recordImagePulled(name, imageRef, secret);
}
const mustPull = (manager: ImagePullManager, secrets: readonly ImagePullSecret[] = [], name = image) =>
  manager.mustAttemptImagePull(name, imageRef, async () => secrets);
const files = (folder: string) => readdir(join(root, 'image_manager', folder));
const content = async (folder: string) => {
  const [name = ''] = await files(folder);
  return readFile(join(root, 'image_manager', folder, name), 'utf8');
};

describe('a pod may use an image that is present', () => {
  it('if the agent has not pulled it', async () => {
    expect(await mustPull(newManager())).toBe(false);
  });

  it('if it was pulled without credentials, or with those of the node', async () => {
    const manager = newManager();
    await pull(manager, undefined);
    expect(await mustPull(manager)).toBe(false);
  });

  it('only with a Secret that has pulled it', async () => {
    const manager = newManager();
    await pull(manager, secretOf());
    expect(await mustPull(manager)).toBe(true);
    expect(await mustPull(manager, [secretOf({ uid: 'uid-b', name: 'other', credentialHash: 'hash-b' })])).toBe(true);
    expect(await mustPull(manager, [secretOf()])).toBe(false);
  });

  it.each([
    ['a copy of the Secret in another namespace', { uid: 'uid-b', namespace: 'other' }],
    ['the same Secret with rotated credentials', { credentialHash: 'hash-b' }],
  ])('with %s, which is recorded', async (_, fields) => {
    const manager = newManager();
    await pull(manager, secretOf());
    const secret = secretOf(fields);
    expect(await mustPull(manager, [secret])).toBe(false);
    const { credentialMapping } = JSON.parse(await content('pulled'));
    expect(credentialMapping['registry.example/app'].kubernetesSecrets).toContainEqual(secret);
  });

  it('not with an unknown hash of other credentials', async () => {
    const manager = newManager();
    await pull(manager, secretOf({ credentialHash: '' }));
    expect(await mustPull(manager, [secretOf({ uid: 'uid-b', credentialHash: '' })])).toBe(true);
  });

  it('by the name that it was pulled by, with any tag or digest', async () => {
    const manager = newManager();
    await pull(manager, secretOf());
    expect(await mustPull(manager, [secretOf()], 'registry.example/app:2@sha256:0123')).toBe(false);
    expect(await mustPull(manager, [secretOf()], 'mirror.example:5000/app')).toBe(true);
  });

  it('without a Secret once it was pulled without one', async () => {
    const manager = newManager();
    await pull(manager, secretOf());
    await pull(manager, undefined);
    expect(await mustPull(manager)).toBe(false);
  });

  it('not while its Secrets cannot be read', async () => {
    const manager = newManager();
    await pull(manager, secretOf());
    const getPullSecrets = () => Promise.reject(new Error('no API server'));
    expect(await manager.mustAttemptImagePull(image, imageRef, getPullSecrets)).toBe(true);
    expect(logger.lines).toMatchObject([{ level: 'error', fields: { image, reason: 'no API server' } }]);
  });

  it('and adds Secrets that are only compared up to 100', async () => {
    const manager = newManager();
    await pull(manager, secretOf());
    for (let i = 0; i < 99; i++) expect(await mustPull(manager, [secretOf({ uid: `uid-${i}` })])).toBe(false);
    const { credentialMapping } = JSON.parse(await content('pulled'));
    expect(credentialMapping['registry.example/app'].kubernetesSecrets).toHaveLength(100);
    // The hash is known; rotated credentials would have to be recorded.
    expect(await mustPull(manager, [secretOf({ uid: 'new' })])).toBe(false);
    expect(await mustPull(manager, [secretOf({ credentialHash: 'hash-b' })])).toBe(true);
  });
});

describe('the next agent', () => {
  it('knows what was pulled with which Secret', async () => {
    await pull(newManager(), secretOf());
    expect(await mustPull(newManager())).toBe(true);
    expect(await mustPull(newManager(), [secretOf()])).toBe(false);
  });

  it('without a root directory counts all images as preloaded', async () => {
    await pull(newManager({ rootDirectory: undefined }), secretOf());
    expect(await mustPull(newManager({ rootDirectory: undefined }))).toBe(false);
  });

  it('verifies the credentials for an image whose pull was interrupted', async () => {
    await newManager().recordPullIntent(image);
    const listImages = async () => [{ id: imageRef, names: [image], sizeBytes: 1 }];
    expect(await mustPull(newManager({ runtime: asBounded({ listImages }) }), [secretOf()])).toBe(true);
    expect(await files('pulling')).toEqual([]);
    expect(JSON.parse(await content('pulled'))).not.toHaveProperty('credentialMapping');
  });

  it('verifies them also while images cannot be listed', async () => {
    await newManager().recordPullIntent(image);
    const listImages = () => Promise.reject(new Error('no runtime'));
    expect(await mustPull(newManager({ runtime: asBounded({ listImages }) }))).toBe(true);
    expect(logger.lines).toMatchObject([{ level: 'error', fields: { reason: 'no runtime' } }]);
  });

  it.each([
    ['is no JSON', '{'],
    ['has another kind', '{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"x"}'],
    [
      'is of a later version',
      '{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v9","imageRef":"sha256:1"}',
    ],
    ['has another key', `{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","imageRef":"x"}`],
    ['is too large', ' '.repeat(1_048_577)],
    [
      'has malformed credentials',
      '{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","imageRef":"sha256:1","credentialMapping":{"app":{"nodePodsAccessible":"yes"}}}',
    ],
  ])('verifies the credentials for an image whose record %s, until it is pulled again', async (_, text) => {
    await pull(newManager(), undefined);
    const [name = ''] = await files('pulled');
    await writeFile(join(root, 'image_manager', 'pulled', name), text);
    const manager = newManager();
    expect(await mustPull(manager, [secretOf()])).toBe(true);
    await pull(manager, secretOf());
    expect(await mustPull(newManager(), [secretOf()])).toBe(false);
  });

  it('verifies the credentials for each image that was being pulled, and for no other one', async () => {
    const names = ['registry.example/a:1', 'registry.example/b:1', 'registry.example/c:1'];
    const manager = newManager();
    await manager.recordPullIntent(names[0]!);
    await manager.recordPullIntent(names[1]!);
    const listImages = async () => [
      { id: 'sha256:a', names: [names[0]!, 'mirror.example/a:1'], sizeBytes: 1 },
      { id: 'sha256:c', names: [names[2]!], sizeBytes: 1 },
      { id: 'sha256:d', sizeBytes: 1 },
    ];
    const next = newManager({ runtime: asBounded({ listImages }) });
    const mustPullImage = (name: string, ref: string) => next.mustAttemptImagePull(name, ref, async () => []);
    expect(await mustPullImage(names[0]!, 'sha256:a')).toBe(true);
    expect(await mustPullImage(names[2]!, 'sha256:c')).toBe(false);
    // It may be pulled by now, and its record is still there.
    expect(await mustPullImage(names[1]!, 'sha256:b')).toBe(true);
    expect([await files('pulled'), await files('pulling')].map(({ length }) => length)).toEqual([1, 1]);
  });

  it('with a runtime that lists no images keeps the records of pulls in progress', async () => {
    await newManager().recordPullIntent(image);
    expect(await mustPull(newManager({ runtime: {} }))).toBe(true);
    expect(await files('pulling')).toHaveLength(1);
    expect(logger.lines).toEqual([]);
  });

  it('ignores files of others, and what a crash has left half written', async () => {
    await pull(newManager(), secretOf());
    const folder = join(root, 'image_manager', 'pulled');
    await writeFile(join(folder, 'notes'), 'x');
    await writeFile(join(folder, 'sha256-01.tmp'), '{');
    await mkdir(join(folder, 'sha256-folder'));
    expect(await mustPull(newManager(), [secretOf()])).toBe(false);
  });
});

describe('the records', () => {
  it('are those of a kubelet v1.37, byte for byte', async () => {
    const manager = newManager();
    await manager.recordPullIntent(image);
    expect(await content('pulling')).toBe(
      '{"kind":"ImagePullIntent","apiVersion":"kubelet.config.k8s.io/v1beta1","image":"registry.example/app:1"}\n',
    );
    await manager.recordImagePulled(image, imageRef, secretOf());
    expect(await files('pulling')).toEqual([]);
    expect(await content('pulled')).toBe(
      '{"kind":"ImagePulledRecord","apiVersion":"kubelet.config.k8s.io/v1beta1","lastUpdatedTime":"2026-01-02T03:04:05Z","imageRef":"sha256:1","credentialMapping":{"registry.example/app":{"kubernetesSecrets":[{"uid":"uid-a","namespace":"team","name":"pull","credentialHash":"hash-a"}]}}}\n',
    );
    await pull(manager, undefined);
    expect(await content('pulled')).toContain(
      '"credentialMapping":{"registry.example/app":{"nodePodsAccessible":true}}',
    );
  });

  it('have the file names of a kubelet', async () => {
    await newManager().recordPullIntent('docker.io/testing/test:latest');
    expect(await files('pulling')).toEqual(['sha256-aef2af226629a35d5f3ef0fdbb29fdbebf038d0acd8850590e8c48e1e283aa56']);
  });

  it('keep the service accounts that a kubelet has written', async () => {
    const accounts = [{ uid: 'u', namespace: 'team', name: 'builder' }];
    await pull(newManager(), secretOf());
    const [name = ''] = await files('pulled');
    const path = join(root, 'image_manager', 'pulled', name);
    const record = JSON.parse(await readFile(path, 'utf8'));
    record.apiVersion = 'kubelet.config.k8s.io/v1alpha1';
    record.credentialMapping['registry.example/app'] = { kubernetesServiceAccounts: accounts };
    await writeFile(path, JSON.stringify(record));
    const manager = newManager();
    expect(await mustPull(manager, [secretOf()])).toBe(true);
    await pull(manager, secretOf());
    expect(JSON.parse(await content('pulled')).credentialMapping['registry.example/app']).toEqual({
      kubernetesServiceAccounts: accounts,
      kubernetesSecrets: [secretOf()],
    });
  });

  it('of a pull in progress stays until the last one has ended', async () => {
    const manager = newManager();
    for (let pulls = 0; pulls < 3; pulls++) await manager.recordPullIntent(image);
    for (let ended = 0; ended < 2; ended++) {
      await manager.recordImagePullFailed(image);
      expect(await files('pulling')).toHaveLength(1);
    }
    await manager.recordImagePullFailed(image);
    expect(await files('pulling')).toEqual([]);
  });

  it('of an aborted pull stays until the image is pulled, because the runtime may have finished it', async () => {
    const manager = newManager();
    await manager.recordPullIntent(image);
    await manager.recordImagePullAborted(image);
    expect(await mustPull(manager, [secretOf()])).toBe(true);
    expect(await files('pulling')).toHaveLength(1);
    await pull(manager, secretOf());
    expect(await files('pulling')).toEqual([]);
  });

  it('of an aborted pull stays although a pull of another pod fails, whichever ends first', async () => {
    const manager = newManager();
    await manager.recordPullIntent(image);
    await manager.recordImagePullAborted(image);
    await manager.recordPullIntent(image);
    await manager.recordImagePullFailed(image);
    expect(await mustPull(manager, [secretOf()])).toBe(true);
    await manager.recordPullIntent(image);
    await manager.recordPullIntent(image);
    await manager.recordImagePullAborted(image);
    await manager.recordImagePullFailed(image);
    expect(await mustPull(newManager(), [secretOf()])).toBe(true);
    await pull(manager, secretOf());
    expect(await files('pulling')).toEqual([]);
  });

  it('of a pull that an earlier agent did not finish stays although the next pull fails', async () => {
    await newManager().recordPullIntent(image);
    const manager = newManager();
    await manager.recordPullIntent(image);
    await manager.recordImagePullFailed(image);
    expect(await mustPull(newManager(), [secretOf()])).toBe(true);
  });

  it('of images that are gone are removed, unless they were written since before the images were listed', async () => {
    const manager = newManager();
    const early = manager.beginPrune();
    await pull(manager, secretOf());
    await early(new Set());
    await manager.beginPrune()(new Set([imageRef]));
    expect(await files('pulled')).toHaveLength(1);
    await manager.beginPrune()(new Set());
    expect(await files('pulled')).toEqual([]);
  });

  it('of a private image that is pulled again with the same Secret after the images were listed is kept', async () => {
    const manager = newManager();
    await pull(manager, secretOf());
    clock.advance(60_000);
    const postImageGC = manager.beginPrune();
    await pull(manager, secretOf());
    await postImageGC(new Set());
    expect([await mustPull(manager), await mustPull(newManager())]).toEqual([true, true]);
  });

  it('whose write has failed is written by the next pull, and until then the intent stays', async () => {
    const manager = newManager();
    await pull(manager, secretOf());
    const folder = join(root, 'image_manager', 'pulled');
    await rm(folder, { recursive: true });
    await writeFile(folder, '');
    const other = secretOf({ uid: 'uid-b', name: 'other', credentialHash: 'hash-b' });
    await pull(manager, other);
    expect(await files('pulling')).toHaveLength(1);
    await rm(folder);
    await pull(manager, other);
    expect([await files('pulled'), await files('pulling')].map(({ length }) => length)).toEqual([1, 0]);
    expect(await mustPull(newManager(), [other])).toBe(false);
  });

  it('can be read by nobody else', async () => {
    await pull(newManager(), secretOf());
    const [name = ''] = await files('pulled');
    expect((await stat(join(root, 'image_manager', 'pulled'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(root, 'image_manager', 'pulled', name))).mode & 0o777).toBe(0o600);
  });
});

describe('a Secret that is compared', () => {
  it('is not read if the policy or the record decides', async () => {
    const unread = async (manager: ImagePullManager): Promise<boolean> =>
      manager.mustAttemptImagePull(image, imageRef, async () => expect.unreachable());
    expect(await unread(newManager())).toBe(false);
    const manager = newManager();
    await pull(manager, undefined);
    expect(await unread(manager)).toBe(false);
    const always = newManager({ rootDirectory: undefined, requireCredentialVerification: () => true });
    expect(await unread(always)).toBe(true);
    expect(logger.lines).toEqual([]);
  });

  it('is recorded without the earlier credentials of the same Secret, so that these are no longer enough', async () => {
    const manager = newManager();
    await pull(manager, secretOf());
    expect(await mustPull(manager, [secretOf({ credentialHash: 'hash-b' })])).toBe(false);
    const copy = { uid: 'uid-b', namespace: 'other', name: 'copy' };
    expect(await mustPull(manager, [secretOf({ ...copy, credentialHash: 'hash-a' })])).toBe(true);
    expect(await mustPull(manager, [secretOf({ ...copy, credentialHash: 'hash-b' })])).toBe(false);
  });

  it('that is known is not written again', async () => {
    const manager = newManager();
    await pull(manager, secretOf());
    const before = await content('pulled');
    clock.advance(60_000);
    expect(await mustPull(manager, [secretOf()])).toBe(false);
    await pull(manager, secretOf());
    expect(await content('pulled')).toBe(before);
  });
});

it('records of two images are pruned one by one, and only those that the runtime no longer has', async () => {
  const manager = newManager();
  for (const ref of ['sha256:1', 'sha256:2']) {
    await manager.recordPullIntent(`registry.example/${ref.at(-1)}`);
    await manager.recordImagePulled(`registry.example/${ref.at(-1)}`, ref, undefined);
  }
  await manager.beginPrune()(new Set(['sha256:2']));
  expect(await files('pulled')).toHaveLength(1);
  expect(JSON.parse(await content('pulled')).imageRef).toBe('sha256:2');
});

it('records that cannot be removed are logged', async () => {
  await writeFile(join(root, 'image_manager'), '');
  await newManager().beginPrune()(new Set());
  expect(logger.lines).toMatchObject([
    {
      level: 'error',
      message: 'Failed to remove records of pulled images',
      fields: { reason: expect.stringMatching(/ENOTDIR|EEXIST/) },
    },
  ]);
});

it('a pull that is recorded leaves no temporary file, also if it cannot be written', async () => {
  const manager = newManager();
  await pull(manager, undefined);
  const [name = ''] = await files('pulled');
  await rm(join(root, 'image_manager', 'pulled', name));
  // A folder cannot be replaced by a file.
  await mkdir(join(root, 'image_manager', 'pulled', name));
  await pull(manager, secretOf(), 'registry.example/other:1');
  expect(await files('pulled')).toEqual([name]);
  expect(logger.lines).toMatchObject([
    { level: 'error', message: 'Failed to record a pulled image', fields: { image: 'registry.example/other:1' } },
  ]);
  expect(await files('pulling')).toHaveLength(1);
});

it('an agent without a root directory has its records in memory', async () => {
  const manager = newManager({ rootDirectory: undefined });
  await pull(manager, secretOf());
  expect([await mustPull(manager), await mustPull(manager, [secretOf()])]).toEqual([true, false]);
  await manager.beginPrune()(new Set());
  expect(await mustPull(manager)).toBe(false);
  expect(await readdir(root)).toEqual([]);
});

describe('if the records cannot be written', () => {
  // A file in place of the folder, which refuses root, too.
  beforeEach(() => writeFile(join(root, 'image_manager'), ''));

  it('no image is pulled, and an image that is present is verified', async () => {
    const manager = newManager();
    await expect(manager.recordPullIntent(image)).rejects.toThrow('ENOTDIR');
    expect(await mustPull(manager)).toBe(true);
    await rm(join(root, 'image_manager'));
    await pull(manager, secretOf());
    expect(await mustPull(manager, [secretOf()])).toBe(false);
  });
});

it('an image whose record could not be written counts as pulled for the next agent', async () => {
  const manager = newManager();
  await manager.recordPullIntent(image);
  await rm(join(root, 'image_manager', 'pulled'), { recursive: true });
  await writeFile(join(root, 'image_manager', 'pulled'), '');
  await manager.recordImagePulled(image, imageRef, undefined);
  expect(await files('pulling')).toHaveLength(1);
  await rm(join(root, 'image_manager', 'pulled'));
  expect(await mustPull(newManager())).toBe(true);
});
