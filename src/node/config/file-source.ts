import { aFunction, duration, required, requireOptions } from '../../shared/option-checks.ts';
import type { BigIntStats } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Timer } from '../../shared/clock.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import { getPodFullName } from '../../kube/pods/static-pods.ts';
import { reasonOf } from '../../shared/logger.ts';
import { readRegularFile, RegularFileError } from '../../shared/regular-file.ts';
import type { Pod, ValidPod } from '../../kube/objects/types.ts';
import { codeOf, undefinedIfMissing } from '../host-paths/error-code.ts';
import { type HostFiles, systemFiles } from '../host-paths/host-files.ts';
import { decodeSinglePod } from './decode-manifest.ts';
import {
  maxManifestBytes,
  type ManifestSourceOptions,
  type PodSink,
  type PodSource,
  podSource,
  type PodSourceContext,
  type RefusedManifest,
} from './pod-source.ts';

/** Options of `fileSource`. */
export interface FileSourceOptions extends ManifestSourceOptions {
  /** A folder with one manifest per file, or a single manifest file. It need not exist yet. */
  readonly path: string;
  /** Interval in milliseconds at which all files are read, whether or not they changed. Default: 20,000. */
  readonly fileCheckFrequencyMs?: number | undefined;
}

const defaultFileCheckFrequencyMs = 20_000;
/** Delay before a folder that cannot be watched is read again. */
const retryPeriodMs = 1000;
/** A file that is written all the time delays the first list for so many periods. */
const maxPeriodsBeforeFirstList = 3;
/** Stands for a file's path in the log. */
const watchFailure = 'watch';

/**
 * Static pods from manifest files, which are watched and also read periodically. Files whose names begin with a dot and
 * subfolders are ignored. An invalid file is logged and skipped. It may be half written, so its last pod is kept until it
 * has not changed for `fileCheckFrequencyMs`; at start, no pod is delivered before that, or before three such periods,
 * because a list without the pod would end its containers. Source: kubelet `sourceFile`.
 *
 * Divergence: the kubelet ends the pod of a file that is being written when it starts, or at a periodic read.
 *
 * Divergence: when a folder cannot be read at all, all pods are kept; the kubelet removes them.
 *
 * @throws StatusManagerError INVALID_OPTION
 *
 * @example
 * ```ts
 * import { createNodeAgent, fileSource } from 'kubelet-status-manager/agent';
 *
 * const sources = [fileSource({ path: '/etc/kubernetes/manifests' })];
 * const agent = createNodeAgent({ nodeName: 'node-a', client, runtime, sources });
 * ```
 */
export function fileSource(options: FileSourceOptions): PodSource {
  return fileSourceOn(systemFiles, options);
}

/** `fileSource` on any machine. */
export function fileSourceOn(files: HostFiles, options: FileSourceOptions): PodSource {
  requireOptions(options, {
    path: required('the path of a folder or file', (path) => typeof path === 'string' && path !== ''),
    parse: aFunction,
    fileCheckFrequencyMs: duration,
  });
  return podSource('file', (sink, context) => new FileSource(files, options, sink, context));
}

class FileSource {
  readonly #files: HostFiles;
  readonly #options: FileSourceOptions;
  readonly #path: string;
  readonly #sink: PodSink;
  readonly #context: PodSourceContext;
  #isStopped = false;
  #watcher: ReturnType<HostFiles['watch']> | undefined;
  /** The inode that is watched: a folder that is deleted and created again has a new one. */
  #watchedInode: bigint | undefined;
  #timer: Timer | undefined;
  #reading: Promise<void> = Promise.resolve();
  #isReadPending = false;
  /** The last valid pod of each file, by path. */
  readonly #lastPods = new Map<string, ValidPod>();
  readonly #startedMs: number;
  #hasDelivered = false;
  /** The version of each invalid file, and since when the file has it. */
  readonly #invalid = new Map<string, { readonly version: string; readonly sinceMs: number }>();
  /** By ignored file: the file that is used instead. */
  #overridden: ReadonlyMap<string, string> = new Map();
  /** The last error that was logged for each file; removed when the file is valid again. */
  readonly #logged = new Map<string, { readonly reason: string; readonly since: string }>();

  constructor(files: HostFiles, options: FileSourceOptions, sink: PodSink, context: PodSourceContext) {
    this.#files = files;
    this.#options = options;
    this.#path = resolve(options.path);
    this.#sink = sink;
    this.#context = context;
    this.#startedMs = context.clock.monotonicMs();
    this.#read();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.stop();
    this.#unwatch();
    await this.#reading;
    this.#timer?.stop();
  }

