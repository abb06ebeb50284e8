import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readEnvFile } from '../../../src/node/container-options/make-environment.ts';
import { diskUsage } from '../../../src/node/host-paths/disk-usage.ts';
import { HostDirectory } from '../../../src/node/host-paths/host-directory.ts';
import { readEnd } from '../../../src/node/host-paths/host-file.ts';
import { isMountPoint, unmountAll } from '../../../src/node/host-paths/mounts.ts';
import { removeAll } from '../../../src/node/host-paths/remove-all.ts';
import { TestDirectories } from '../../support/directories.ts';
import { canHold, hold, releaseAll } from '../../support/hostile-pod/hold.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

// An operation that waits for a pod is one that takes longer than a test may: a lease is taken away after 45 s.
const directories = new TestDirectories();
let folder: string;
let volume: string;
beforeEach(() => {
  folder = realpathSync(directories.create());
  volume = join(folder, 'volume');
  mkdirSync(volume);
});
afterEach(async () => {
  await releaseAll();
  await unmountAll(systemFiles, folder);
  directories.removeAll();
});

const use = <Result>(work: (directory: HostDirectory) => Promise<Result>): Promise<Result> =>
  HostDirectory.use(systemFiles, volume, [], work);

describe.skipIf(!canHold('lease'))('a file whose lease a container holds (needs Linux and Python)', () => {
  let file: string;
  beforeEach(async () => {
    file = join(volume, 'file');
    writeFileSync(file, "KEY='value'\n");
    await hold('lease', file);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['read', () => use((directory) => directory.openFile('file'))],
    ['written', () => use((directory) => directory.writeFile('file', 'x', 0o644))],
    ['read as a termination message', () => readEnd(systemFiles, file, 100)],
    ['read for environment variables', () => readEnvFile(systemFiles, volume, 'file', 'KEY')],
  ])('is not waited for to be %s: it is busy', async (_, work) => {
    await expect(work()).rejects.toThrow('the file is busy: a process holds a lease of it');
    await releaseAll();
    expect(readFileSync(file, 'utf8')).toBe("KEY='value'\n");
  });

  it.each<[string, (directory: HostDirectory) => Promise<unknown>]>([
    ['measured', () => HostDirectory.use(systemFiles, folder, [], (directory) => diskUsage(directory, 'volume'))],
    ['moved', (directory) => directory.rename('file', directory, 'other')],
    ['given another owner', (directory) => directory.chown('file', -1, process.getgid!())],
    ['given another mode', (directory) => directory.chmod('file', 0o600)],
    ['referred to', async (directory) => (await directory.openReference('file')).close()],
    ['removed', (directory) => removeAll(directory, 'file')],
  ])('is %s at once', async (_, work) => {
    await expect(use(work)).resolves.not.toThrow();
  });

  it('is read when the lease has ended', async () => {
    await releaseAll();
    expect(await readEnvFile(systemFiles, volume, 'file', 'KEY')).toBe('value');
  });
});

describe.skipIf(!canHold('fuse'))('a mounted file system that does not respond (needs root and FUSE)', () => {
  const measured = (name: string): Promise<{ readonly inodes: number }> =>
    HostDirectory.use(systemFiles, folder, [], (directory) => diskUsage(directory, name));
  beforeEach(async () => {
    mkdirSync(join(volume, 'sub', 'silent'), { recursive: true });
    await hold('fuse', join(volume, 'sub', 'silent'));
  });

  it('in a volume is not touched to measure the volume', async () => {
    expect((await measured('volume')).inodes).toBe(2);
  });

  it('in place of a volume is not touched to measure it', async () => {
    expect(
      (await HostDirectory.use(systemFiles, join(volume, 'sub'), [], (sub) => diskUsage(sub, 'silent'))).inodes,
    ).toBe(0);
  });

  it('is found as a mount point', async () => {
    expect(await isMountPoint(systemFiles, join(volume, 'sub', 'silent'))).toBe(true);
  });

  it('is left by a removal, which fails', async () => {
    writeFileSync(join(volume, 'file'), '');
    await expect(
      HostDirectory.use(systemFiles, folder, [], (directory) => removeAll(directory, 'volume')),
    ).rejects.toThrow('EBUSY');
    expect(existsSync(join(volume, 'file'))).toBe(false);
  });

  it('is unmounted', async () => {
    await unmountAll(systemFiles, folder);
    expect(await isMountPoint(systemFiles, join(volume, 'sub', 'silent'))).toBe(false);
  });
});

describe('what is not a regular file', () => {
  let server: Server;
  beforeEach(async () => {
    execFileSync('mkfifo', [join(volume, 'fifo')]);
    server = createServer();
    await new Promise<void>((resolve) => void server.listen(join(volume, 'socket'), resolve));
    if (process.getuid?.() === 0) execFileSync('mknod', [join(volume, 'device'), 'c', '1', '5']);
    else mkdirSync(join(volume, 'device'));
  });
  afterEach(() => void server.close());

  it.each(['fifo', 'socket', 'device'])('is neither opened nor written, but removed: %s', async (name) => {
    await expect(use((directory) => directory.openFile(name))).rejects.toThrow('not a regular file');
    await expect(use((directory) => directory.writeFile(name, 'x', 0o600))).rejects.toThrow('not a regular file');
    await expect(readEnd(systemFiles, join(volume, name), 10)).rejects.toThrow('not a regular file');
    await use((directory) => removeAll(directory, name));
    expect(existsSync(join(volume, name))).toBe(false);
  });
});
