import { expect, it } from 'vitest';
import type { CRIMessage } from '../../src/cri/cri-messages.ts';
import { nodeStatusOfRuntime } from '../../src/cri/runtime-node-status.ts';

const version = { runtime_name: 'cri-o', runtime_version: '1.36.3' } as CRIMessage<'VersionResponse'>;
const image = (id: string, size: number) =>
  ({ id, size, repo_tags: [`${id}:1`], repo_digests: [] as string[] }) as unknown as CRIMessage<'Image'>;
const statusOf = (handlers: readonly object[], images: readonly CRIMessage<'Image'>[] = []) =>
  nodeStatusOfRuntime(
    version,
    { status: null, info: {}, runtime_handlers: handlers, features: null } as unknown as CRIMessage<'StatusResponse'>,
    images,
  );

it('handlers are sorted by name and images by size, because CRI-O and containerd list them in any order', () => {
  const handlers = ['runc', 'crun', ''].map((name) => ({ name, features: null }));
  const images = [image('a', 1), image('b', 2), image('c', 2)];
  expect(statusOf(handlers, images)).toEqual(statusOf(handlers.toReversed(), images.toReversed()));
  expect(statusOf(handlers, images)).toMatchObject({
    runtimeHandlers: [{ name: '' }, { name: 'crun' }, { name: 'runc' }],
    images: [{ names: ['c:1'] }, { names: ['b:1'] }, { names: ['a:1'] }],
  });
});

it('a feature that a handler does not report is false', () => {
  const features = { recursive_read_only_mounts: true, user_namespaces: true };
  expect(
    statusOf([
      { name: 'runc', features },
      { name: '', features: null },
    ]).runtimeHandlers,
  ).toEqual([
    { name: '', features: { recursiveReadOnlyMounts: false, userNamespaces: false } },
    { name: 'runc', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
  ]);
});
