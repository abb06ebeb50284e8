import { join } from 'node:path';
import { openCheckpointState } from '../../status-manager/allocation/checkpoint-state.ts';
import { fileJournal, type FileJournalOptions } from '../../status-manager/journal/file-journal.ts';
import type { AgentState } from './node-agent-options.ts';

/**
 * Opens all that an agent keeps for the next one, in a directory that is created if it is missing: give the result to
 * `createNodeAgent`, which closes it. Only one agent at a time can use the directory. The kubelet's root directory may be
 * used: `allocated_pods_state` and `image_manager` are where the kubelet has them.
 *
 * @param options of the journal
 *
 * Rejects with a StatusManagerError: those of `fileJournal` and `openCheckpointState`.
 *
 * @example
 * ```ts
 * import { createNodeAgent, openAgentState } from 'kubelet-status-manager/agent';
 *
 * const state = await openAgentState('/var/lib/node-agent');
 * const agent = createNodeAgent({ nodeName: 'node-a', client, runtime, ...state });
 * ```
 */
export async function openAgentState(
  rootDirectory: string,
  options?: FileJournalOptions,
): Promise<Required<AgentState>> {
  const journal = await fileJournal(join(rootDirectory, 'journal'), options);
  try {
    return {
      journal,
      allocationState: await openCheckpointState(rootDirectory),
      actuatedState: await openCheckpointState(join(rootDirectory, 'actuated')),
      imagePullRecordsDirectory: rootDirectory,
    };
  } catch (error) {
    await journal.close();
    throw error;
  }
}
