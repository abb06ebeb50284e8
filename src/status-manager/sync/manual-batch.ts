import type { SyncResult } from './pod-syncer.ts';

/** What one batch did. */
export interface SyncBatchResult {
  /** Pods that were synced: the sum of the following and of those whose status was dropped. */
  readonly tried: number;
  /** The API server took a PATCH. */
  readonly written: number;
  /** The API server showed everything already. */
  readonly unchanged: number;
  /** A GET or PATCH failed; tried again by a later batch. */
  readonly failed: number;
}

/** Syncs these pods, at most `concurrency` at a time, and counts how that ended. */
export async function runManualBatch(
  uids: readonly string[],
  concurrency: number,
  sync: (uid: string) => Promise<SyncResult['kind']>,
): Promise<SyncBatchResult> {
  const kinds: SyncResult['kind'][] = [];
  const remaining = uids.values();
  const worker = async (): Promise<void> => {
    for (const uid of remaining) kinds.push(await sync(uid));
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, uids.length) }, worker));
  const count = (kind: SyncResult['kind']): number => kinds.filter((each) => each === kind).length;
  return { tried: kinds.length, written: count('written'), unchanged: count('unchanged'), failed: count('failed') };
}
