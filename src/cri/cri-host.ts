import { CgroupFiles, type CgroupFileSystem } from './cgroup-files.ts';
import { CRIClient } from './cri-client.ts';
import { systemFiles } from '../node/index.ts';
import type { CRIConnection } from './cri-connection.ts';
import type { MachineResources } from './linux-resources.ts';
import { readMachineResources } from './machine-resources.ts';
import { hostPodFiles, type PodFolders, type RuntimePodFiles } from './runtime-pod-files.ts';
import { type RunCommand, runCommand } from './run-command.ts';
import { readIDRange } from './id-range.ts';
import { UserNamespaces } from './user-namespaces.ts';

/** Everything that a CRI runtime uses of its machine. A simulation provides one without sockets and files. */
export interface CRIHost {
  /** Connects when the first call is made. */
  readonly connect: (endpoint: string) => CRIConnection;
  readonly podFiles: (folders: PodFolders) => RuntimePodFiles;
  readonly cgroupFiles: () => CgroupFileSystem;
  readonly runCommand: RunCommand;
  readonly readMachineResources: () => Promise<MachineResources>;
  readonly loadUserNamespaces: (rootDirectory: string) => Promise<PodUserNamespaces>;
}

/** The user namespaces of pods. */
export type PodUserNamespaces = Pick<UserNamespaces, 'get' | 'getOrCreate' | 'release' | 'releaseOrphans'>;

/** This machine. */
export const thisHost: CRIHost = {
  connect: (endpoint) => new CRIClient(endpoint),
  podFiles: (folders) => hostPodFiles(systemFiles, folders),
  cgroupFiles: () => new CgroupFiles(),
  runCommand,
  readMachineResources,
  loadUserNamespaces: async (rootDirectory) => UserNamespaces.load(systemFiles, rootDirectory, await readIDRange()),
};
