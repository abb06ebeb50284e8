import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import groupBy from 'lodash/groupBy.js';
import { describe, expect, it } from 'vitest';
import { repository } from '../support/repository.ts';

const source = join(repository, 'src');
const files = readdirSync(source, { recursive: true, encoding: 'utf8' }).filter(
  (path) => path.endsWith('.ts') && basename(path) !== 'index.ts',
);

const declared = /^export (?:async |abstract )*(?:class|const|enum|function\*?|interface|let|type) (\w+)/gm;
const exported = files.flatMap((file) =>
  // Overloads of a function are declared once each.
  [...new Set([...readFileSync(join(source, file), 'utf8').matchAll(declared)].map(([, name]) => name))].map(
    (name) => ({ name, file }),
  ),
);

describe('a name stands for one thing in src', () => {
  it.each([
    ['of a file', files.map((file) => ({ name: basename(file), file }))],
    ['of an export', exported],
  ])('the name %s is used once', (_what, named) => {
    expect(named.length).toBeGreaterThan(500);
    const places = Object.entries(groupBy(named, 'name')).filter(([, { length }]) => length > 1);
    expect(places.map(([name, uses]) => [name, ...uses.map(({ file }) => file)])).toEqual([]);
  });
});
