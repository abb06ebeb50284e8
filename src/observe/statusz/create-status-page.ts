import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Pod } from '../../kube/objects/types.ts';
import type { PodExplanation } from '../../status-manager/explain/explanation.ts';
import type { StatusManagerLike } from '../../status-manager/status-manager-like.ts';
import { limitReads } from '../../shared/limit-reads.ts';
import { thrownFields } from '../../shared/logger.ts';
import { requirePort } from '../../shared/ports.ts';
import { readClientFiles } from './client-files.ts';
import { isHostAllowed } from '../../shared/host-check.ts';
import { resolveStatusPageOptions, type StatusPageOptions } from './status-page-options.ts';
import { podDocument } from './pod-document.ts';
import { jsonContent, RenderedJSON } from './rendered-json.ts';
import { type Content, Responder } from './responder.ts';
import {
  type NodeRow,
  podSummaries,
  type PodSummarySource,
  type ShownInspection,
  statusDocument,
} from './status-document.ts';
import { Timelines } from './timeline.ts';

/** The methods of a manager that the page needs. */
export interface StatusPageManager extends Pick<StatusManagerLike, 'getPodStatus' | 'subscribe'> {
  /** Undefined for a pod that no node has. */
  explain(podUID: string): PodExplanation | undefined;
  inspect(): ShownInspection;
  /** Shows which containers are sidecars, as kubectl does. */
  readonly podManager?: { getPodByUID(podUID: string): Pod | undefined };
  /** Of a process with virtual nodes. */
  nodes?(): readonly NodeRow[];
}

/** Handles the requests below its path. For `node:http`, Express and servers with the same types. */
export interface StatusPage {
  (request: IncomingMessage, response: ServerResponse): void;
  /** Ends the subscription to the manager and closes all connections. Later requests get 503. */
  close(): void;
}

/**
 * A page that shows the pods of one manager live, and its data as JSON: `pods.json`
 * and, for one pod, `pods/UID.json`.
 *
 * Read-only. Shows `inspect()`, `explain()` and the conditions of the cached statuses, but never a pod's
 * spec. It has no authentication: listen on a loopback address, or use an authenticating proxy. While no
 * page is open, nothing is read or rendered; the page only subscribes to the manager to record the newest
 * events of each pod.
 *
 * @throws StatusManagerError INVALID_OPTION, also if the manager lacks a method that is needed (path
 * `manager`); INVALID_STATE if the files of the page are missing, as in a bundle
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { createStatusPage } from 'kubelet-status-manager/statusz';
 *
 * const page = createStatusPage(manager, { nodeName });
 * const server = createServer(page).listen(8080, '127.0.0.1');
 * // At the end:
 * page.close();
 * server.close();
 * ```
 */
export function createStatusPage(manager: StatusPageManager, options: StatusPageOptions = {}): StatusPage {
  requirePort('manager', manager, ['explain', 'getPodStatus', 'inspect', 'subscribe']);
  const { nodeName, path, refreshIntervalMs, timelineLength, allowedHosts, problems, clock, logger } =
    resolveStatusPageOptions(options);
  const files = readClientFiles();
  const responder = new Responder(clock);
  const getPodStatus: StatusPageManager['getPodStatus'] = (podUID) => manager.getPodStatus(podUID);
  const timelines = new Timelines({
    clock,
    length: timelineLength,
    isKnown: (podUID) => getPodStatus(podUID) !== undefined,
  });
  for (const { podUID } of manager.inspect().pods) timelines.startFrom(podUID, getPodStatus(podUID));
  const unsubscribe = manager.subscribe({
    onPodUpdated: (pod, status) => timelines.statusChanged(pod.metadata!.uid!, status),
    onPodRemoved: (pod) => timelines.statusChanged(pod.metadata!.uid!, getPodStatus(pod.metadata!.uid!) ?? {}),
    onOutcome: (outcome) => timelines.outcome(outcome),
  });
  const getPod: PodSummarySource['getPod'] = (podUID) => manager.podManager?.getPodByUID(podUID);
  const inspect = limitReads(clock, () => manager.inspect());
  const pods = new RenderedJSON(clock, refreshIntervalMs, () =>
    statusDocument({
      problems: problems(),
      nodes: manager.nodes?.(),
      inspection: inspect(),
      getPod,
      getPodStatus,
      nodeName,
      refreshIntervalMs,
    }),
  );
  let isClosed = false;

  async function contentOf(route: Route, request: IncomingMessage): Promise<Content | undefined> {
    switch (route.kind) {
      case 'file':
        return files.get(route.name);
      case 'pods':
        return acceptsGzip(request) ? pods.compressed : pods.plain;
      case 'pod': {
        const explanation = manager.explain(route.podUID);
        if (explanation === undefined) return undefined;
        const { podUID } = explanation;
        const source = { inspection: inspect(), getPod, getPodStatus };
        const [row] = podSummaries(source, (pod) => pod.podUID === podUID);
        const document = podDocument(explanation, row, getPodStatus(podUID), timelines);
        return document && jsonContent(document);
      }
      default:
        return undefined;
    }
  }

  async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!responder.open(response)) return;
    if (isClosed) return responder.sendText(response, 503, 'The status page is closed');
    if (!isHostAllowed(request, allowedHosts))
      return responder.sendText(response, 403, 'This host name is not allowed');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      return responder.sendText(response, 405, 'The status page is read-only');
    }
    const route = routeOf(request, path);
    if (route.kind === 'redirect') return responder.redirect(response, route.location);
    const content = await contentOf(route, request);
    if (response.destroyed) return undefined;
    if (content === undefined) return responder.sendText(response, 404, 'Not found');
    response.setHeader('statusz-time', clock.now());
    return responder.send(request, response, content);
  }

  const page: StatusPage = (request, response) => {
    respond(request, response).catch((error: unknown) => {
      logger.error(thrownFields(error), 'Failed to render the status page');
      if (!response.headersSent) responder.sendText(response, 500, 'Failed to render the status page');
    });
  };
  page.close = () => {
    isClosed = true;
    unsubscribe();
    timelines.clear();
    pods.clear();
    responder.close();
  };
  return page;
}

function acceptsGzip({ headers }: IncomingMessage): boolean {
  const codings = headers['accept-encoding']?.toString().split(',') ?? [];
  return codings.some((coding) => {
    const [name, ...parameters] = coding.split(';').map((part) => part.trim());
    return name === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

type Route =
  | { readonly kind: 'file'; readonly name: string }
  | { readonly kind: 'pods' }
  | { readonly kind: 'pod'; readonly podUID: string }
  /** The page's links are relative, so its own address must end with a slash. */
  | { readonly kind: 'redirect'; readonly location: string }
  | { readonly kind: 'none' };

/** @param path path of the page; requests have it as a prefix unless the server has removed it */
function routeOf(request: IncomingMessage & { readonly originalUrl?: string }, path: string): Route {
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
