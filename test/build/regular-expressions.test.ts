import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseAst } from 'rolldown/parseAst';
import { describe, expect, it } from 'vitest';
import { base64Encodings } from '../../src/kube/client/redact.ts';
import { repository } from '../support/repository.ts';

/** Its implementation in JavaScript: without Java, programs and other processes. */
const recheck = createRequire(import.meta.url)('recheck/lib/browser.js') as typeof import('recheck');

/** A sample of each expression that is made at run time, by file. */
const computed: Readonly<Record<string, RegExp>> = {
  'src/kube/client/redact.ts': base64Encodings('se/cret+T0ken\\.x'),
};

interface SourceNode {
  readonly type: string;
  readonly regex?: { readonly pattern: string; readonly flags: string };
  readonly callee?: { readonly name?: string };
}

const files = ['src', 'examples'].flatMap((folder) =>
  readdirSync(join(repository, folder), { recursive: true, encoding: 'utf8' })
    .filter((path) => /\.m?[jt]s$/.test(path))
    .map((path) => `${folder}/${path}`),
);

function nodesOf(value: unknown): readonly SourceNode[] {
  if (typeof value !== 'object' || value === null || value instanceof RegExp) return [];
  const children = Object.values(value).flatMap(nodesOf);
  return 'type' in value ? [value as SourceNode, ...children] : children;
}

const nodes = files.flatMap((file) => {
  const { body } = parseAst(readFileSync(join(repository, file), 'utf8'), { lang: 'ts' });
  return nodesOf(body).map((node) => ({ ...node, file }));
});

const literals = nodes.flatMap(({ regex, file }) =>
  regex === undefined ? [] : [[`/${regex.pattern}/${regex.flags}`, { ...regex, file }] as const],
);
const samples = Object.entries(computed).map(
  ([file, { source, flags }]) => [`made in ${file}`, { pattern: source, flags, file }] as const,
);

describe('regular expressions take linear time, whatever they are given', () => {
  it.each([...new Map([...literals, ...samples])])(
    '%s',
    (_name, { pattern, flags, file }) => {
      const result = recheck.checkSync(pattern, flags, { timeout: null, checker: 'automaton' });
      const attack = result.status === 'vulnerable' ? result.attack.pattern : undefined;
      expect({ file, status: result.status, attack }).toEqual({ file, status: 'safe' });
    },
    // Most take a tenth of a second, a few take several, and beside other work ten times as long.
    600_000,
  );

  it('those made at run time have a sample here', () => {
    const calls = nodes.filter(({ callee }) => callee?.name === 'RegExp');
    expect(Object.keys(computed)).toEqual(calls.map(({ file }) => file));
  });
});
