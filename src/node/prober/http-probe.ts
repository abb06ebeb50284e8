import type { Clock } from '../../shared/clock.ts';
import { withDeadline } from '../../shared/deadline.ts';
import { maxOutputLength } from './exec-probe.ts';
import { sendHTTPRequest } from './http-client.ts';
import type { HTTPProbeRequest } from './http-probe-request.ts';
import type { HTTPResponse } from './http-round-trip.ts';
import { type ProbeOutcome, UnfinishedProbeError } from './prober.ts';

/**
 * Sends the request and follows redirects on the same host. 200 to 399 is a success; a redirect that
 * is not followed is a warning. Rejects with `UnfinishedProbeError` if the body cannot be read.
 * Source: kubelet `httpprobe.Probe`, `DoHTTPProbe`.
 */
export function probeHTTP(
  request: HTTPProbeRequest,
  timeoutMs: number,
  clock: Clock,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  return withDeadline(clock, timeoutMs, signal, async (deadline) => {
    let response: HTTPResponse;
    try {
      response = await sendHTTPRequest(request, deadline);
    } catch (error) {
      return { result: 'failure', output: (error as Error).message };
    }
    try {
      return outcomeOf(response.statusCode, await readAtMost(response.body, maxOutputLength));
    } catch (error) {
      const reason = deadline.isExceeded
        ? 'context deadline exceeded (Client.Timeout or context cancellation while reading body)'
        : response.describe(error as Error);
      throw new UnfinishedProbeError(reason, { cause: error });
    } finally {
      response.close();
    }
  });
}

function outcomeOf(statusCode: number, body: string): ProbeOutcome {
  if (statusCode < 200 || statusCode >= 400) {
    // The body is omitted: it may contain data that readers of Events must not see.
    return { result: 'failure', output: `HTTP probe failed with statuscode: ${statusCode}` };
  }
  if (statusCode < 300) return { result: 'success', output: body };
  return { result: 'warning', output: `Probe terminated redirects, Response body: ${body}` };
}

async function readAtMost(body: AsyncIterable<Buffer>, maxLength: number): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= maxLength) break;
  }
  return Buffer.concat(chunks).subarray(0, maxLength).toString();
}
