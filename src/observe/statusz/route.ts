import type { IncomingMessage } from 'node:http';

export type Route =
  | { readonly kind: 'file'; readonly name: string }
  | { readonly kind: 'pods' }
  | { readonly kind: 'pod'; readonly podUID: string }
  /** The page's links are relative, so its own address must end with a slash. */
  | { readonly kind: 'redirect'; readonly location: string }
  | { readonly kind: 'none' };

/** @param path path of the page; requests have it as a prefix unless the server has removed it */
export function routeOf(request: IncomingMessage & { readonly originalUrl?: string }, path: string): Route {
  const requested = pathOf(request.url);
  const rest = requested === path || requested.startsWith(`${path}/`) ? requested.slice(path.length) : requested;
  if (rest === '' || rest === '/') {
    // In Express, `originalUrl` is the URL that the browser requested.
    const shown = pathOf(request.originalUrl ?? request.url);
    if (shown.endsWith('/')) return { kind: 'file', name: 'page.html' };
    return { kind: 'redirect', location: `./${shown.slice(shown.lastIndexOf('/') + 1)}/` };
  }
  if (rest === '/pods.json') return { kind: 'pods' };
  const [, encodedUID] = /^\/pods\/([^/]+)\.json$/.exec(rest) ?? [];
  if (encodedUID !== undefined) return podRoute(encodedUID);
  return { kind: 'file', name: rest.slice(1) };
}

function podRoute(encodedUID: string): Route {
  try {
    return { kind: 'pod', podUID: decodeURIComponent(encodedUID) };
  } catch {
    return { kind: 'none' };
  }
}

/** Without the query. */
function pathOf(url = ''): string {
  return url.replace(/[?#].*$/s, '');
}
