import { type Disk, systemDisk } from '../../shared/disk.ts';
import { type Entropy, systemEntropy } from '../../shared/entropy.ts';

/** What an agent itself uses of its machine. */
export interface AgentMachine {
  readonly disk: Disk;
  readonly entropy: Entropy;
}

export const systemMachine: AgentMachine = { disk: systemDisk, entropy: systemEntropy };
