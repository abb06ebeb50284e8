import { connect } from 'node:net';
import type { Clock } from '../../shared/clock.ts';
import { joinHostPort } from './container-port.ts';
import { withDeadline } from '../../shared/deadline.ts';
import { dialErrorMessage } from './network-error.ts';
import type { ProbeOutcome } from './prober.ts';

export interface TCPProbeRequest {
  readonly host: string;
  readonly port: number;
  readonly timeoutMs: number;
}

/** Opens a connection and closes it; never rejects. Source: kubelet `tcpprobe.DoTCPProbe`. */
export function probeTCP(
  { host, port, timeoutMs }: TCPProbeRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const address = joinHostPort(host, port);
  return withDeadline(
    clock,
    timeoutMs,
    signal,
    (deadline) =>
      new Promise((resolve) => {
        const socket = connect({ host, port });
        const end = (outcome: ProbeOutcome): void => {
          socket.destroy();
          resolve(outcome);
        };
        socket.on('connect', () => end({ result: 'success', output: '' }));
        socket.on('error', (error) => end({ result: 'failure', output: dialErrorMessage(error, address) }));
        const abort = (): void => end({ result: 'failure', output: `dial tcp ${address}: i/o timeout` });
        if (deadline.signal.aborted) abort();
        deadline.signal.addEventListener('abort', abort);
      }),
  );
}
