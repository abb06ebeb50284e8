import { type HostFiles, readEnd } from '../node/index.ts';
import { decodeUTF8 } from '../shared/decode-utf8.ts';
import type { CRIMessage } from './cri-messages.ts';
import { terminationMessagePathAnnotation, terminationMessagePolicyAnnotation } from './labels.ts';

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
 * Divergence: what is not a regular file, a FIFO for example, is not opened; the kubelet waits for a writer of the FIFO for
 * ever, and follows links.
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
    // One character a byte: the limit is about the bytes of the container, which need not be UTF-8.
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
