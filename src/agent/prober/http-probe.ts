import { isIP } from 'node:net';
import { buildConnector, Client } from 'undici/index.js';
import type { Clock } from '../../shared/clock.ts';
import { joinHostPort } from './container-port.ts';
import { type Deadline, withDeadline } from '../deadline.ts';
import { maxOutputLength } from './exec-probe.ts';
import { type HTTPProbeRequest, urlOf } from './http-probe-request.ts';
import { dialErrorMessage, isDialError } from './network-error.ts';
import type { ProbeOutcome } from './prober.ts';

const maxRedirects = 10;

/** One response; `redirectTo` is set if it is a redirect. */
interface Response {
  readonly statusCode: number;
  readonly redirectTo?: string | undefined;
  /** Reads the body up to the limit. */
  readBody(): Promise<string>;
}

/**
 * Sends the request and follows redirects on the same host. 200 to 399 is a success; a redirect that
 * is not followed is a warning. Certificates are not verified, a proxy is never used, and each
 * request has its own connection. With https, HTTP/2 is used if the server prefers it.
 * Rejects if the body cannot be read. Source: kubelet `httpprobe.Probe`, `DoHTTPProbe`.
 */
export function probeHTTP(
  request: HTTPProbeRequest,
  timeoutMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  return withDeadline(clock, timeoutMs, signal, async (deadline) => {
    const clients: Client[] = [];
    let current = request;
    try {
      let response: Response;
      for (let redirects = 0; ; redirects++) {
        response = await send(current, clients, deadline);
        const next = response.redirectTo === undefined ? undefined : followed(response.redirectTo, current);
        if (next === undefined || next.host !== request.host) break;
        if (redirects + 1 === maxRedirects) throw new Error(`stopped after ${maxRedirects} redirects`);
        current = next;
      }
      return outcomeOf(response.statusCode, await readBody(response, deadline));
    } catch (error) {
      if (error instanceof BodyError) throw error;
      return {
        result: 'failure',
        output: `Get ${JSON.stringify(urlOf(current))}: ${describe(error, current, deadline)}`,
      };
    } finally {
      await Promise.all(clients.map((client) => client.destroy()));
    }
  });
}

/** As in the kubelet, an unreadable body means that the probe could not be run. */
class BodyError extends Error {}

async function readBody(response: Response, { isExceeded }: Deadline): Promise<string> {
  try {
    return await response.readBody();
  } catch (error) {
    const reason = isExceeded
      ? 'context deadline exceeded while reading body'
      : 'the connection was lost while reading body';
    throw new BodyError(reason, { cause: error });
  }
}

function outcomeOf(statusCode: number, body: string): ProbeOutcome {
  if (statusCode < 200 || statusCode >= 400) {
    // The body is omitted: it may contain data that readers of Events must not see.
    return { result: 'failure', output: `HTTP probe failed with statuscode: ${statusCode}` };
  }
  if (statusCode < 300) return { result: 'success', output: body };
  return { result: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
}

async function send(request: HTTPProbeRequest, clients: Client[], { signal }: Deadline): Promise<Response> {
  const { scheme, host, port, path, headers } = request;
  if (scheme !== 'http' && scheme !== 'https') throw new Error(`unsupported protocol scheme ${JSON.stringify(scheme)}`);
  if (host === '') throw new Error('http: no Host in request URL');
  const client = new Client(`${scheme}://${joinHostPort(host, port)}`, {
    connect: connector(host),
    allowH2: true,
    // No keep-alive.
    pipelining: 0,
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  clients.push(client);
  const {
    statusCode,
    headers: received,
    body,
  } = await client.request({
    method: 'GET',
    path,
    headers: [...headers].flatMap(([name, values]) => values.flatMap((value) => [name, value])),
    signal,
  });
  // The client may be destroyed before the body is read; that is not a probe failure.
  body.on('error', () => {});
  const { location } = received;
  const isRedirect = [301, 302, 303, 307, 308].includes(statusCode);
  if (isRedirect && location === undefined && statusCode < 304) {
    throw new Error(`${statusCode} response missing Location header`);
  }
  return {
    statusCode,
    redirectTo: isRedirect && typeof location === 'string' ? location : undefined,
    async readBody() {
      const chunks: Buffer[] = [];
      let length = 0;
      for await (const chunk of body as AsyncIterable<Buffer>) {
        chunks.push(chunk);
        length += chunk.length;
        if (length >= maxOutputLength) break;
      }
      return Buffer.concat(chunks).subarray(0, maxOutputLength).toString();
    },
  };
}

/** undici would verify the certificate, and use the Host header as the TLS server name. */
function connector(host: string): buildConnector.connector {
  const connect = buildConnector({ rejectUnauthorized: false, timeout: 0, maxCachedSessions: 0, allowH2: true });
  const servername = isIP(host) === 0 ? host : '';
  return (target, callback) => connect({ ...target, servername }, callback);
}

/** The request that follows a redirect. */
function followed(location: string, request: HTTPProbeRequest): HTTPProbeRequest {
  const url = new URL(location, urlOf(request));
  const headers = new Map(request.headers);
  // A Host header from the pod's spec is kept if the redirect has no host.
  if (/^([a-zA-Z][\w+.-]*:)?\/\//.test(location)) headers.delete('Host');
  if (request.scheme === 'http' || url.protocol === 'https:') headers.set('Referer', [urlOf(request)]);
  return {
    scheme: url.protocol.slice(0, -1),
    host: url.hostname.replaceAll(/[[\]]/g, ''),
    port: url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port),
    path: url.pathname + url.search,
    headers,
  };
}

function describe(error: unknown, { host, port }: HTTPProbeRequest, { isExceeded }: Deadline): string {
  if (isExceeded) return 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)';
  if (isDialError(error)) return dialErrorMessage(error, joinHostPort(host, port));
  return error instanceof Error ? error.message : 'request failed';
}
