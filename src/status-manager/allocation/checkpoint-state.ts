import path from 'node:path';
import type { Pod } from '../../kube/objects/types.ts';
import { type Disk, systemDisk } from '../../shared/disk.ts';
import { requireText } from '../../shared/validate.ts';
import type { AllocationState, PodResizeStatus } from './allocation-state.ts';
import { type Checkpoint, CheckpointFile, makeCheckpointDirectory, readCheckpoint } from './checkpoint-file.ts';
import {
  decodeAllocations,
  decodeResizeStatuses,
  encodeAllocations,
  encodeResizeStatuses,
} from './checkpoint-format.ts';
import { MemoryState } from './memory-state.ts';
import type { PodAllocation } from './pod-allocation.ts';

const allocationsFileName = 'allocated_pods_state';
const resizeStatusesFileName = 'pod_resize_status_state';

/**
 * Opens the allocations in the directory `dir`, which is created (0755) when it is missing.
 * `allocated_pods_state` is the file of a kubelet v1.37, byte for byte. Divergence:
 * `pod_resize_status_state` in the same directory has the resize statuses, which that kubelet does not
 * store. Missing files mean empty, and none is written before the first change. Only one process at a
 * time may use the directory.
 *
 * Rejects with a StatusManagerError that names the file: `CHECKPOINT_READ_FAILED` when it cannot be
 * read or is not a regular file; `CORRUPT_CHECKPOINT` when it is corrupt or has the format of a kubelet
 * before v1.33, with what to do; `CHECKPOINT_WRITE_FAILED` when the folder cannot be created.
 * Source: kubelet `state.NewStateCheckpoint`.
 *
 * @example
 * ```ts
 * import { openCheckpointState, StatusManager } from 'kubelet-status-manager';
 *
 * const allocationState = await openCheckpointState('/var/lib/node-agent');
 * const manager = new StatusManager({ client, podManager, podCouldHaveRunningContainers: () => false, allocationState });
 * await manager.setPodAllocation(pod);
 * ```
 */
export function openCheckpointState(dir: string): Promise<AllocationState> {
  return openCheckpointStateOn(systemDisk, dir);
}

/** `openCheckpointState` on any disk. */
export async function openCheckpointStateOn(disk: Disk, dir: string): Promise<AllocationState> {
  requireText('dir', dir);
  await makeCheckpointDirectory(disk, dir);
  return new CheckpointState(
    disk,
    dir,
    await readCheckpoint(disk, path.join(dir, allocationsFileName), decodeAllocations),
    await readCheckpoint(disk, path.join(dir, resizeStatusesFileName), decodeResizeStatuses),
  );
}

/** A write-behind state: reads come from memory, and a change is in memory before its write begins. */
class CheckpointState extends MemoryState {
  readonly #allocationsFile: CheckpointFile;
  readonly #resizeStatusesFile: CheckpointFile;

  constructor(
    disk: Disk,
    dir: string,
    allocations: Checkpoint<Map<string, PodAllocation>> | undefined,
    resizeStatuses: Checkpoint<Map<string, PodResizeStatus>> | undefined,
  ) {
    super(allocations?.value, resizeStatuses?.value);
    this.#allocationsFile = new CheckpointFile(disk, path.join(dir, allocationsFileName), allocations?.checksum, () =>
      encodeAllocations(this.allocations),
    );
    this.#resizeStatusesFile = new CheckpointFile(
      disk,
      path.join(dir, resizeStatusesFileName),
      resizeStatuses?.checksum,
      () => encodeResizeStatuses(this.resizeStatuses),
    );
  }

  override async setPodAllocation(pod: Pod): Promise<void> {
    await super.setPodAllocation(pod);
    await this.#allocationsFile.write();
  }

  override async setPodResizeStatus(podUID: string, resizeStatus: PodResizeStatus): Promise<void> {
    await super.setPodResizeStatus(podUID, resizeStatus);
    await this.#resizeStatusesFile.write();
  }
}
