import { type FSWatcher, watch } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Clock, getPodFullName, type Logger, type Pod, type Timer } from '../../index.ts';
import { reasonOf } from '../failure-log.ts';
import { requireDuration } from '../pod-workers/require-duration.ts';
import { decodeSinglePod } from './decode-manifest.ts';
import type { PodSink } from './pod-config.ts';
import { maxManifestBytes, type ParseManifest, type PodSource } from './pod-source.ts';

/** Options of the pod source that reads a file or a folder. */
export interface FileSourceOptions {
  /** A folder with one manifest in each file, or one manifest. It need not exist (yet). */
  readonly path: string;
  readonly nodeName: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Default: `JSON.parse`. For YAML, pass `parse` of the package `yaml`. */
  readonly parse?: ParseManifest | undefined;
  /** How often all files are read, whether or not they changed. Default: 20,000. */
  readonly fileCheckFrequencyMs?: number | undefined;
}

/** How soon a folder that cannot be watched is looked at again. */
const retryPeriodMs = 1000;
/** In place of a file. */
const watchFailure = 'watch';

/**
 * Static pods from manifests in files, which are watched and read again periodically. Files whose names
 * begin with a dot are ignored, and folders in the folder. A file that cannot be used is logged and
 * skipped; right after a change, when it may be half written, its last pod is kept until the next
 * periodic look. Source: kubelet `sourceFile`.
 *
 * Divergence: when a folder cannot be read at all, all pods are kept; the kubelet removes them.
 */
export class FileSource implements PodSource {
  readonly name = 'file';
  readonly #options: FileSourceOptions;
  readonly #path: string;
  #sink: PodSink | undefined;
  #watcher: FSWatcher | undefined;
  /** Of what is watched: a folder that is deleted and created again is another one. */
  #watchedInode: number | undefined;
  #timer: Timer | undefined;
  #reading: Promise<void> = Promise.resolve();
  #isReadPending = false;
  /** By file. */
  readonly #lastPods = new Map<string, Pod>();
  /** What was logged last about each file; gone when the file can be used again. */
  readonly #logged = new Map<string, string>();

  /** @throws StatusManagerError INVALID_OPTION unless `fileCheckFrequencyMs` is positive */
  constructor(options: FileSourceOptions) {
    requireDuration('fileCheckFrequencyMs', options.fileCheckFrequencyMs);
    this.#options = options;
    this.#path = resolve(options.path);
  }

  start(sink: PodSink): void {
    if (this.#sink !== undefined) return;
    this.#sink = sink;
    this.#read(false);
  }

  async stop(): Promise<void> {
    this.#sink = undefined;
    this.#timer?.stop();
    this.#unwatch();
    await this.#reading;
    this.#timer?.stop();
  }

  /** One read at a time; a change during it leads to another one. */
  #read(isChange: boolean): void {
    if (this.#isReadPending || this.#sink === undefined) return;
    this.#isReadPending = true;
    this.#reading = this.#reading.then(async () => {
      this.#isReadPending = false;
      this.#timer?.stop();
      try {
        await this.#list(isChange);
      } catch (thrown) {
        this.#logOnce(this.#path, reasonOf(thrown), 'Unable to read manifests');
      }
      if (this.#sink === undefined) return;
      const { clock, fileCheckFrequencyMs = 20_000 } = this.#options;
      const delayMs =
        this.#watcher === undefined ? Math.min(retryPeriodMs, fileCheckFrequencyMs) : fileCheckFrequencyMs;
      this.#timer = clock.afterFunc(delayMs, () => this.#read(false));
    });
  }

  /** Source: kubelet `listConfig`. */
  async #list(isChange: boolean): Promise<void> {
    const stats = await stat(this.#path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined;
      throw error;
    });
    if (stats === undefined) {
      this.#unwatch();
      this.#lastPods.clear();
      this.#logOnce(this.#path, 'it does not exist', 'Unable to read manifests');
      return this.#sink?.([]);
    }
    // Before the files are read: a change during the read is seen.
    this.#watch(stats.ino);
    if (!stats.isDirectory()) {
      const pod = await this.#readPod(this.#path);
      this.#logged.delete(this.#path);
      return this.#sink?.([pod]);
    }
    const names = (await readdir(this.#path)).filter((name) => !name.startsWith('.')).toSorted();
    const paths = names.map((name) => join(this.#path, name));
    this.#logged.delete(this.#path);
    for (const known of [...this.#lastPods.keys(), ...this.#logged.keys()])
      if (!paths.includes(known) && known !== watchFailure) {
        this.#lastPods.delete(known);
        this.#logged.delete(known);
      }
    for (const path of paths) await this.#update(path, isChange);
    // Of files with pods of one name, the last one counts.
    const pods = new Map(
      paths.flatMap((path) => this.#lastPods.get(path) ?? []).map((pod) => [getPodFullName(pod), pod]),
    );
    this.#sink?.([...pods.values()]);
  }

  async #update(path: string, isChange: boolean): Promise<void> {
    try {
      this.#lastPods.set(path, await this.#readPod(path));
      this.#logged.delete(path);
    } catch (thrown) {
      const isGone = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
      if (isGone || !isChange) this.#lastPods.delete(path);
      if (!isGone) this.#logOnce(path, reasonOf(thrown), 'Skipped a manifest');
    }
  }

  async #readPod(path: string): Promise<Pod> {
    const stats = await stat(path);
    if (!stats.isFile()) throw new Error('It is not a regular file');
    if (stats.size > maxManifestBytes) throw new Error(`It is longer than ${maxManifestBytes} bytes`);
    const { nodeName, parse = JSON.parse } = this.#options;
    return decodeSinglePod(await readFile(path, 'utf8'), parse, { source: path, isFile: true, nodeName });
  }

  #watch(inode: number): void {
    if (this.#watcher !== undefined && this.#watchedInode === inode) return;
    this.#unwatch();
    if (this.#sink === undefined) return;
    try {
      this.#watcher = watch(this.#path, (_, name) => {
        if (name?.startsWith('.') !== true) this.#read(true);
      });
      this.#watchedInode = inode;
      this.#watcher.on('error', () => this.#unwatch());
    } catch (thrown) {
      this.#logOnce(watchFailure, reasonOf(thrown), 'Unable to watch manifests');
    }
  }

  #unwatch(): void {
    this.#watcher?.close();
    this.#watcher = undefined;
    this.#watchedInode = undefined;
  }

  #logOnce(path: string, reason: string, message: string): void {
    if (this.#logged.get(path) === reason) return;
    this.#logged.set(path, reason);
    this.#options.logger.error({ path: path === watchFailure ? this.#path : path, reason }, message);
  }
}
