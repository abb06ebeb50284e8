import type { KubeObject } from '../kube/objects/kube-object.ts';
import type { ValidPod } from '../kube/objects/types.ts';
import { type FileSystemInfo, fileSystemInfo, type HostFiles, makingUntil, readEnd } from '../node/index.ts';
import type { Logger } from '../shared/logger.ts';
import { type PreparedContainerFiles, makeContainerFiles, makeLogFolder } from './prepared-container-files.ts';
import { evictPodLogsDirectories, linkLog, type LogUsage, logUsage, removeLogs } from './log-files.ts';
import type { CRIMessage } from './cri-messages.ts';
import {
  podLogsDirectoryName,
  terminationMessagePathAnnotation,
  terminationMessagePolicyAnnotation,
} from './labels.ts';
import { logSize, restoreLog, rotateLog, type RotationOptions } from './log-rotation.ts';
import { decodeUTF8 } from '../shared/decode-utf8.ts';

export interface PodFolders {
  readonly rootDirectory: string;
  readonly podLogsDirectory: string;
  readonly logger: Logger;
}

/** The files of pods and their containers that the runtime and the agent share: logs, links to them, termination messages. */
export interface RuntimePodFiles {
  /** The folder of a pod's logs, before its sandbox is created. */
  makePodLogsDirectory(pod: ValidPod): Promise<void>;
  /** Prepares the files of a container run before the container is created. Makes nothing once the signal is aborted. */
  makeContainerFiles(
    pod: ValidPod,
    container: KubeObject<'Container'>,
    signal: AbortSignal | undefined,
  ): Promise<PreparedContainerFiles>;
  /** Never rejects: an error becomes the message. */
  readTerminationMessage(status: CRIMessage<'ContainerStatus'>): Promise<string>;
  /** Links to a log unless the link exists; false if the log does not exist. */
  linkLog(link: string, log: string): Promise<boolean>;
  /** In bytes; undefined if the log is missing. */
  logSize(log: string): Promise<number | undefined>;
  /** Renames the log, returns its new name, and compresses or removes the files of earlier rotations. */
  rotateLog(log: string, options: RotationOptions): Promise<string>;
  /** Undoes `rotateLog`, unless there is a new log. */
  restoreLog(log: string, rotated: string): Promise<void>;
  /** Removes the log of one run and its rotated files. */
  removeLogs(log: string): Promise<void>;
  /** The usage of all log files of a container; rejects if there are none. */
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
    makeContainerFiles: (pod, container, signal) =>
      makeContainerFiles(makingUntil(files, signal), pod, container, folders),
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

/** Source: kubelet `MaxContainerTerminationMessageLength`. */
const maxMessageBytes = 1024 * 4;
/** Source: kubelet `MaxContainerTerminationMessageLogLength`, `…LogLines`. */
const maxMessageLogBytes = 1024 * 2;
const maxMessageLogLines = 80;
/** A line has at most 16 KiB of text, and some 50 bytes before it: more than enough for the bounds above. */
const readLogBytes = 32 * 1024;

/**
 * The content of the termination message path of an exited container or, depending on its policy, the end of its log;
 * empty if there is none. Never rejects: an error becomes the message. Source: kubelet `convertToKubeContainerStatus`.
 *
 * Divergence: a file that is not regular, for example a FIFO, is not opened; the kubelet waits for a writer of the FIFO
 * forever, and follows links.
 */
export async function readTerminationMessage(files: HostFiles, status: CRIMessage<'ContainerStatus'>): Promise<string> {
  const path = status.annotations[terminationMessagePathAnnotation];
  const mount = status.mounts.find(({ container_path: containerPath }) => containerPath === path);
  if (mount !== undefined) {
    try {
      const message = await readEnd(files, mount.host_path, maxMessageBytes);
      if (message.length > 0) return decodeUTF8(message);
    } catch (error) {
      if (!isNoEntry(error)) return `Error on reading termination log ${mount.host_path}: ${(error as Error).message}`;
    }
  }
  return fallsBackToLogs(status) ? await readEndOfLog(files, status.log_path) : '';
}

/** A container that could not be started has no log. */
function fallsBackToLogs({ annotations, exit_code: exitCode, reason }: CRIMessage<'ContainerStatus'>): boolean {
  const policy = annotations[terminationMessagePolicyAnnotation];
  return policy === 'FallbackToLogsOnError' && exitCode !== 0 && reason !== 'ContainerCannotRun';
}

/** The text of the last lines of a log in the CRI's format. Source: kubelet `readLastStringFromContainerLogs`. */
async function readEndOfLog(files: HostFiles, path: string): Promise<string> {
  try {
    const end = await readEnd(files, path, readLogBytes);
    // One character for each byte: the limit counts the bytes of the container, which may not be UTF-8.
    const lines = end.toString('latin1').split('\n').slice(0, -1).slice(-maxMessageLogLines);
    return decodeUTF8(Buffer.from(lines.map(textOfLogLine).join('').slice(-maxMessageLogBytes), 'latin1'));
  } catch (error) {
    return isNoEntry(error) ? '' : `Error on reading termination message from logs: ${(error as Error).message}`;
  }
}

/** `2026-01-02T03:04:05.000000006Z stdout F text`; the tag P marks a part of a line. */
function textOfLogLine(line: string): string {
  const match = /^\S+ \S+ (\S+) (.*)$/s.exec(line);
  if (match === null) return '';
  return match[1] === 'P' ? match[2]! : `${match[2]}\n`;
}

function isNoEntry(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}
