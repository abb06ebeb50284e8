import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseEnvFile, readEnvFile } from '../../../src/node/container-options/make-environment.ts';
import { systemFiles } from '../../../src/node/host-paths/host-files.ts';

describe('TestParseEnv', () => {
  it.each<[string, string, string, string]>([
    ['ignore leading whitespace', "   KEY1='val1'\n\t\tKEY2='val2'\nKEY3='val3'\n", 'KEY2', 'val2'],
    ['ignore blank and comment lines', "# one\n\n \t\nKEY1='foo'\n  # two\nKEY2='bar'\n", 'KEY2', 'bar'],
    ['key not found returns empty', "KEY1='foo'\n", 'KEY3', ''],
    ['value with embedded #', "KEY1='foo#no'\n", 'KEY1', 'foo#no'],
    ['value with leading and trailing whitespace', "KEY1='   foo bar   '\n", 'KEY1', '   foo bar   '],
    ['empty value', "KEY1='foo'\nKEY2=''\n", 'KEY2', ''],
    ['multiple = in value', "KEY1='foo=bar=baz'\n", 'KEY1', 'foo=bar=baz'],
    ['comment after key value pair', "KEY2='bar' # comment", 'KEY2', 'bar'],
    ['mixed shell variable syntax, should not expand', "KEY1='foo$BAR-${HOME}_$'", 'KEY1', 'foo$BAR-${HOME}_$'],
    ['whitespace before the value', "KEY1= 'one'\nKEY2='two'", 'KEY1', ''],
    ['whitespace before the value of another key', "KEY1= 'one'\nKEY2='two'", 'KEY2', 'two'],
    ['double quotes and backslashes', String.raw`KEY1='a "b" \n'`, 'KEY1', String.raw`a "b" \n`],
    ['multi-line value with empty lines', "KEY1='one\n\n  two \n' # end\nKEY2='x'", 'KEY1', 'one\n\n  two \n'],
    ['a key after a multi-line value', "KEY1='one\nKEY2=two'\nKEY2='three'", 'KEY2', 'three'],
    ['line ends of Windows', "KEY1='one\r\ntwo'\r\n", 'KEY1', 'one\ntwo'],
    ['an invalid line behind the key', "KEY1='one'\nINVALID", 'KEY1', 'one'],
    ['an empty file', '', 'KEY1', ''],
  ])('%s', (_, text, key, value) => {
    expect(parseEnvFile(text, key)).toBe(value);
  });

  it.each([
    ["KEY1 = 'val1'", "line 1: whitespace before '=' is not allowed"],
    ["='foo'", 'line 1: empty variable name'],
    ["KEY0='foo'\nINVALID_LINE\n", "line 2: missing '='"],
    ['KEY1=foo', 'line 1: value must be enclosed in single quotes'],
    ['KEY1="foo"', 'line 1: value must be enclosed in single quotes'],
    ["KEY1='foo''bar'", 'line 1: unexpected content after closing quote'],
    ["KEY1='foo'bar", 'line 1: unexpected content after closing quote'],
    ["KEY1='foo\nKEY2='bar'", 'line 2: unexpected content after closing quote'],
    ["KEY0='a'\nKEY1='foo\nbar\n", 'line 2: unclosed single quote'],
  ])('%j is an error', (text, message) => {
    expect(() => parseEnvFile(text, 'KEY1')).toThrow(`invalid environment variable format at ${message}`);
  });
});

describe('a file of a volume', () => {
  let folder: string;
  let volume: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'env-file-'));
    volume = join(folder, 'volume');
    await mkdir(join(volume, 'sub'), { recursive: true });
    await writeFile(join(volume, 'sub', 'env'), "KEY='inside'\n");
    await writeFile(join(folder, 'secret'), "KEY='outside'\n");
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('is read by its path in the volume, also through a link that stays inside', async () => {
    await symlink('sub/env', join(volume, 'link'));
    expect(await readEnvFile(systemFiles, volume, 'sub/env', 'KEY')).toBe('inside');
    expect(await readEnvFile(systemFiles, volume, 'link', 'KEY')).toBe('inside');
  });

  it.each(['../secret', 'link', 'folder/secret'])('never gives a container a file of the host: %s', async (path) => {
    await symlink('../secret', join(volume, 'link'));
    await symlink('..', join(volume, 'folder'));
    await expect(readEnvFile(systemFiles, volume, path, 'KEY')).rejects.toThrow('the path is outside of the volume');
  });

  it('must be a regular file of at most 1 MiB', async () => {
    await expect(readEnvFile(systemFiles, volume, 'sub', 'KEY')).rejects.toThrow('not a regular file');
    await expect(readEnvFile(systemFiles, volume, 'none', 'KEY')).rejects.toThrow('ENOENT');
    await writeFile(join(volume, 'big'), Buffer.alloc(1024 * 1024 + 1));
    await expect(readEnvFile(systemFiles, volume, 'big', 'KEY')).rejects.toThrow('larger than 1048576 bytes');
  });
});
