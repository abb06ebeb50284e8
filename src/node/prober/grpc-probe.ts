import type { Client, ServiceError } from '@grpc/grpc-js';
import type { Clock } from '../../shared/clock.ts';
import { joinHostPort } from './container-port.ts';
import { undefinedIfAborted } from '../../shared/abort.ts';
import { withDeadline } from '../../shared/deadline.ts';
import type { ProbeOutcome } from './prober.ts';
import { probeUserAgent } from './http-probe-request.ts';

type Grpc = typeof import('@grpc/grpc-js');

export interface GRPCProbeRequest {
  readonly host: string;
  readonly port: number;
  /** Service name of the health protocol; empty for the server as a whole. */
  readonly service: string;
  readonly timeoutMs: number;
}

const servingStatuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'];

/**
 * Checks a server with the gRPC health protocol, without TLS; SERVING is a success. Rejects if the
 * package `@grpc/grpc-js` is not installed. Source: kubelet `grpcprobe.Probe`.
 */
export async function probeGRPC(
  { host, port, service, timeoutMs }: GRPCProbeRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const grpc = await loadGrpc();
  const address = joinHostPort(host, port);
  const client = new grpc.Client(address, grpc.credentials.createInsecure(), {
    'grpc.primary_user_agent': probeUserAgent,
    'grpc.enable_http_proxy': 0,
    'grpc.use_local_subchannel_pool': 1,
  });
  const timeout = `${timeoutMs / 1000}s`;
  try {
    return await withDeadline(clock, timeoutMs, signal, async (deadline) => {
      await undefinedIfAborted(isReady(client), deadline.signal);
      if (deadline.signal.aborted) {
        const output = `timeout: failed to connect service ${JSON.stringify(address)} within ${timeout}: context deadline exceeded`;
        return { result: 'failure', output };
      }
      const response = await undefinedIfAborted(check(client, service), deadline.signal);
      if (response === undefined) {
        return { result: 'failure', output: `timeout: health rpc did not complete within ${timeout}` };
      }
      return outcomeOf(grpc, response, timeout);
    });
  } finally {
    client.close();
  }
}

async function loadGrpc(): Promise<Grpc> {
  try {
    return await import('@grpc/grpc-js');
  } catch (cause) {
    throw new Error('gRPC probes need the package @grpc/grpc-js, which cannot be loaded', { cause });
  }
}

/** Resolves when the connection is established. */
function isReady(client: Client): Promise<void> {
  return new Promise((resolve, reject) => {
    client.waitForReady(Infinity, (error) => (error === undefined ? resolve() : reject(error)));
  });
}

/** Resolves with the serving status, or with the error of the call. */
function check(client: Client, service: string): Promise<Buffer | ServiceError> {
  return new Promise((resolve) => {
    client.makeUnaryRequest(
      '/grpc.health.v1.Health/Check',
      healthCheckRequest,
      (response) => response,
      service,
      (error, response) => resolve(error ?? response ?? Buffer.alloc(0)),
    );
  });
}

/** Encodes a HealthCheckRequest: field 1 is the service, a string. */
function healthCheckRequest(service: string): Buffer {
  const text = Buffer.from(service);
  if (text.length === 0) return text;
  const varint: number[] = [];
  let rest = text.length;
  for (; rest > 127; rest >>>= 7) varint.push((rest & 127) | 128);
  return Buffer.concat([Buffer.from([0x0a, ...varint, rest]), text]);
}

/** Decodes a HealthCheckResponse: field 1 is an enum, which is absent if it is 0. */
function servingStatus(response: Buffer): string {
  const value = response[0] === 0x08 ? response[1]! : 0;
  return servingStatuses[value] ?? String(value);
}

function outcomeOf(grpc: Grpc, response: Buffer | ServiceError, timeout: string): ProbeOutcome {
  if (Buffer.isBuffer(response)) {
    const status = servingStatus(response);
    if (status === 'SERVING') return { result: 'success', output: 'service healthy' };
    return { result: 'failure', output: `service unhealthy (responded with ${JSON.stringify(status)})` };
  }
  const { code, details } = response;
  if (code === grpc.status.UNIMPLEMENTED) {
    const output = `error: this server does not implement the grpc health protocol (grpc.health.v1.Health): ${details}`;
    return { result: 'failure', output };
  }
  if (code === grpc.status.DEADLINE_EXCEEDED) {
    return { result: 'failure', output: `timeout: health rpc did not complete within ${timeout}` };
  }
  const name = grpc.status[code] ?? String(code);
  const codeName = name.toLowerCase().replaceAll(/(?:^|_)(\w)/g, (_, letter: string) => letter.toUpperCase());
  return {
    result: 'failure',
    output: `error: health rpc probe failed: rpc error: code = ${codeName} desc = ${details}`,
  };
}
