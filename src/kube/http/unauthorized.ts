import { X509Certificate } from 'node:crypto';
import { isObject, parseJSON } from '../../shared/json.ts';
import { timeFromEpochMs } from '../../shared/time.ts';
import type { Credentials } from './credentials.ts';

/** Smaller differences are within rounding to seconds, response time and the server's leeway. */
const minClockSkewMs = 60_000;

/**
 * A reason for a 401 that the client can detect: no credentials, a certificate or token that has expired or is not
 * valid yet, or clocks that differ. `''` if none is found. Names files and times, never the content
 * of a credential.
 *
 * @param date The `Date` header of the response
 */
export function explainRefusal(credentials: Credentials, nowMs: number, date?: unknown): string {
  if (credentials.missing !== undefined) return credentials.missing;
  return [certificateProblem(credentials, nowMs), tokenProblem(credentials, nowMs), clockProblem(date, nowMs)]
    .filter((problem) => problem !== undefined)
    .join('; ');
}

/** Also applies to a failed TLS handshake. */
export function certificateProblem({ tls: { cert }, files }: Credentials, nowMs: number): string | undefined {
  if (cert === undefined) return undefined;
  const name = files.cert === undefined ? 'the client certificate' : `the client certificate ${files.cert}`;
  try {
    const { validFrom, validTo } = new X509Certificate(cert);
    return outsideOf(Date.parse(validFrom), Date.parse(validTo), nowMs, name);
  } catch {
    return `${name} cannot be read`;
  }
}

function tokenProblem({ headers: { authorization }, files }: Credentials, nowMs: number): string | undefined {
  const payload = typeof authorization === 'string' ? /^Bearer [^.]+\.([^.]+)\./.exec(authorization)?.[1] : undefined;
  if (payload === undefined) return undefined;
  // The claims of a service account token (a JWT). A token of another kind may also contain dots.
  const claims = parseJSON(Buffer.from(payload, 'base64url').toString());
  if (!isObject(claims)) return undefined;
  const { nbf, exp } = claims;
  const ms = (seconds: unknown): number => (typeof seconds === 'number' ? seconds * 1000 : Number.NaN);
  return outsideOf(ms(nbf), ms(exp), nowMs, files.token === undefined ? 'the token' : `the token in ${files.token}`);
}

/** An unknown bound is NaN, and comparisons with NaN are false. */
function outsideOf(fromMs: number, toMs: number, nowMs: number, name: string): string | undefined {
  if (toMs <= nowMs) return `${name} expired at ${timeFromEpochMs(toMs)}: renew it`;
  if (fromMs > nowMs) return `${name} is not valid before ${timeFromEpochMs(fromMs)}`;
  return undefined;
}

function clockProblem(date: unknown, nowMs: number): string | undefined {
  const skewMs = typeof date === 'string' ? nowMs - Date.parse(date) : Number.NaN;
  if (!(Math.abs(skewMs) > minClockSkewMs)) return undefined;
  const seconds = Math.round(Math.abs(skewMs) / 1000);
  return `the clock here is ${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the server's`;
}
