import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const order = ['clock', 'manager', 'server', 'client'];

it('settle has one order of arguments in documents and examples: clock, manager, server or client', () => {
  const calls = ['docs', 'examples/testing', 'src/testing'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(md|ts|mjs)$/.test(file))
      .flatMap((file) => [...readFileSync(join(root, folder, file), 'utf8').matchAll(/\bsettle\(([a-z, ]+)\)/g)])
      .map(([, names]) => names!.split(', ')),
  );
  expect(calls.length).toBeGreaterThan(5);
  for (const names of calls) {
    expect(names).toEqual(order.filter((name) => names.includes(name)));
  }
});
