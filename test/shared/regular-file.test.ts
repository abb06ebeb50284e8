import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { readRegularFile } from '../../src/shared/regular-file.ts';

const directory = mkdtempSync(join(tmpdir(), 'regular-file-'));
afterAll(() => rmSync(directory, { recursive: true }));

function file(name: string, content: string | Buffer): string {
  const path = join(directory, name);
  writeFileSync(path, content);
  return path;
}

describe('readRegularFile', () => {
  it.each([0, 1, 65_536, 200_000])('reads %i bytes', async (length) => {
    const content = Buffer.alloc(length, 'ab');
    expect((await readRegularFile(file('sized', content), 200_000)).equals(content)).toBe(true);
  });

  it('follows a symbolic link, as those of a mounted service account', async () => {
    const link = join(directory, 'link');
    symlinkSync(file('target', 'token'), link);
    expect((await readRegularFile(link, 10)).toString()).toBe('token');
  });

  it('refuses a file that is too large, and names it', async () => {
    const path = file('large', 'x'.repeat(11));
    await expect(readRegularFile(path, 10)).rejects.toMatchObject({
      code: 'FILE_TOO_LARGE',
      message: `${path} is larger than 10 bytes`,
    });
  });

  it('refuses a directory', async () => {
    await expect(readRegularFile(directory, 10)).rejects.toMatchObject({ code: 'NOT_A_REGULAR_FILE' });
  });

  it.skipIf(process.platform === 'win32')(
    'refuses a FIFO instead of waiting for somebody who writes to it',
    async () => {
      const path = join(directory, 'fifo');
      execFileSync('mkfifo', [path]);
      await expect(readRegularFile(path, 10)).rejects.toMatchObject({
        code: 'NOT_A_REGULAR_FILE',
        message: `${path} is a FIFO, not a regular file`,
      });
    },
  );

  it.skipIf(process.platform === 'win32')('refuses a device that never ends', async () => {
    await expect(readRegularFile('/dev/zero', 10)).rejects.toMatchObject({
      message: '/dev/zero is a device, not a regular file',
    });
  });

  it('rejects with the error of the file system', async () => {
    await expect(readRegularFile(join(directory, 'absent'), 10)).rejects.toMatchObject({ code: 'ENOENT' });
  });
});
