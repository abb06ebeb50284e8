import { fileURLToPath } from 'node:url';

/** The repository's folder, also when this file runs compiled from `dist`. */
export const repository = fileURLToPath(
  new URL(import.meta.url.includes('/dist/test/') ? '../../../' : '../../', import.meta.url),
);
