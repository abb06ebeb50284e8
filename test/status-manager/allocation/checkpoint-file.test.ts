import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Disk, systemDisk } from '../../../src/shared/disk.ts';
import { encodeEnvelope } from '../../../src/status-manager/allocation/checkpoint-format.ts';
import { CheckpointFile, readCheckpoint } from '../../../src/status-manager/allocation/checkpoint-file.ts';

let dir: string;

beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'checkpoint-file-'));
});

afterEach(async () => {
  await rm(dir, { recursive: true, force: true });
});

describe('CheckpointFile', () => {
  it('calls during a write share one more write of the newest data', async () => {
    const filePath = path.join(dir, 'file');
    let data = 'first';
    const encoded: string[] = [];
    const file = new CheckpointFile(systemDisk, filePath, undefined, () => {
      encoded.push(data);
      // The write has begun: these come too late for it.
      if (encoded.length === 1) {
        data = 'second';
        late = [file.write(), file.write()];
        data = 'third';
        late.push(file.write());
      }
      return encoded.at(-1)!;
    });
    let late: Promise<void>[] = [];
    await file.write();
    expect(await readFile(filePath, 'utf8')).toBe(encodeEnvelope('first'));
    await Promise.all(late);
    expect(encoded).toEqual(['first', 'third']);
    expect(await readFile(filePath, 'utf8')).toBe(encodeEnvelope('third'));
  });

  it('tries again after a failed write, the data unchanged', async () => {
    const file = new CheckpointFile(systemDisk, path.join(dir, 'file'), undefined, () => 'data');
    await rm(dir, { recursive: true });
    await expect(file.write()).rejects.toMatchObject({ code: 'CHECKPOINT_WRITE_FAILED' });
    await mkdir(dir);
    await file.write();
    expect(await readFile(path.join(dir, 'file'), 'utf8')).toBe(encodeEnvelope('data'));
  });

  it('a write that fails after its effect is not taken for one without', async () => {
    const filePath = path.join(dir, 'file');
    const rename: Disk['rename'] = (from, to) => {
      systemDisk.rename(from, to);
      if (data === 'second') throw new Error('EIO');
    };
    let data = 'first';
    const file = new CheckpointFile({ ...systemDisk, rename }, filePath, undefined, () => data);
    await file.write();
    data = 'second';
    await expect(file.write()).rejects.toMatchObject({ code: 'CHECKPOINT_WRITE_FAILED' });
    data = 'first';
    await file.write();
    expect(await readFile(filePath, 'utf8')).toBe(encodeEnvelope('first'));
  });

  it('never writes what the next process could not read, whatever the pods say', async () => {
    const filePath = path.join(dir, 'file');
    let data = 'first';
    const file = new CheckpointFile(systemDisk, filePath, undefined, () => data);
    await file.write();
    data = 'x'.repeat(64 * 2 ** 20 + 1);
    await expect(file.write()).rejects.toMatchObject({
      code: 'CHECKPOINT_WRITE_FAILED',
      message: expect.stringContaining('over 67108864 bytes') as string,
    });
    expect(await readCheckpoint(systemDisk, filePath, (text) => text)).toMatchObject({ value: 'first' });
  });
});
