import { defineConfig } from 'vitest/config';
import base, { slow } from '../../vitest.config.js';

// Stryker cannot select one of the projects of vitest.config.ts.
const { projects: _, ...test } = base.test ?? {};

export default defineConfig({
  ...base,
  test: {
    ...test,
    isolate: false,
    include: JSON.parse(process.env['MUTATION_TESTS'] ?? '[]') as string[],
    // These start processes.
    exclude: [...slow, '**/directory-lock.test.ts'],
  },
});
