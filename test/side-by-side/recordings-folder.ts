import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { Recording } from './recording.ts';

/** Recordings of the kubelet on disk: one file for each shape, with as many recordings as were made. */
export class RecordingsFolder {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
    mkdirSync(folder, { recursive: true });
  }

  read(shape: string): Recording[] {
    const file = this.#file(shape);
    return existsSync(file) ? (JSON.parse(gunzipSync(readFileSync(file)).toString()) as Recording[]) : [];
  }

  add(recording: Recording): void {
    const recordings = [...this.read(recording.shape), recording];
    writeFileSync(this.#file(recording.shape), gzipSync(JSON.stringify(recordings)));
  }

  #file(shape: string): string {
    return join(this.#folder, `${shape}.json.gz`);
  }
}
