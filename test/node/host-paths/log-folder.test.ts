import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readAll } from '../../../src/node/host-paths/host-file.ts';
import { useLogFolder } from '../../../src/node/host-paths/log-folder.ts';
import { TestDirectories } from '../../support/directories.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

const directories = new TestDirectories();
let logs: string;
beforeEach(() => {
  logs = join(directories.create(), 'logs');
  mkdirSync(join(logs, 'pod', 'app'), { recursive: true });
  mkdirSync(join(logs, 'secret', 'app'), { recursive: true });
  writeFileSync(join(logs, 'pod', 'app', '0.log'), 'log');
  writeFileSync(join(logs, 'secret', 'app', '0.log'), 'secret');
});
afterEach(() => directories.removeAll());

const read = (): Promise<string> =>
  useLogFolder(systemFiles, join(logs, 'pod', 'app', '0.log'), async (folder, name) =>
    (await readAll(await folder.openFile(name), 100)).toString(),
  );

describe('the log of a container', () => {
  it('is read, also below a link of the administrator', async () => {
    expect(await read()).toBe('log');
    renameSync(logs, `${logs}-moved`);
    symlinkSync(`${logs}-moved`, logs);
    expect(await read()).toBe('log');
  });

  it.each([
    ['the log', 'pod/app/0.log', 'secret/app/0.log', 'not a regular file'],
    ['its folder', 'pod/app', 'secret/app', 'ENOTDIR'],
    ["the pod's folder", 'pod', 'secret', 'ENOTDIR'],
  ])('is never another file, when a pod has put a link in place of %s', async (_, path, target, why) => {
    renameSync(join(logs, path), join(logs, 'moved'));
    symlinkSync(join(logs, target), join(logs, path));
    await expect(read()).rejects.toThrow(why);
  });
});
