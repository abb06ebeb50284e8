import { allBy } from '../../shared/by-field.ts';
import type { Container, HTTPGetAction, HTTPHeader } from '../../kube/objects/types.ts';
import { joinHostPort, resolveContainerPort } from './container-port.ts';

/** The User-Agent header of probes. Source: kubelet `kube-probe/MAJOR.MINOR`. */
export const probeUserAgent = 'kube-probe/1.37';

/** The User-Agent header of lifecycle hooks. Source: kubelet `kube-lifecycle/MAJOR.MINOR`. */
export const lifecycleUserAgent = 'kube-lifecycle/1.37';

/** The GET request of a probe or hook. */
export interface HTTPProbeRequest {
  readonly url: string;
  /** `http` or `https`; a redirect may have another one, which is an error. */
  readonly scheme: string;
  readonly host: string;
  readonly port: number;
  /** Path and query, escaped where needed; begins with a slash. */
  readonly path: string;
  /** Values by canonical header name. Has `Host` only if the pod's spec sets it. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
}

/** Headers that describe the body, which a pod's spec may not set. Source: Go `reqWriteExcludeHeader`. */
const headersNotSent = ['Content-Length', 'Trailer', 'Transfer-Encoding'];

/**
 * The request for the `httpGet` of a probe or hook. @throws Error if the port does not exist.
 * Source: kubelet `httpprobe.NewRequestForHTTPGetAction`.
 */
export function httpProbeRequest(
  httpGet: HTTPGetAction,
  container: Container,
  podIP: string,
  userAgent = probeUserAgent,
): HTTPProbeRequest {
  const scheme = httpGet.scheme?.toLowerCase() || 'http';
  const host = httpGet.host || podIP;
  const port = resolveContainerPort(httpGet.port, container);
  const path = requestTarget(httpGet.path ?? '');
  const url = `${scheme}://${joinHostPort(host, port)}${path}`;
  return { url, scheme, host, port, path, headers: probeHeaders(httpGet.httpHeaders ?? [], userAgent) };
}

/**
 * A scheme and host in the path are replaced, and a fragment is not sent. A path that is not a valid URL reference is
 * escaped, and otherwise sent unchanged. Source: kubelet `formatURL`.
 */
function requestTarget(path: string): string {
  const isBroken = /%(?![0-9a-fA-F]{2})/.test(path);
  const match = isBroken ? null : /^(?:(?:[a-zA-Z][\w+.-]*:)?\/\/[^/?#]*)?([^?#]*)(\?[^#]*)?/.exec(path);
  const pathname = match?.[1] ?? path;
  const target = pathname.replaceAll(/[^\w!$&'()*+,./:;=@~[\]-]/gu, (char) =>
    char === '%' && !isBroken ? char : encodeURIComponent(char),
  );
  const query = (match?.[2] ?? '').replaceAll(/[^!-~]/gu, (char) => encodeURIComponent(char));
  return (target.startsWith('/') ? target : `/${target}`) + query;
}

/** Source: kubelet `v1HeaderToHTTPHeader`, `newProbeRequest`. */
function probeHeaders(list: readonly HTTPHeader[], userAgent: string): Map<string, string[]> {
  const canonical = list.map(({ name, value }) => ({ name: canonicalHeaderName(name), value }));
  const headers = new Map([...allBy(canonical, 'name')].map(([name, same]) => [name, same.map(({ value }) => value)]));
  if (!headers.has('User-Agent')) headers.set('User-Agent', [userAgent]);
  if (!headers.has('Accept')) headers.set('Accept', ['*/*']);
  for (const name of ['User-Agent', 'Accept', 'Host']) if (headers.get(name)?.[0] === '') headers.delete(name);
  // For a header that may occur only once, the first value is sent.
  for (const name of ['User-Agent', 'Host']) headers.get(name)?.splice(1);
  for (const name of headersNotSent) headers.delete(name);
  return headers;
}

/** `x-my-header` becomes `X-My-Header`. Source: Go `textproto.CanonicalMIMEHeaderKey`. */
function canonicalHeaderName(name: string): string {
  return name.toLowerCase().replaceAll(/(?:^|-)[a-z]/g, (letter) => letter.toUpperCase());
}