  refusedManifests(): RefusedManifest[] {
    return [...this.#logged].map(([path, error]) => ({ source: path === watchFailure ? this.#path : path, ...error }));
  }

  /** One read at a time; a change during a read causes another one. */
  #read(): void {
    if (this.#isReadPending || this.#isStopped) return;
    this.#isReadPending = true;
    this.#reading = this.#reading.then(async () => {
      this.#isReadPending = false;
      this.#timer?.stop();
      try {
        await this.#list();
      } catch (thrown) {
        this.#logOnce(this.#path, reasonOf(thrown), 'Unable to read manifests');
      }
      const { fileCheckFrequencyMs = defaultFileCheckFrequencyMs } = this.#options;
      const delayMs =
        this.#watcher === undefined ? Math.min(retryPeriodMs, fileCheckFrequencyMs) : fileCheckFrequencyMs;
      this.#timer = this.#context.clock.afterFunc(delayMs, () => this.#read());
    });
  }

  /** Source: kubelet `listConfig`. */
  async #list(): Promise<void> {
    const stats = await this.#files.stat(this.#path).catch(undefinedIfMissing);
    if (stats === undefined) return this.#handleMissing();
    // Watch before reading the files, so that a change during the read is not missed.
    this.#watch(stats.ino);
    if (!stats.isDirectory()) {
      const pod = await this.#readPod(this.#path);
      this.#logged.delete(this.#path);
      return this.#deliver([pod]);
    }
    const entries = await this.#files.opendir(this.#path).catch(undefinedIfMissing);
    if (entries === undefined) return this.#handleMissing();
    const names: string[] = [];
    for await (const entry of entries) names.push(entry.name.toString());
    const paths = names
      .filter((name) => !name.startsWith('.'))
      .toSorted()
      .map((name) => join(this.#path, name));
    this.#logged.delete(this.#path);
    const listed = new Set(paths);
    for (const known of [...this.#lastPods.keys(), ...this.#logged.keys()])
      if (!listed.has(known) && known !== watchFailure) {
        this.#lastPods.delete(known);
        this.#logged.delete(known);
        this.#invalid.delete(known);
      }
    let isOneBeingWritten = false;
    for (const path of paths) if (await this.#update(path)) isOneBeingWritten = true;
    if (isOneBeingWritten && !this.#hasDelivered && this.#mayDelayFirstList()) return;
    // If several files have a pod of the same name, the last file wins.
    const pods = new Map<string, { readonly path: string; readonly pod: ValidPod }>();
    const overridden = new Map<string, string>();
    for (const path of paths) {
      const pod = this.#lastPods.get(path);
      if (pod === undefined) continue;
      const fullName = getPodFullName(pod);
      const other = pods.get(fullName)?.path;
      if (other !== undefined) overridden.set(other, path);
      pods.set(fullName, { path, pod });
    }
    for (const [path, usedPath] of overridden)
      if (this.#overridden.get(path) !== usedPath)
        this.#context.logger.warn({ path, usedPath }, 'Ignoring manifest: another file has a pod with the same name');
    this.#overridden = overridden;
    this.#deliver([...pods.values()].map(({ pod }) => pod));
  }

  /** The path does not exist: its pods end. */
  #handleMissing(): void {
    this.#unwatch();
    this.#lastPods.clear();
    this.#logOnce(this.#path, 'does not exist', 'Unable to read manifests');
    this.#deliver([]);
  }

  #deliver(pods: readonly Pod[]): void {
    if (this.#isStopped) return;
    this.#hasDelivered = true;
    this.#sink(pods);
  }

  /** @returns true if the file is invalid and may be being written */
  async #update(path: string): Promise<boolean> {
    // Before the file is read, so that a later change makes another version.
    const stats = await this.#files.stat(path).catch(() => undefined);
    try {
      this.#lastPods.set(path, await this.#readPod(path));
      this.#logged.delete(path);
      this.#invalid.delete(path);
      return false;
    } catch (thrown) {
      const isGone = codeOf(thrown) === 'ENOENT';
      const isBeingWritten = !isGone && this.#mayBeBeingWritten(path, stats);
      if (!isBeingWritten) this.#lastPods.delete(path);
      if (!isGone) this.#logOnce(path, reasonOf(thrown), 'Skipping manifest');
      // A FIFO or a folder does not become a manifest.
      return isBeingWritten && !(thrown instanceof RegularFileError);
    }
  }

  #mayBeBeingWritten(path: string, stats: BigIntStats | undefined): boolean {
    const { clock } = this.#context;
    const { fileCheckFrequencyMs = defaultFileCheckFrequencyMs } = this.#options;
    const version = stats === undefined ? '' : versionOf(stats);
    const nowMs = clock.monotonicMs();
    const known = this.#invalid.get(path);
    // The wall clock may have been set back since the last change.
    const ageMs = stats === undefined ? 0 : Math.max(0, clock.now() - Number(stats.ctimeMs));
    const sinceMs = known?.version === version ? known.sinceMs : nowMs - ageMs;
    this.#invalid.set(path, { version, sinceMs });
    return nowMs - sinceMs < fileCheckFrequencyMs;
  }

  #mayDelayFirstList(): boolean {
    const { fileCheckFrequencyMs = defaultFileCheckFrequencyMs } = this.#options;
    return this.#context.clock.monotonicMs() - this.#startedMs < maxPeriodsBeforeFirstList * fileCheckFrequencyMs;
  }

  async #readPod(path: string): Promise<ValidPod> {
    const text = (await readRegularFile(path, maxManifestBytes, this.#files)).toString();
    const { parse = JSON.parse } = this.#options;
    const { nodeName } = this.#context;
    return decodeSinglePod(text, parse, { source: path, isFile: true, nodeName });
  }

  #watch(inode: bigint): void {
    if (this.#watcher !== undefined && this.#watchedInode === inode) return;
    this.#unwatch();
    if (this.#isStopped) return;
    try {
      this.#watcher = this.#files.watch(this.#path, (_, name) => {
        if (name?.startsWith('.') !== true) this.#read();
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
    if (this.#logged.get(path)?.reason === reason) return;
    this.#logged.set(path, { reason, since: timeFromEpochMs(this.#context.clock.now()) });
    this.#context.logger.error({ path: path === watchFailure ? this.#path : path, reason }, message);
  }
}

/** Differs after each write. The time alone would not do, because it may be as coarse as 10 ms. */
function versionOf({ ino, mtimeNs, ctimeNs, size }: BigIntStats): string {
  return [ino, mtimeNs, ctimeNs, size].join(' ');
}
