import type { ContainerIO, StreamOptions, TerminalSize } from '../node/index.ts';
import { reasonOf } from '../shared/logger.ts';

/** A command whose streams are connected with a client, over SPDY or a WebSocket. */
export interface StreamedCommand {
  readonly streams: StreamOptions;
  readonly signal: AbortSignal;
  /** Resolves with the exit code of the command. */
  readonly run: (io: ContainerIO, signal: AbortSignal) => Promise<number>;
}

/** `{"Width":80,"Height":24}` */
export function sizeOf(content: Buffer | string): TerminalSize | undefined {
  try {
    const { Width: width, Height: height } = JSON.parse(content.toString()) as { Width?: unknown; Height?: unknown };
    return typeof width === 'number' && typeof height === 'number' ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}

/** The `Status` that tells the client how a command ended. Never rejects. Source: cri-streaming `ServeExec`. */
export async function statusOfRun(run: Promise<number>): Promise<object> {
  try {
    return statusOf(await run);
  } catch (error) {
    const reason = reasonOf(error);
    return failure('InternalError', `Internal error occurred: ${reason}`, [{ message: reason }], 500);
  }
}

function statusOf(exitCode: number): object {
  if (exitCode === 0) return { metadata: {}, status: 'Success' };
  const causes = [{ reason: 'ExitCode', message: String(exitCode) }];
  return failure('NonZeroExitCode', `command terminated with non-zero exit code: ${exitCode}`, causes);
}

function failure(reason: string, message: string, causes: readonly object[], code?: number): object {
  return { metadata: {}, status: 'Failure', message, reason, details: { causes }, ...(code && { code }) };
}
