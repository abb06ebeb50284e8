import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readCRILog } from '../../examples/node-agent/logs-command.ts';
import { CRILog } from '../../src/process-runtime/cri-log.ts';

/** Only root can mount a disk that is small enough to become full. */
const whyNoDisk = process.platform === 'linux' && process.getuid?.() === 0 ? '' : ' (skipped: needs Linux and root)';

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'cri-'));
  file = join(directory, '0.log');
});
afterEach(() => rmSync(directory, { recursive: true }));

const entries = (): string[] => readFileSync(file, 'utf8').trimEnd().split('\n');
/** Without the times. */
const written = (): string[] => entries().map((entry) => entry.replace(/^\S+ /, ''));

describe('CRILog', () => {
  it('writes a line when it is complete, independent of the chunks', () => {
    const log = new CRILog(file);
    for (const chunk of ['a', 'b\nc', '\n', '\n', 'é'.slice(0, 1)]) log.write('stdout', Buffer.from(chunk));
    log.write('stderr', Buffer.from('mixed in\n'));
    log.close();
    expect(written()).toEqual(['stdout F ab', 'stdout F c', 'stdout F ', 'stderr F mixed in', 'stdout F é']);
    expect(readCRILog(readFileSync(file, 'utf8'))).toBe('ab\nc\n\nmixed in\né\n');
  });

  it('keeps a character intact that is split over two chunks', () => {
    const log = new CRILog(file);
    const bytes = Buffer.from('€\n');
    for (const byte of bytes) log.write('stdout', Buffer.of(byte));
    log.close();
    expect(written()).toEqual(['stdout F €']);
  });

  it('writes a long line in parts of 16 KiB, which a reader joins', () => {
    const log = new CRILog(file);
    const line = 'x'.repeat(40_000);
    log.write('stdout', Buffer.from(`${line}\nnext\n`));
    log.close();
    expect(written().map((entry) => [entry.slice(0, 8), entry.length - 9])).toEqual([
      ['stdout P', 16_384],
      ['stdout P', 16_384],
      ['stdout F', 7232],
      ['stdout F', 4],
    ]);
    expect(readCRILog(readFileSync(file, 'utf8'))).toBe(`${line}\nnext\n`);
  });

  it('keeps one older file when it is rotated', () => {
    const log = new CRILog(file, 100);
    for (let i = 0; i < 10; i++) log.write('stdout', Buffer.from(`line ${i}\n`));
    log.close();
    expect(readCRILog(readFileSync(`${file}.1`, 'utf8'))).toBe('line 6\nline 7\nline 8\n');
    expect(readCRILog(readFileSync(file, 'utf8'))).toBe('line 9\n');
    expect(existsSync(`${file}.2`)).toBe(false);
  });

  it('continues an existing file, and keeps the end of the output for the termination message', () => {
    new CRILog(file).write('stdout', Buffer.from('first\n'));
    const log = new CRILog(file);
    for (let i = 0; i < 500; i++) log.write('stdout', Buffer.from(`${i}\n`));
    expect(entries()).toHaveLength(501);
    expect(log.tail.split('\n')).toHaveLength(81);
    expect(log.tail).toMatch(/^420\n[^]*\n499\n$/);
    log.write('stderr', Buffer.from('y'.repeat(5000)));
    expect(log.tail).toBe('y'.repeat(2048));
    log.close();
  });

  it('is written again after its file was deleted, or could not be opened, when it was full', () => {
    const log = new CRILog(file, 100);
    log.write('stdout', Buffer.from(`${'x'.repeat(200)}\n`));
    rmSync(file);
    log.write('stdout', Buffer.from('next\n'));
    log.close();
    expect(written()).toEqual(['stdout F next']);
  });

  it.skipIf(whyNoDisk !== '')(
    `on a full disk, has only complete entries, and says how many bytes are missing${whyNoDisk}`,
    () => {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', directory]);
      try {
        const log = new CRILog(file);
        const other = join(directory, 'other');
        writeFileSync(other, 'x'.repeat(40_000));
        for (let i = 0; i < 100; i++) log.write('stdout', Buffer.from(`${i} ${'y'.repeat(1000)}\n`));
        const before = written();
        expect(before.length).toBeGreaterThan(5);
        expect(before.length).toBeLessThan(50);
        rmSync(other);
        log.write('stdout', Buffer.from('there is space again\n'));
        log.close();
        const lost = written().slice(before.length);
        expect(lost).toEqual([
          expect.stringMatching(/^stderr F \[\d{5} bytes of the log are missing\]$/),
          'stdout F there is space again',
        ]);
        for (const entry of before) expect(entry).toMatch(/^stdout F \d+ y{1000}$/);
      } finally {
        execFileSync('umount', [directory]);
      }
    },
  );
});
