import path from 'node:path';
import type { Clock } from '../../shared/clock.ts';
import { type Disk, systemDisk } from '../../shared/disk.ts';
import { refuseOption, requireObject, StatusManagerError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/logger.ts';
import { resolveClock, resolveLogger } from '../../shared/ports.ts';
import { DirectoryInUseError, type DirectoryLock, lockDirectory } from '../../shared/directory-lock.ts';
import { decodeJournal, type JournalContent } from './journal-lines.ts';
import { type FsyncPolicy, JournalRecorder } from './journal-recorder.ts';
import type { Journal } from './journal.ts';

/** Options of `fileJournal`. */
export interface FileJournalOptions {
  /** Default `interval`. */
  readonly fsync?: FsyncPolicy | undefined;
  /**
   * Maximum size of the file, at least 64 KiB; default 64 MiB. An existing file that is larger is
   * accepted. A status that does not fit is logged and not recorded.
   */
  readonly maxBytes?: number | undefined;
  /** Default: pino at level `warn`. */
  readonly logger?: Logger | undefined;
  /** Default: the system clock. */
  readonly clock?: Clock | undefined;
}

const fileName = 'pod-status.journal';
const defaultMaxBytes = 64 * 1024 * 1024;
const minMaxBytes = 64 * 1024;
/** Larger than `maxBytes`, because an earlier run may have had a larger one. */
const maxReadBytes = 1024 * 1024 * 1024;

/**
 * A journal in the file `pod-status.journal` (0600) of `dir`, which is created if missing (0755). Only
 * one manager can use a directory: the socket `pod-status.lock.…` is held until `close()` or the end
 * of the process.
 *
 * On a full or read-only disk, recorded statuses are recovered as usual. A new status that cannot be
 * recorded is logged with its pod at level `error` and retried every second. An incomplete last line,
 * left by a crash, is removed. Damaged lines are skipped and logged, and the damaged file is kept as
 * `pod-status.journal.damaged`.
 *
 * Rejects with a StatusManagerError: INVALID_ARGUMENT, INVALID_OPTION, or JOURNAL_UNUSABLE when
 * another process uses the directory, or the file cannot be read, cannot be created, or is not a
 * regular file.
 *
 * @example
 * ```ts
 * import { fileJournal, StatusManager } from 'kubelet-status-manager';
 *
 * const journal = await fileJournal('/var/lib/node-agent/journal', { fsync: 'interval' });
 * const manager = new StatusManager({ client, podManager, podCouldHaveRunningContainers: () => false, journal });
 * const { endedPods } = manager.resume({ pods: podManager.getPods() });
 * ```
 */
export function fileJournal(dir: string, options: FileJournalOptions = {}): Promise<Journal> {
  return openFileJournal(dir, options, { disk: systemDisk, lockDirectory });
}

/** What a journal uses of the machine. */
export interface JournalPorts {
  readonly disk: Disk;
  readonly lockDirectory: typeof lockDirectory;
}

/** `fileJournal` on any disk. */
export async function openFileJournal(
  dir: string,
  options: FileJournalOptions,
  { disk, lockDirectory }: JournalPorts,
): Promise<Journal> {
  requireObject('options', options);
  const { fsync = 'interval', maxBytes = defaultMaxBytes } = options;
  if (typeof dir !== 'string' || dir === '') refuseOption('dir', 'a non-empty string', dir);
  if (!['always', 'interval', 'never'].includes(fsync)) refuseOption('fsync', "'always', 'interval' or 'never'", fsync);
  if (!Number.isSafeInteger(maxBytes) || maxBytes < minMaxBytes) {
    refuseOption('maxBytes', `an integer ≥ ${minMaxBytes}`, maxBytes);
  }
  const logger = resolveLogger(options.logger);
  const clock = resolveClock(options.clock);
  const file = path.join(dir, fileName);
  let lock: DirectoryLock | undefined;
  try {
    await disk.makeDirectories(dir, 0o755);
    lock = await lockIfPossible(dir, () => lockDirectory(dir, clock), logger);
    const content = await readJournal(disk, file, Math.max(maxBytes, maxReadBytes));
    return new JournalRecorder({ file, fsync, maxBytes, logger, clock, disk, lock }, content);
  } catch (error) {
    await lock?.release();
    throw new StatusManagerError('JOURNAL_UNUSABLE', `Cannot use the journal ${file}: ${(error as Error).message}`, {
      path: 'dir',
      cause: error,
    });
  }
}

/** Continues without a lock on a full or read-only disk, so that the recorded statuses stay usable. */
async function lockIfPossible(
  dir: string,
  lock: () => Promise<DirectoryLock>,
  logger: Logger,
): Promise<DirectoryLock | undefined> {
  try {
    return await lock();
  } catch (error) {
    if (error instanceof DirectoryInUseError) throw error;
    logger.warn(
      { dir, reason: (error as Error).message },
      'The directory of the journal cannot be locked; make sure that no other process uses it',
    );
    return undefined;
  }
}

/** Resolves with undefined when there is no file. */
async function readJournal(disk: Disk, file: string, maxBytes: number): Promise<JournalContent | undefined> {
  try {
    return decodeJournal(await disk.read(file, maxBytes));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
