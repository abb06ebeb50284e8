import { Agent, request } from 'undici/index.js';

/** The request of an HTTP hook. */
export interface HookHTTPRequest {
  readonly url: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
}

/** Maximum length of the response that is read. */
const maxResponseBytes = 10 * 1024;

/**
 * Sends the GET request of a hook and resolves with any response, whatever its status. As in the
 * kubelet, certificates are not verified. Source: kubelet `runHTTPHandler`.
 */
export async function sendHTTPHook({ url, headers }: HookHTTPRequest, signal: AbortSignal): Promise<void> {
  const dispatcher = new Agent({ connect: { rejectUnauthorized: false }, headersTimeout: 0, bodyTimeout: 0 });
  try {
    const { body } = await request(url, {
      dispatcher,
      signal,
      headers: headers.flatMap(({ name, value }) => [name, value]),
    });
    await body.dump({ limit: maxResponseBytes, signal });
  } finally {
    await dispatcher.destroy();
  }
}

/** True when an HTTPS request reached a plain HTTP server. Source: kubelet `isHTTPResponseError`. */
export function isHTTPResponseError(thrown: unknown): boolean {
  for (let error = thrown; error instanceof Error; error = error.cause) {
    if (/wrong version number|packet length too long/.test(error.message)) return true;
  }
  return false;
}
