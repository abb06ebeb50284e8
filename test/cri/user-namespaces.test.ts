import { constants, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { ValidPod } from '../../src/kube/objects/types.ts';
import { parseSubordinateIDs, readIDRange } from '../../src/cri/id-range.ts';
import { UserNamespaces } from '../../src/cri/user-namespaces.ts';
import { TestDirectories } from '../support/directories.ts';
import { type HostFiles, systemFiles } from '../../src/node/host-paths/host-files.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

const length = 65_536;
const podOf = (uid: string): ValidPod => ({ metadata: { uid, name: uid, namespace: 'ns' } });
const namespaceOf = (hostID: number) => {
  const ids = [{ host_id: hostID, container_id: 0, length }];
  return { mode: 'POD', uids: ids, gids: ids };
};
/** IDs for this many pods. */
const load = (root: string, pods = 3, files = systemFiles) =>
  UserNamespaces.load(files, root, { firstID: length, length: pods * length });
const fileOf = (root: string, uid: string): string => join(root, 'pods', uid, 'userns');
function writeMapping(root: string, uid: string, mapping: object, gidMapping = mapping): void {
  mkdirSync(join(root, 'pods', uid), { recursive: true });
  writeFileSync(fileOf(root, uid), JSON.stringify({ uidMappings: [mapping], gidMappings: [gidMapping] }));
}

describe('user namespaces', () => {
  it('TestUserNsManagerAllocate: no two pods have the same IDs, and a pod has the same ones each time', async () => {
    const namespaces = await load(directories.create());
    const uids = ['a', 'b', 'a', 'c'];
    const got = await Promise.all(uids.map((uid) => namespaces.getOrCreate(podOf(uid), undefined)));
    expect(got).toEqual([1, 2, 1, 3].map((slot) => namespaceOf(slot * length)));
    await expect(namespaces.getOrCreate(podOf('d'), undefined)).rejects.toThrow('could not find an empty slot');
    await namespaces.release('b');
    expect(await namespaces.getOrCreate(podOf('d'), undefined)).toEqual(namespaceOf(2 * length));
  });

  it('are kept over a restart, in the file of the kubelet', async () => {
    const root = directories.create();
    const first = await load(root);
    for (const uid of ['a', 'b']) await first.getOrCreate(podOf(uid), undefined);
    await first.release('a');
    expect(existsSync(fileOf(root, 'a'))).toBe(false);
    const mapping = { hostId: 2 * length, containerId: 0, length };
    expect(JSON.parse(readFileSync(fileOf(root, 'b'), 'utf8'))).toEqual({
      uidMappings: [mapping],
      gidMappings: [mapping],
    });
    const second = await load(root);
    expect(await second.getOrCreate(podOf('c'), undefined)).toEqual(namespaceOf(length));
    expect(await second.getOrCreate(podOf('b'), undefined)).toEqual(namespaceOf(2 * length));
  });

  it('are never allocated for a pod that has ended by what goes on for it', async () => {
    const root = directories.create();
    const namespaces = await load(root);
    const pod = podOf('a');
    await namespaces.getOrCreate(pod, undefined);
    expect(await namespaces.get(pod)).toEqual(namespaceOf(length));
    const abort = new AbortController();
    // They wait for their turn, and the pod ends in the meantime.
    const [released, late] = [namespaces.release('a'), namespaces.getOrCreate(pod, abort.signal)];
    abort.abort(new Error('the pod has ended'));
    await expect(late).rejects.toThrow('the pod has ended');
    await released;
    await expect(namespaces.get(pod)).rejects.toThrow('the pod a has no user namespace');
    expect(existsSync(fileOf(root, 'a'))).toBe(false);
    expect(await namespaces.getOrCreate(podOf('b'), undefined)).toEqual(namespaceOf(length));
  });

  it('are not written to a slow disk after the pod has ended', async () => {
    const root = directories.create();
    const abort = new AbortController();
    const mkdir: HostFiles['mkdir'] = async (path, options) => {
      abort.abort(new Error('the pod has ended'));
      return systemFiles.mkdir(path, options);
    };
    const namespaces = await load(root, 1, { ...systemFiles, mkdir });
    await expect(namespaces.getOrCreate(podOf('a'), abort.signal)).rejects.toThrow('the pod has ended');
    expect(readdirSync(root, { recursive: true })).toEqual([]);
    expect(await namespaces.getOrCreate(podOf('b'), undefined)).toEqual(namespaceOf(length));
  });

  it('TestCleanupOrphanedPodUsernsAllocations: of pods that are gone are released', async () => {
    const root = directories.create();
    const namespaces = await load(root);
    for (const uid of ['gone', 'kept']) await namespaces.getOrCreate(podOf(uid), undefined);
    await namespaces.releaseOrphans((uid) => uid === 'gone');
    expect(await namespaces.getOrCreate(podOf('new'), undefined)).toEqual(namespaceOf(length));
    expect(await namespaces.getOrCreate(podOf('kept'), undefined)).toEqual(namespaceOf(2 * length));
  });

  it('IDs that cannot be written to disk are given to another pod', async () => {
    const root = directories.create();
    const namespaces = await load(root);
    mkdirSync(join(root, 'pods'));
    writeFileSync(join(root, 'pods', 'a'), 'a file in the place of the folder');
    await expect(namespaces.getOrCreate(podOf('a'), undefined)).rejects.toThrow(/EEXIST|ENOTDIR/);
    expect(await namespaces.getOrCreate(podOf('b'), undefined)).toEqual(namespaceOf(length));
    rmSync(join(root, 'pods', 'a'));
    expect(await namespaces.getOrCreate(podOf('a'), undefined)).toEqual(namespaceOf(2 * length));
  });

  it.each([
    ['removed', false],
    ['neither used nor removed', true],
  ])('a file whose write failed at last can be %s, and the next agent starts', async (_, isStuck) => {
    const root = directories.create();
    let isBroken = true;
    const open: HostFiles['open'] = async (path, flags, mode) => {
      if (isBroken && flags === constants.O_RDONLY) throw new Error('EIO');
      return systemFiles.open(path, flags, mode);
    };
    const unlink: HostFiles['unlink'] = async (path) => {
      if (isStuck) throw new Error('EIO');
      return systemFiles.unlink(path);
    };
    const namespaces = await load(root, 3, { ...systemFiles, open, unlink });
    await expect(namespaces.getOrCreate(podOf('a'), undefined)).rejects.toThrow('EIO');
    expect(existsSync(fileOf(root, 'a'))).toBe(isStuck);
    isBroken = false;
    const ids = [];
    for (const uid of ['b', 'a']) ids.push(await namespaces.getOrCreate(podOf(uid), undefined));
    const [first, second] = [namespaceOf(length), namespaceOf(2 * length)];
    expect(ids).toEqual(isStuck ? [second, first] : [first, second]);
    await load(root);
  });

  it('a pod whose UID is a path gets none', async () => {
    const namespaces = await load(directories.create());
    await expect(namespaces.getOrCreate(podOf('../../etc'), undefined)).rejects.toThrow('is not the name of a file');
  });
});

describe('TestUserNsManagerParseUserNsFile: an agent does not start with', () => {
  const valid = { hostId: length, containerId: 0, length };
  it.each<[string, object, object?]>([
    ['root that is not mapped', { ...valid, containerId: 1 }],
    ['another length', { ...valid, length: length + 1 }],
    ['other GIDs than UIDs', valid, { ...valid, hostId: 2 * length }],
    ['IDs out of range', { ...valid, hostId: 100 * length }],
    ['IDs of users of the machine', { ...valid, hostId: 0 }],
    ['IDs between two pods', { ...valid, hostId: length + 1 }],
  ])('%s', async (_name, uids, gids = uids) => {
    const root = directories.create();
    writeMapping(root, 'a', uids, gids);
    await expect(load(root)).rejects.toThrow(/invalid user namespace configuration|out of range/);
  });

  it('two pods of the same IDs, or text that is no mapping', async () => {
    const root = directories.create();
    for (const uid of ['a', 'b']) writeMapping(root, uid, valid);
    await expect(load(root)).rejects.toThrow('already taken');
    writeFileSync(fileOf(root, 'b'), 'x');
    await expect(load(root)).rejects.toThrow('not valid JSON');
  });

  it.each([
    ['the IDs of users', { firstID: 0, length: 2 * length }],
    ['a start between two pods', { firstID: length + 1, length }],
    ['a part of a pod', { firstID: length, length: length + 1 }],
    ['more than there are', { firstID: length, length: 2 ** 32 }],
  ])('a range with %s', async (_name, range) => {
    await expect(UserNamespaces.load(systemFiles, directories.create(), range)).rejects.toThrow('The subordinate IDs');
  });
});

it.each([
  ['0: kubelet 65536 2147483648\n', { firstID: 65_536, length: 2_147_483_648 }],
  ['0: kubelet 65536 2147483648\n1: kubelet 5 6\n', undefined],
  ['0: kubelet 65536', undefined],
  ['0: kubelet 65536 -1', undefined],
  ['', undefined],
])('TestParseGetSubIdsOutput: %j', (output, expected) => {
  if (expected === undefined) expect(() => parseSubordinateIDs(output)).toThrow('error parsing');
  else expect(parseSubordinateIDs(output)).toEqual(expected);
});

describe('the IDs of pods', () => {
  const all = { firstID: 65_536, length: 2 ** 32 - 65_536 };
  const usersFile = (text: string): string => {
    const file = join(directories.create(), 'passwd');
    writeFileSync(file, text);
    return file;
  };
  const withKubelet = 'root:x:0:0:root:/root:/bin/bash\nkubelet:x:998:998::/:/usr/sbin/nologin\n';
  /** A `getsubids` with these outputs, for users and for groups. */
  const getsubids =
    (users: string, groups: string) =>
    async (program: string, args: readonly string[]): Promise<{ readonly stdout: string }> => {
      const outputs: Record<string, string> = { 'getsubids kubelet': users, 'getsubids -g kubelet': groups };
      return { stdout: outputs[[program, ...args].join(' ')]! };
    };
  const failing = (fields: object) => async (): Promise<never> => {
    throw Object.assign(new Error('getsubids failed'), fields);
  };

  it.each([
    ['there is no user kubelet', 'root:x:0:0::/:/bin/sh\nmykubelet:x:1:1::/:/bin/sh\n', getsubids('', '')],
    ['there is no user at all', '', getsubids('', '')],
    ['getsubids is not installed', withKubelet, failing({ code: 'ENOENT' })],
  ])('are all above those of users of the machine if %s', async (_name, users, run) => {
    expect(await readIDRange(usersFile(users), run)).toEqual(all);
  });

  it('are all above those of users of the machine if the users cannot be read', async () => {
    expect(await readIDRange(join(directories.create(), 'missing'), getsubids('', ''))).toEqual(all);
  });

  it('are the subordinate IDs of the user kubelet, which must be the same for users and groups', async () => {
    const output = '0: kubelet 65536 2147483648\n';
    const file = usersFile(withKubelet);
    expect(await readIDRange(file, getsubids(output, output))).toEqual({ firstID: 65_536, length: 2_147_483_648 });
    await expect(readIDRange(file, getsubids(output, '0: kubelet 65536 65536\n'))).rejects.toThrow(
      'mismatched subuids and subgids for user "kubelet"',
    );
    await expect(readIDRange(file, failing({ code: 1 }))).rejects.toThrow('getsubids failed');
  });
});
