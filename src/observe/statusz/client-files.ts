import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { StatusManagerError } from '../../shared/errors.ts';
import { etagOf } from './rendered-json.ts';
import type { Content } from './responder.ts';

const folder = fileURLToPath(new URL('./client/', import.meta.url));

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/**
 * The files of the page by name, in the form in which they are served.
 * @throws StatusManagerError INVALID_STATE if they are not in the folder of this module, as in a bundle
 */
export function readClientFiles(): ReadonlyMap<string, Content> {
  try {
    return new Map(
      readdirSync(folder)
        .filter((name) => path.extname(name) in types)
        .map((name) => [name, contentOf(name)]),
    );
  } catch (error) {
    throw new StatusManagerError(
      'INVALID_STATE',
      `Cannot read the files of the status page in ${folder}: copy the folder dist/src/observe/statusz/client of kubelet-status-manager beside the bundle`,
      { cause: error },
    );
  }
}

function contentOf(name: string): Content {
  const body = readFileSync(path.join(folder, name));
  return { type: types[path.extname(name)]!, body, etag: etagOf(body) };
}
