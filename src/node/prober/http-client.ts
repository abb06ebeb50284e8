import { joinHostPort } from './container-port.ts';
import type { HTTPProbeRequest } from './http-probe-request.ts';
import { type HTTPResponse, roundTrip } from './http-round-trip.ts';
import type { Deadline } from '../../shared/deadline.ts';

const maxRedirects = 10;
const redirectStatusCodes = [301, 302, 303, 307, 308];

/**
 * Sends a GET request and follows redirects on the same host; resolves with any response, even a redirect to another host or
 * without a target. The caller closes it. Certificates are not verified, a proxy is never used, and each request has its own
 * connection. Rejects with the message of Go's client. Source: kubelet `RedirectChecker`, Go `http.Client.Do`.
 */
export async function sendHTTPRequest(request: HTTPProbeRequest, deadline: Deadline): Promise<HTTPResponse> {
  let current = request;
  try {
    for (let redirects = 1; ; redirects++) {
      const response = await roundTrip(current, deadline.signal);
      const { statusCode, location } = response;
      if (!redirectStatusCodes.includes(statusCode) || !location) return response;
      const next = redirected(location, current, request);
      if (next.host !== request.host) return response;
      response.close();
      if (redirects === maxRedirects) {
        current = { ...next, url: location };
        throw new Error(`stopped after ${maxRedirects} redirects`);
      }
      current = next;
    }
  } catch (error) {
    const reason = deadline.isExceeded
      ? 'context deadline exceeded (Client.Timeout exceeded while awaiting headers)'
      : (error as Error).message;
    throw new Error(`Get ${JSON.stringify(current.url)}: ${reason}`, { cause: error });
  }
}

/** The request that follows a redirect. */
function redirected(location: string, current: HTTPProbeRequest, original: HTTPProbeRequest): HTTPProbeRequest {
  const { url } = current;
  if (!URL.canParse(location, url))
    throw new Error(`failed to parse Location header ${JSON.stringify(location)}: invalid URL`);
  const target = new URL(location, url);
  const scheme = target.protocol.slice(0, -1);
  const host = target.hostname.replaceAll(/[[\]]/g, '');
  const headers = new Map(original.headers);
  // A Host header of the pod's spec is kept unless the redirect has a host.
  if (URL.canParse(location)) headers.delete('Host');
  if (!headers.has('Referer') && !(current.scheme === 'https' && scheme === 'http')) headers.set('Referer', [url]);
  const port = Number(target.port) || (scheme === 'https' ? 443 : 80);
  const authority = target.port === '' ? joinHostPort(host, port).replace(/:\d+$/, '') : joinHostPort(host, port);
  const path = target.pathname + target.search;
  return { url: `${scheme}://${authority}${path}`, scheme, host, port, path, headers };
}
