import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readContainerLog } from '../../../examples/node-agent/logs-command.ts';

const line = (text: string, tag = 'F'): string => `2026-11-22T05:06:07.089Z stdout ${tag} ${text}\n`;

let rootDirectory: string;
beforeEach(() => {
  rootDirectory = mkdtempSync(join(tmpdir(), 'logs-'));
  write('default_web_uid-1/main/9.log', line('ninth'));
  write('default_web_uid-1/main/10.log.1', line('older'));
  write('default_web_uid-1/main/10.log', line('ten', 'P') + line('th') + line('  two words '));
  write('default_pair_uid-2/a/0.log', line('from a'));
  write('default_pair_uid-2/b/0.log', '');
  write('other_web_uid-3/main/0.log', line('other'));
});
afterEach(() => rmSync(rootDirectory, { recursive: true }));

function write(name: string, text: string): void {
  const file = join(rootDirectory, 'logs', name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

const read = (pod: string, more: object = {}): string =>
  readContainerLog({ rootDirectory, namespace: 'default', pod, previous: false, ...more });

describe('logs', () => {
  it.each([
    ['the last run, what was rotated included', 'web', {}, 'older\ntenth\n  two words \n'],
    ['the run before the last one', 'web', { previous: true }, 'ninth\n'],
    ['another namespace', 'web', { namespace: 'other' }, 'other\n'],
    ['one of several containers', 'pair', { container: 'a' }, 'from a\n'],
    ['a container without output', 'pair', { container: 'b' }, ''],
  ])('%s', (_, pod, options, output) => {
    expect(read(pod, options)).toBe(output);
  });

  it.each([
    ['nobody', {}, 'there is no log of the pod default/nobody'],
    ['pair', {}, 'choose one of a, b with -c'],
    ['web', { container: 'x' }, 'there is no log of the container x; containers with a log: main'],
    ['web', { namespace: 'other', previous: true }, 'there is no log of an earlier run of main'],
  ])('%s %j is refused', (pod, options, message) => {
    expect(() => read(pod, options)).toThrow(message);
  });
});
