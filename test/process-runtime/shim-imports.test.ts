import { readFileSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { expect, it } from 'vitest';
import { whyNoShim } from './test-runtime.ts';

const compiled = new URL('../../dist/src/', import.meta.url);

it.skipIf(whyNoShim !== '')(
  `a shim loads no package and nothing of node/, as each container has one${whyNoShim}`,
  () => {
    const files = new Set<string>();
    const loaded = new Set<string>();
    const read = (file: URL): void => {
      if (files.has(file.href)) return;
      files.add(file.href);
      for (const [, from = ''] of readFileSync(file, 'utf8').matchAll(/^(?:import|export) (?:[^;]* from )?'([^']+)'/gm))
        if (from.startsWith('.')) read(new URL(from, file));
        else if (!isBuiltin(from)) loaded.add(from);
    };
    read(new URL('process-runtime/shim.js', compiled));
    expect([...loaded]).toEqual([]);
    expect([...files].filter((file) => file.startsWith(`${compiled.href}node/`))).toEqual([]);
    expect(files).toContain(`${compiled.href}shared/failure-log.js`);
  },
);
