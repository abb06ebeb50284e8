import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

const folder = new URL('../../../shared/traces/', import.meta.url);

/** The recorded traces are not part of the repository; tests over them skip where they are not beside it. */
export const hasSharedTraces = existsSync(folder);

/** Goes into the name of a test that skips, to say why. */
export const whereSharedTraces = hasSharedTraces ? '' : ' (skipped: ../shared/traces is not there)';

/** The JSON documents, one a line, of a recorded file. */
export function readSharedTrace<T>(file: string): T[] {
  return parseJsonLines(gunzipSync(readFileSync(new URL(file, folder))).toString('utf8'));
}

export function parseJsonLines<T>(text: string): T[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}
