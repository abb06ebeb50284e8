import path from 'node:path';
import { afterEach } from 'vitest';
import { fileJournal, type FileJournalOptions } from '../../../src/status-manager/journal/file-journal.ts';
import type { Journal, JournalEntry } from '../../../src/status-manager/journal/journal.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import { TestDirectories } from '../../support/directories.ts';
import { recordingLogger, type RecordingLogger } from '../../../src/testing/recording-logger.ts';

const directories = new TestDirectories();
const opened: Journal[] = [];
afterEach(async () => {
  for (const journal of opened.splice(0)) await journal.close();
  directories.removeAll();
});

export function newDirectory(): string {
  return directories.create();
}

export function journalFile(dir: string): string {
  return path.join(dir, 'pod-status.journal');
}

export function entry(podUID: string, message = ''): JournalEntry {
  return {
    podUID,
    podNamespace: 'default',
    podName: podUID,
    podIsFinished: false,
    acceptedAt: '2000-01-01T00:00:00Z',
    status: { phase: 'Running', ...(message !== '' && { message }) },
  };
}

export interface OpenJournal {
  readonly journal: Journal;
  readonly logger: RecordingLogger;
  readonly clock: FakeClock;
}

/** Opens a journal that is closed after the test. */
export async function openJournal(
  dir: string,
  options: Omit<FileJournalOptions, 'logger' | 'clock'> = {},
): Promise<OpenJournal> {
  const logger = recordingLogger();
  const clock = new FakeClock();
  const journal = await fileJournal(dir, { logger, clock, ...options });
  opened.push(journal);
  return { journal, logger, clock };
}

/** What the next run finds when the process is killed now. */
export function afterCrash(dir: string): Promise<OpenJournal> {
  return openJournal(directories.afterCrash(dir));
}

/** `podUID message` of each recovered entry. */
export function recovered({ journal }: { journal: Journal }): string[] {
  return journal.recovered.map(({ podUID, status }) => `${podUID} ${status.message ?? ''}`.trim());
}
