import type { KubeObject } from '../kube/objects/kube-object.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import { type FileSystemInfo, fileSystemInfo, type HostFiles } from '../node/index.ts';
import type { Logger } from '../shared/logger.ts';
import { type ContainerFiles, makeContainerFiles, makeLogFolder } from './container-files.ts';
import { evictPodLogsDirectories, linkLog, type LogUsage, logUsage, removeLogs } from './log-files.ts';
import type { CRIMessage } from './cri-messages.ts';
import { podLogsDirectoryName } from './labels.ts';
import { logSize, restoreLog, rotateLog, type RotationOptions } from './log-rotation.ts';
import { readTerminationMessage } from './termination-message.ts';

export interface PodFolders {
  readonly rootDirectory: string;
  readonly podLogsDirectory: string;
  readonly logger: Logger;
}

/** The files of pods and their containers that the runtime and the agent share: logs, links to them, termination messages. */
export interface RuntimePodFiles {
  /** The folder of a pod's logs, before its sandbox is created. */
  makePodLogsDirectory(pod: ValidPod): Promise<void>;
  /** What a run of a container needs before it is created. */
  makeContainerFiles(pod: ValidPod, container: KubeObject<'Container'>): Promise<ContainerFiles>;
  /** Never rejects: an error becomes the message. */
  readTerminationMessage(status: CRIMessage<'ContainerStatus'>): Promise<string>;
  /** Links to a log, unless there is the link; false if the log does not exist. */
  linkLog(link: string, log: string): Promise<boolean>;
  /** In bytes; undefined if the log is missing. */
  logSize(log: string): Promise<number | undefined>;
  /** Gives the log another name, which is returned, and compresses or removes what was rotated before. */
  rotateLog(log: string, options: RotationOptions): Promise<string>;
  /** Undoes `rotateLog`, unless there is a new log. */
  restoreLog(log: string, rotated: string): Promise<void>;
  /** Removes the log of one run, and what was rotated of it. */
  removeLogs(log: string): Promise<void>;
  /** Of all files of the logs of a container; rejects if there are none. */
  logUsage(podLogsName: string, containerName: string): Promise<LogUsage>;
  fileSystemInfo(path: string): Promise<FileSystemInfo>;
  /** Removes the logs of pods whose data is no longer needed, and links to logs that do not exist. Failures are logged. */
  evictPodLogsDirectories(
    listLiveContainers: () => Promise<ReadonlySet<string>>,
    shouldPodContentBeRemoved: (podUID: string) => boolean,
  ): Promise<void>;
}

/** The files of a machine. */
export function hostPodFiles(files: HostFiles, folders: PodFolders): RuntimePodFiles {
  const { podLogsDirectory } = folders;
  return {
    makePodLogsDirectory: (pod) => makeLogFolder(files, podLogsDirectory, podLogsDirectoryName(pod)),
    makeContainerFiles: (pod, container) => makeContainerFiles(files, pod, container, folders),
    logUsage: (podLogsName, containerName) => logUsage(files, podLogsDirectory, [podLogsName, containerName]),
    evictPodLogsDirectories: (listLiveContainers, shouldPodContentBeRemoved) =>
      evictPodLogsDirectories(files, { ...folders, listLiveContainers }, shouldPodContentBeRemoved),
    readTerminationMessage: (status) => readTerminationMessage(files, status),
    linkLog: (link, log) => linkLog(files, link, log),
    logSize: (log) => logSize(files, log),
    rotateLog: (log, options) => rotateLog(files, log, options),
    restoreLog: (log, rotated) => restoreLog(files, log, rotated),
    removeLogs: (log) => removeLogs(files, log),
    fileSystemInfo: (path) => fileSystemInfo(files, path),
  };
}
