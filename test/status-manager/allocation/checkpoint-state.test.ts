import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { encodeEnvelope } from '../../../src/status-manager/allocation/checkpoint-format.ts';
import { openCheckpointState } from '../../../src/status-manager/allocation/checkpoint-state.ts';
import { StatusManagerError } from '../../../src/shared/errors.ts';
import { cpu, podOf } from './pods.ts';

let dir: string;
const file = (name = 'allocated_pods_state'): string => path.join(dir, name);
const read = (name?: string): Promise<string> => readFile(file(name), 'utf8');
const resizeFile = 'pod_resize_status_state';

beforeEach(async () => {
  dir = path.join(await mkdtemp(path.join(tmpdir(), 'checkpoint-')), 'state');
});

afterEach(async () => {
  await rm(path.dirname(dir), { recursive: true, force: true });
});

describe('openCheckpointState', () => {
  it('starts empty in a new 0755 folder and writes nothing before the first change', async () => {
    const state = await openCheckpointState(dir);
    expect(state.getContainerResourceAllocation('u', 'app')).toBeUndefined();
    expect(await readdir(dir)).toEqual([]);
    expect((await stat(dir)).mode & 0o777).toBe(0o755 & ~process.umask());
  });

  it('restores its state after a restart; files have mode 0600 and no temporary file remains', async () => {
    const state = await openCheckpointState(dir);
    await state.setPodAllocation(podOf('u', { '<app>': cpu('1000m') }));
    await state.setPodResizeStatus('u', 'Deferred');
    expect((await readdir(dir)).sort()).toEqual(['allocated_pods_state', resizeFile]);
    for (const name of await readdir(dir)) expect((await stat(file(name))).mode & 0o777).toBe(0o600);

    const again = await openCheckpointState(dir);
    expect(again.getContainerResourceAllocation('u', '<app>')).toEqual(cpu('1'));
    expect(again.getPodResizeStatus('u')).toBe('Deferred');
  });

  it('reads the file of a kubelet and continues it', async () => {
    await mkdir(dir);
    await writeFile(file(), await readFile(new URL('testdata/one.json', import.meta.url)));
    const state = await openCheckpointState(dir);
    const granted = { limits: { cpu: '100m' }, requests: { cpu: '100m', memory: '64Mi' } };
    expect(state.getContainerResourceAllocation('uid-1', 'app')).toEqual(granted);
    await state.setPodAllocation(podOf('uid-0', { app: cpu('1') }));
    expect(await read()).toContain(
      String.raw`"{\"entries\":{\"uid-0\":{\"ContainerResources\":{\"app\":{\"requests\":{\"cpu\":\"1\"}}}`,
    );
    expect((await openCheckpointState(dir)).getContainerResourceAllocation('uid-1', 'app')).toEqual(granted);
  });

  it('does not write data that the file already has, also after a restart', async () => {
    await (await openCheckpointState(dir)).setPodAllocation(podOf('u', { app: cpu('1') }));
    const state = await openCheckpointState(dir);
    await rm(file());
    await state.setPodAllocation(podOf('u', { app: cpu('1000m') }));
    expect(await readdir(dir)).toEqual([]);
    await state.setPodAllocation(podOf('u', { app: cpu('2') }));
    expect(await readdir(dir)).toEqual(['allocated_pods_state']);
  });

  it('does not write for removals, which the next change writes', async () => {
    const state = await openCheckpointState(dir);
    for (const uid of ['a', 'b', 'c']) await state.setPodAllocation(podOf(uid, { app: cpu('1') }));
    const before = await read();
    state.delete('a');
    state.delete('b');
    expect(state.getContainerResourceAllocation('b', 'app')).toBeUndefined();
    await state.setPodResizeStatus('c', 'Proposed');
    expect(await read()).toBe(before);
    await state.setPodAllocation(podOf('d', { app: cpu('1') }));
    const after = await openCheckpointState(dir);
    const known = ['a', 'b', 'c', 'd'].filter((uid) => after.getContainerResourceAllocation(uid, 'app'));
    expect(known).toEqual(['c', 'd']);
  });

  it('has a change in memory immediately, runs one write at a time and ends with the newest data', async () => {
    const state = await openCheckpointState(dir);
    const writes: Promise<void>[] = [];
    for (let i = 1; i <= 200; i++) {
      writes.push(state.setPodAllocation(podOf('u', { app: cpu(String(i)) })));
      expect(state.getContainerResourceAllocation('u', 'app')).toEqual(cpu(String(i)));
      if (i % 50 === 0) await writes[i - 10];
    }
    await Promise.all(writes);
    expect((await openCheckpointState(dir)).getContainerResourceAllocation('u', 'app')).toEqual(cpu('200'));
    expect(await readdir(dir)).toEqual(['allocated_pods_state']);
  });

  it('overwrites what a crash has left of an earlier write', async () => {
    await mkdir(dir);
    await writeFile(file('.allocated_pods_state'), 'half of it');
    await chmod(file('.allocated_pods_state'), 0o644);
    const state = await openCheckpointState(dir);
    await state.setPodAllocation(podOf('u', { app: cpu('1') }));
    expect(await readdir(dir)).toEqual(['allocated_pods_state']);
    expect((await stat(file())).mode & 0o777).toBe(0o600);
  });

  it('rejects a change that cannot be written, keeps it in memory, and writes it with the next', async () => {
    const state = await openCheckpointState(dir);
    await rm(dir, { recursive: true });
    const failed = state.setPodAllocation(podOf('u', { app: cpu('1') }));
    await expect(failed).rejects.toMatchObject({
      code: 'CHECKPOINT_WRITE_FAILED',
      message: expect.stringContaining('the change is in memory only: ENOENT'),
      cause: { code: 'ENOENT' },
    });
    await expect(failed).rejects.toThrow(file());
    expect(state.getContainerResourceAllocation('u', 'app')).toEqual(cpu('1'));
    await mkdir(dir);
    await state.setPodAllocation(podOf('u', { app: cpu('1') }));
    expect((await openCheckpointState(dir)).getContainerResourceAllocation('u', 'app')).toEqual(cpu('1'));
  });

  it('leaves nothing behind when the last step of a write fails', async () => {
    const state = await openCheckpointState(dir);
    await mkdir(path.join(file(), 'in the way'), { recursive: true });
    await expect(state.setPodAllocation(podOf('u', { app: cpu('1') }))).rejects.toMatchObject({
      code: 'CHECKPOINT_WRITE_FAILED',
    });
    expect(await readdir(dir)).toEqual(['allocated_pods_state']);
  });

  it('rejects an invalid change without writing', async () => {
    const state = await openCheckpointState(dir);
    await expect(state.setPodAllocation(podOf('', { app: cpu('1') }))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await expect(state.setPodResizeStatus('u', 'x' as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    expect(await readdir(dir)).toEqual([]);
  });

  it('rejects when the directory cannot be created', async () => {
    await writeFile(dir, 'a file');
    await expect(openCheckpointState(dir)).rejects.toMatchObject({ code: 'CHECKPOINT_WRITE_FAILED' });
  });

  const good = '{"entries":{}}';
  it.each([
    ['nothing', '', 'JSON'],
    ['no JSON', 'entries', 'JSON'],
    ['an empty object', '{}', '`data` and `checksum`'],
    ['null', 'null', '`data` and `checksum`'],
    ['a list', '[]', '`data` and `checksum`'],
    ['data that is no string', '{"data":{"entries":{}},"checksum":0}', '`data` is not a string'],
    ['a changed byte', encodeEnvelope(good).replace('entries', 'Entries'), 'checksum'],
    ['another checksum', encodeEnvelope(good).replace(/\d+/, '1'), 'checksum'],
    ['half a file', encodeEnvelope(good).slice(0, -4), 'JSON'],
    [
      'the format of an older kubelet',
      encodeEnvelope('{"allocationEntries":{},"resizeStatusEntries":{}}'),
      'before v1.33',
    ],
    ['data that is no JSON', encodeEnvelope('{'), 'JSON'],
    ['data without entries', encodeEnvelope('{}'), '`entries`'],
    ['entries that are a list', encodeEnvelope('{"entries":[]}'), 'data.entries'],
    [
      'a bad quantity',
      encodeEnvelope('{"entries":{"u":{"ContainerResources":{"a":{"limits":{"cpu":"x"}}}}}}'),
      'data.entries.u.ContainerResources.a.limits.cpu',
    ],
  ])('refuses a file with %s with its name and the way out, and does not modify it', async (_, text, reason) => {
    await mkdir(dir);
    await writeFile(file(), text);
    const error = await openCheckpointState(dir).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(StatusManagerError);
    expect(error).toMatchObject({ code: 'CORRUPT_CHECKPOINT' });
    const { message } = error as Error;
    expect(message).toContain(file());
    expect(message).toContain(reason);
    expect(message).toContain('Drain the node, delete the file');
    expect(await read()).toBe(text);
  });

  it('refuses a file of resize statuses with an unknown one', async () => {
    await mkdir(dir);
    await writeFile(file(resizeFile), encodeEnvelope('{"entries":{"u":"Maybe"}}'));
    await expect(openCheckpointState(dir)).rejects.toThrow(file(resizeFile));
  });

  it.each<[string, (path: string) => unknown, string]>([
    // As a file that may not be read (EACCES), but for root, too.
    ['cannot be read', (path) => symlink(path, path), 'ELOOP'],
    ['is a directory', (path) => mkdir(path), 'is a directory, not a regular file'],
    ['is a FIFO', (path) => execFileSync('mkfifo', [path]), 'is a FIFO, not a regular file'],
    ['is a device', (path) => symlink('/dev/zero', path), 'is a device, not a regular file'],
    ['is larger than any checkpoint', (path) => writeFile(path, '').then(() => truncate(path, 2 ** 33)), 'is larger'],
  ])('a file that %s is not called corrupt, without the advice to delete it', async (_what, create, reason) => {
    await mkdir(dir);
    for (const name of ['allocated_pods_state', resizeFile]) {
      await rm(dir, { recursive: true });
      await mkdir(dir);
      await create(file(name));
      const error = await openCheckpointState(dir).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ code: 'CHECKPOINT_READ_FAILED' });
      const { message } = error as Error;
      expect(message).toContain(file(name));
      expect(message).toContain(reason);
      expect(message).not.toContain('delete');
    }
  });
});
