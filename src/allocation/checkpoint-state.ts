import { refuseArgument } from '../errors.ts';
import path from 'node:path';
import type { Pod, ResourceRequirements } from '../types.ts';
import { CheckpointFile, makeCheckpointDirectory, readCheckpoint } from './checkpoint-file.ts';
import {
  decodeAllocations,
  decodeResizeStatuses,
  encodeAllocations,
  encodeResizeStatuses,
} from './checkpoint-format.ts';
import { MemoryState } from './memory-state.ts';
import type { PodResizeStatus, AllocationState } from './allocation-state.ts';

const allocationsFileName = 'allocated_pods_state';
const resizeStatusesFileName = 'pod_resize_status_state';

/**
 * Opens the allocations in the directory `dir`, which is created (0755) when it is missing.
 * `allocated_pods_state` is the file of a kubelet v1.37, byte for byte. Divergence: the resize
 * statuses, which such a kubelet does not keep, are in `pod_resize_status_state` beside it. Missing
 * files mean empty, and none is written before the first change. One process at a time may use a folder.
 *
 * Rejects with a StatusManagerError that names the file: `CHECKPOINT_READ_FAILED` when it cannot be
 * read or is not a regular file; `CORRUPT_CHECKPOINT` when it is corrupt or has the format of a
 * kubelet before v1.33, with the way out; `CHECKPOINT_WRITE_FAILED` when the folder cannot be created.
 * Source: kubelet `state.NewStateCheckpoint`.
 */
export async function openCheckpointState(dir: string): Promise<AllocationState> {
  if (typeof dir !== 'string' || dir === '') refuseArgument('dir', 'a non-empty string', dir);
  await makeCheckpointDirectory(dir);
  const allocationsPath = path.join(dir, allocationsFileName);
  const resizeStatusesPath = path.join(dir, resizeStatusesFileName);
  const allocations = await readCheckpoint(allocationsPath, decodeAllocations);
  const resizeStatuses = await readCheckpoint(resizeStatusesPath, decodeResizeStatuses);

  const memory = new MemoryState(allocations?.value, resizeStatuses?.value);
  return new CheckpointState(
    memory,
    new CheckpointFile(allocationsPath, allocations?.checksum, () => encodeAllocations(memory.allocations)),
    new CheckpointFile(resizeStatusesPath, resizeStatuses?.checksum, () => encodeResizeStatuses(memory.resizeStatuses)),
  );
}

/** Memory in front, files behind: reads never wait, a change is in memory before its write begins. */
class CheckpointState implements AllocationState {
  readonly #memory: MemoryState;
  readonly #allocationsFile: CheckpointFile;
  readonly #resizeStatusesFile: CheckpointFile;

  constructor(memory: MemoryState, allocationsFile: CheckpointFile, resizeStatusesFile: CheckpointFile) {
    this.#memory = memory;
    this.#allocationsFile = allocationsFile;
    this.#resizeStatusesFile = resizeStatusesFile;
  }

  getContainerResourceAllocation(podUID: string, containerName: string): ResourceRequirements | undefined {
    return this.#memory.getContainerResourceAllocation(podUID, containerName);
  }

  getPodResizeStatus(podUID: string): PodResizeStatus {
    return this.#memory.getPodResizeStatus(podUID);
  }

  async setPodAllocation(pod: Pod): Promise<void> {
    await this.#memory.setPodAllocation(pod);
    await this.#allocationsFile.write();
  }

  async setPodResizeStatus(podUID: string, resizeStatus: PodResizeStatus): Promise<void> {
    await this.#memory.setPodResizeStatus(podUID, resizeStatus);
    await this.#resizeStatusesFile.write();
  }

  delete(podUID: string): void {
    this.#memory.delete(podUID);
  }
}
