import { defineConfig } from 'vitest/config';
import base from '../../vitest.config.js';

// Stryker cannot select a project of vitest.config.ts, and runs every test file for a mutant of
// module level.
const { projects: _, ...test } = base.test ?? {};

export default defineConfig({
  ...base,
  test: { ...test, include: JSON.parse(process.env['MUTATION_TESTS'] ?? '[]') as string[] },
});
