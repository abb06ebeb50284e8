import { existsSync, readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';

const folder = new URL('../../../shared/traces/', import.meta.url);

/** The recorded traces are not part of the repository. Tests that use them are skipped if they are not next to it. */
export const hasSharedTraces = existsSync(folder);

/** The reason in the names of skipped tests. */
export const whereSharedTraces = hasSharedTraces ? '' : ' (skipped: ../shared/traces does not exist)';

/** The JSON documents of a recorded file, one per line. */
export function readSharedTrace<T>(file: string): T[] {
  return parseJSONLines(gunzipSync(readFileSync(new URL(file, folder))).toString('utf8'));
}

export function parseJSONLines<T>(text: string): T[] {
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as T);
}
