import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { CRIMessage } from '../../src/cri/cri-messages.ts';
import { readTerminationMessage } from '../../src/cri/runtime-pod-files.ts';
import { systemFiles } from '../../src/node/host-paths/host-files.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'termination-message-'));
});
afterEach(() => rm(folder, { recursive: true }));

const statusWith = (fields: object = {}, policy = 'File') =>
  ({
    annotations: {
      'io.kubernetes.container.terminationMessagePath': '/dev/termination-log',
      'io.kubernetes.container.terminationMessagePolicy': policy,
    },
    mounts: [{ container_path: '/dev/termination-log', host_path: join(folder, 'message') }],
    log_path: join(folder, '0.log'),
    exit_code: 1,
    reason: 'Error',
    ...fields,
  }) as unknown as CRIMessage<'ContainerStatus'>;

const logLine = (text: string, tag = 'F') => `2026-01-02T03:04:05.000000006Z stdout ${tag} ${text}\n`;

describe('the termination message', () => {
  it('is what the container wrote, at most its last 4096 bytes', async () => {
    await writeFile(join(folder, 'message'), `${'a'.repeat(5000)}end`);
    const message = await readTerminationMessage(systemFiles, statusWith());
    expect(message).toHaveLength(4096);
    expect(message.endsWith('aend')).toBe(true);
  });

  it('is empty if it wrote nothing', async () => {
    expect(await readTerminationMessage(systemFiles, statusWith())).toBe('');
  });

  it('is the end of the log of a container that failed without a message, if its policy says so', async () => {
    await writeFile(join(folder, '0.log'), logLine('one') + logLine('two, ', 'P') + logLine('continued'));
    expect(await readTerminationMessage(systemFiles, statusWith())).toBe('');
    expect(await readTerminationMessage(systemFiles, statusWith({}, 'FallbackToLogsOnError'))).toBe(
      'one\ntwo, continued\n',
    );
    expect(await readTerminationMessage(systemFiles, statusWith({ exit_code: 0 }, 'FallbackToLogsOnError'))).toBe('');
    expect(
      await readTerminationMessage(systemFiles, statusWith({ reason: 'ContainerCannotRun' }, 'FallbackToLogsOnError')),
    ).toBe('');
  });

  it('has at most 80 lines and 2048 bytes of the log', async () => {
    const lines = Array.from({ length: 200 }, (_, i) => logLine(`line ${i}`));
    await writeFile(join(folder, '0.log'), lines.join(''));
    const short = await readTerminationMessage(systemFiles, statusWith({}, 'FallbackToLogsOnError'));
    expect(short.split('\n')).toHaveLength(81);
    expect(short.endsWith('line 199\n')).toBe(true);
    await writeFile(join(folder, '0.log'), logLine('first') + logLine('x'.repeat(15_000)));
    expect(await readTerminationMessage(systemFiles, statusWith({}, 'FallbackToLogsOnError'))).toHaveLength(2048);
  });

  it('has 2048 bytes of a log that is not UTF-8, and at most two broken characters where it is cut', async () => {
    const [start, end] = logLine('|').split('|');
    const bytes = Buffer.alloc(3000, 0xff);
    await writeFile(join(folder, '0.log'), Buffer.concat([Buffer.from(start!), bytes, Buffer.from(end!)]));
    const status = statusWith({}, 'FallbackToLogsOnError');
    expect(await readTerminationMessage(systemFiles, status)).toBe(`${'\uFFFD'.repeat(2047)}\n`);
    await writeFile(join(folder, '0.log'), logLine('€'.repeat(1000)));
    // 2047 = 682 × 3 + 1
    expect(await readTerminationMessage(systemFiles, status)).toBe(`\uFFFD${'€'.repeat(682)}\n`);
  });

  it('is the reason why it cannot be read', async () => {
    await mkdir(join(folder, 'message'));
    const reason = `Error on reading termination log ${folder}/message: not a regular file`;
    expect(await readTerminationMessage(systemFiles, statusWith())).toBe(reason);
  });

  it('never is what a link leads to', async () => {
    await writeFile(join(folder, 'secret'), 'secret of the host');
    await symlink('secret', join(folder, 'message'));
    expect(await readTerminationMessage(systemFiles, statusWith())).not.toContain('secret of the host');
  });

  it('of FIFOs does not keep the agent from reading files', async () => {
    execFileSync('mkfifo', [join(folder, 'message')]);
    // Node.js has four threads for files.
    const messages = Array.from({ length: 8 }, () => readTerminationMessage(systemFiles, statusWith()));
    const reason = `Error on reading termination log ${folder}/message: not a regular file`;
    expect(await Promise.all(messages)).toEqual(Array.from({ length: 8 }, () => reason));
  });

  it('does not open a device', async () => {
    const device = { mounts: [{ container_path: '/dev/termination-log', host_path: '/dev/tty' }] };
    expect(await readTerminationMessage(systemFiles, statusWith(device))).toContain(': not a regular file');
  });
});
