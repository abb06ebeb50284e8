import { appendFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { fixedWidthTime, parseLogLine } from '../../src/kubelet-api/parse-log-line.ts';
import { readLogs } from '../../src/kubelet-api/read-logs.ts';
import type { ContainerLogOptions } from '../../src/node/runtime/streaming-runtime.ts';
import { systemClock } from '../../src/shared/clock.ts';
import { FakeClock } from '../../src/testing/fake-clock.ts';
import { TestDirectories } from '../support/directories.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

function logFile(...lines: readonly string[]): string {
  const path = join(directories.create(), '0.log');
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
  return path;
}

/** Reads the log of a container that has ended. */
async function read(path: string, options: ContainerLogOptions): Promise<string> {
  const chunks: Buffer[] = [];
  await readLogs(path, options, {
    clock: systemClock,
    write: async (chunk) => void chunks.push(chunk),
    isRunning: async () => false,
    signal: new AbortController().signal,
  });
  return Buffer.concat(chunks).toString();
}

// kubelet: TestReadLogs, with its case names, in the CRI's format.
describe('readLogs', () => {
  const sinceMs = Date.parse('2020-09-27T11:18:02Z');
  it.each<[string, ContainerLogOptions, string]>([
    ['default pod log options should output all lines', {}, 'line1\nline2\nline3\n'],
    ['using TailLines 2 should output last 2 lines', { tailLines: 2 }, 'line2\nline3\n'],
    [
      'using TailLines 4 should output all lines when the log has less than 4 lines',
      { tailLines: 4 },
      'line1\nline2\nline3\n',
    ],
    ['using TailLines 0 should output nothing', { tailLines: 0 }, ''],
    ['using LimitBytes 9 should output first 9 bytes', { limitBytes: 9 }, 'line1\nlin'],
    [
      'using LimitBytes 100 should output all bytes when the log has less than 100 bytes',
      { limitBytes: 100 },
      'line1\nline2\nline3\n',
    ],
    ['using LimitBytes 0 should output nothing', { limitBytes: 0 }, ''],
    ['using SinceTime should output lines with a time on or after the specified time', { sinceMs }, 'line2\nline3\n'],
    ['using SinceTime now should output nothing', { sinceMs: Date.now() }, ''],
    ['using follow should output all log lines', { follow: true }, 'line1\nline2\nline3\n'],
    [
      'using follow combined with TailLines 2 should output the last 2 lines',
      { follow: true, tailLines: 2 },
      'line2\nline3\n',
    ],
    [
      'using follow combined with SinceTime should output lines with a time on or after the specified time',
      { follow: true, sinceMs },
      'line2\nline3\n',
    ],
  ])('%s', async (_name, options, expected) => {
    const path = logFile(
      '2020-09-27T11:18:01.00000000Z stdout F line1',
      '2020-09-27T11:18:02.00000000Z stdout F line2',
      '2020-09-27T11:18:03.00000000Z stdout F line3',
    );
    expect(await read(path, options)).toBe(expected);
  });

  // kubelet: TestWriteLogs, TestWriteLogsWithBytesLimit, TestOnlyStdoutStream.
  it.each<[string, ContainerLogOptions, string]>([
    ['stdout only', { stream: 'stdout' }, 'out1\nout2\n'],
    ['stderr only', { stream: 'stderr' }, 'err1\n'],
    ['the first 7 bytes from stdout', { stream: 'stdout', limitBytes: 7 }, 'out1\nou'],
    ['limit bytes with timestamp', { timestamps: true, limitBytes: 38 }, '2020-09-27T11:18:01.500000000Z out1\n20'],
  ])('%s', async (_name, options, expected) => {
    const path = logFile(
      '2020-09-27T11:18:01.5Z stdout F out1',
      '2020-09-27T11:18:01.5Z stderr F err1',
      '2020-09-27T11:18:01.5Z stdout F out2',
    );
    expect(await read(path, options)).toBe(expected);
  });

  // kubelet: TestReadLogsLimitsWithTimestamps.
  it('puts one time in front of a line of many parts', async () => {
    const time = '2022-10-29T16:10:22.592603036-05:00';
    const parts = Array.from({ length: 10_000 }, (_, i) => `${time} stdout P ${i}`);
    const line = [...parts, `${time} stdout F `];
    const lines = (await read(logFile(...line, ...line), { timestamps: true })).split('\n');
    expect(lines).toHaveLength(3);
    for (const text of lines.slice(0, 2)) {
      expect(text.startsWith(`${time} 01`)).toBe(true);
      expect(text.endsWith('9999')).toBe(true);
    }
  });

  it('finds the last lines in a file of several blocks', async () => {
    const lines = Array.from({ length: 5000 }, (_, i) => `2020-09-27T11:18:01Z stdout F line ${i} of many`);
    expect(await read(logFile(...lines), { tailLines: 2 })).toBe('line 4998 of many\nline 4999 of many\n');
    expect(await read(logFile(...lines), { tailLines: 4000 })).toMatch(/^line 1000 of many\n/);
  });

  it('writes a line without its end, which a container that was killed may leave', async () => {
    const path = logFile('2020-09-27T11:18:01Z stdout F line1');
    appendFileSync(path, '2020-09-27T11:18:01Z stdout F li');
    expect(await read(path, {})).toBe('line1\nli');
  });

  it('refuses a file of another format, and skips single lines of one', async () => {
    await expect(read(logFile('plain text'), {})).rejects.toThrow('unsupported log format');
    expect(
      await read(logFile('2020-09-27T11:18:01Z stdout F a', 'damaged', '2020-09-27T11:18:01Z stdout F b'), {}),
    ).toBe('a\nb\n');
  });

  // kubelet: TestReadRotatedLog; here the new file has lines before it is noticed.
  it('follows a log over its rotation', async () => {
    const path = logFile('2020-09-27T11:18:01Z stdout F line1');
    let isRunning = true;
    let text = '';
    const steps: Record<string, () => void> = {
      'line1\n': () => {
        appendFileSync(path, '2020-09-27T11:18:01Z stdout F line2\n');
        renameSync(path, `${path}.20200927-111801`);
        writeFileSync(path, '2020-09-27T11:18:02Z stdout F line3\n');
      },
      'line1\nline2\nline3\n': () => {
        appendFileSync(path, '2020-09-27T11:18:02Z stdout F line4\n');
        isRunning = false;
      },
    };
    await readLogs(
      path,
      { follow: true },
      {
        clock: systemClock,
        write: async (chunk) => {
          text += chunk.toString();
          steps[text]?.();
        },
        isRunning: async () => isRunning,
        signal: new AbortController().signal,
      },
    );
    expect(text).toBe('line1\nline2\nline3\nline4\n');
  });

  it('follows a log that is written when nobody is notified, within a second', async () => {
    const path = logFile('2020-09-27T11:18:01Z stdout F line1');
    const clock = new FakeClock();
    let [text, isRunning, asked] = ['', true, 0];
    const reading = readLogs(
      path,
      { follow: true },
      {
        clock,
        write: async (chunk) => void (text += chunk.toString()),
        isRunning: async () => ((asked += 1), isRunning),
        signal: new AbortController().signal,
      },
    );
    // At first at once, in case a notification was missed; then once a second.
    await expect.poll(() => clock.pendingTimers).toBe(1);
    expect([text, asked]).toEqual(['line1\n', 2]);
    isRunning = false;
    clock.advance(1000);
    await reading;
    expect([asked, clock.pendingTimers]).toEqual([3, 0]);
  });

  it('reads what was written before the container has ended, and no more than wanted', async () => {
    const path = logFile('2020-09-27T11:18:01Z stdout F line1');
    let text = '';
    await readLogs(
      path,
      { follow: true },
      {
        clock: new FakeClock(),
        write: async (chunk) => void (text += chunk.toString()),
        isRunning: async () => {
          appendFileSync(path, '2020-09-27T11:18:01Z stdout F last\n2020-09-27T11:18:01Z stdout F incompl');
          return false;
        },
        signal: new AbortController().signal,
      },
    );
    expect(text).toBe('line1\nlast\n');
  });

  it('ends while it waits when the client is gone', async () => {
    const client = new AbortController();
    const clock = new FakeClock();
    const reading = readLogs(
      logFile('2020-09-27T11:18:01Z stdout F line1'),
      { follow: true },
      { clock, write: async () => {}, isRunning: async () => true, signal: client.signal },
    );
    await expect.poll(() => clock.pendingTimers).toBe(1);
    client.abort();
    await reading;
    expect(clock.pendingTimers).toBe(0);
  });

  it('does not count an incomplete line at the end as one of the last lines', async () => {
    const path = logFile('2020-09-27T11:18:01Z stdout F line1', '2020-09-27T11:18:01Z stdout F line2');
    appendFileSync(path, '2020-09-27T11:18:01Z stdout F li');
    expect(await read(path, { tailLines: 1 })).toBe('line2\n');
  });

  it('an empty log has no text', async () => {
    for (const options of [{}, { tailLines: 2 }, { follow: true }]) expect(await read(logFile(), options)).toBe('');
  });

  it('waits for the client before it writes more', async () => {
    const path = logFile(...Array.from({ length: 5000 }, (_, i) => `2020-09-27T11:18:01Z stdout F line ${i}`));
    let [writing, most] = [0, 0];
    await readLogs(
      path,
      {},
      {
        clock: systemClock,
        write: async () => {
          most = Math.max(most, (writing += 1));
          await Promise.resolve();
          writing -= 1;
        },
        isRunning: async () => false,
        signal: new AbortController().signal,
      },
    );
    expect(most).toBe(1);
  });

  it('ends when the client is gone', async () => {
    const client = new AbortController();
    const reading = readLogs(
      logFile('2020-09-27T11:18:01Z stdout F line1'),
      { follow: true },
      {
        clock: systemClock,
        write: async () => {},
        isRunning: async () => {
          client.abort();
          return true;
        },
        signal: client.signal,
      },
    );
    await expect(reading).resolves.toBeUndefined();
  });
});

// kubelet: TestParseLog.
describe('parseLogLine', () => {
  it.each([
    ['CRI log format stdout', '2016-10-20T18:39:20.57606443Z stdout F a test log\n', 'stdout', 'a test log\n'],
    ['CRI log format stderr', '2016-10-20T18:39:20.57606443Z stderr F a test log\n', 'stderr', 'a test log\n'],
    ['Partial CRI log line', '2016-10-20T18:39:20.57606443Z stdout P a part\n', 'stdout', 'a part'],
    [
      'Partial CRI log line with multiple log tags',
      '2016-10-20T18:39:20.57606443Z stdout P:TAG1:TAG2 a part\n',
      'stdout',
      'a part',
    ],
  ])('%s', (_name, line, stream, text) => {
    const parsed = parseLogLine(Buffer.from(line));
    expect(parsed).toMatchObject({ stream, epochMs: Date.parse('2016-10-20T18:39:20.576Z') });
    expect(parsed?.text.toString()).toBe(text);
  });

  it.each([
    'unsupported log format test log\n',
    '2016-10-20T18:39:20Z stdlog F text\n',
    '2016-13-20T18:39:20Z stdout F text\n',
    '2016-10-20T18:39:20Z stdout\n',
    '2016-10-20T18:39:20Z stdout F',
    '2016-10-20T18:39:20 stdout F text\n',
    'x2016-10-20T18:39:20Z stdout F text\n',
    '2016-10-20T18:39:20.Z stdout F text\n',
    '2016-10-20T18:39:20.1234567890Z stdout F text\n',
    '',
  ])('returns undefined for %j', (line) => {
    expect(parseLogLine(Buffer.from(line))).toBeUndefined();
  });

  it('prints times in one width', () => {
    expect(fixedWidthTime('2016-10-20T18:39:20Z')).toBe('2016-10-20T18:39:20.000000000Z');
    expect(fixedWidthTime('2016-10-20T18:39:20.57606443+02:00')).toBe('2016-10-20T18:39:20.576064430+02:00');
  });

  it.each([
    ['an empty line', '2016-10-20T18:39:20Z stdout F \n', '\n'],
    ['a line of spaces', '2016-10-20T18:39:20Z stdout F   \n', '  \n'],
    ['a line without its end', '2016-10-20T18:39:20Z stdout F text', 'text'],
    ['a part without its end', '2016-10-20T18:39:20Z stdout P text', 'text'],
    ['an unknown tag', '2016-10-20T18:39:20Z stdout X text\n', 'text\n'],
    ['bytes that are not UTF-8', '2016-10-20T18:39:20-07:00 stdout F \u00ff\n', '\u00ff\n'],
  ])('has the text of %s', (_name, line, text) => {
    expect(parseLogLine(Buffer.from(line, 'latin1'))?.text.toString('latin1')).toBe(text);
  });
});

it('a log that is being rotated is read as soon as the runtime has opened it again', async () => {
  const path = join(directories.create(), '0.log');
  const chunks: Buffer[] = [];
  await readLogs(
    path,
    {},
    {
      clock: systemClock,
      write: async (chunk) => void chunks.push(chunk),
      // Waits until the log has been rotated.
      isRunning: async () => {
        writeFileSync(path, '2020-09-27T11:18:01.000000000Z stdout F line1\n');
        return true;
      },
      signal: new AbortController().signal,
    },
  );
  expect(Buffer.concat(chunks).toString()).toBe('line1\n');
});
