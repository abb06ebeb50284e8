/** The user of the request: the admin, or a node's user. */
export type RequestUser = 'admin' | 'node-a' | 'node-b';

/** One raw request of the comparison. */
export interface ComparedRequest {
  readonly title: string;
  readonly method: string;
  /** `NS` is replaced with the namespace of the scenario. */
  readonly path: string;
  /** Sent as JSON; a string is sent unchanged. A function gets the bodies of the scenario's responses so far. */
  readonly body?: unknown;
  readonly contentType?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly user?: RequestUser;
  /** The declared difference that the responses show. */
  readonly difference?: string;
}

/** Requests in a separate namespace, in this order. */
export interface Scenario {
  readonly title: string;
  readonly requests: readonly ComparedRequest[];
}

export const PODS = '/api/v1/namespaces/NS/pods';
export const NODES = '/api/v1/nodes';
export const MERGE = 'application/merge-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';

type Rest = Partial<Omit<ComparedRequest, 'title' | 'method' | 'path' | 'body'>>;

export const get = (path: string, rest: Rest = {}): ComparedRequest => request('GET', path, undefined, rest);
export const post = (path: string, body: unknown, rest: Rest = {}): ComparedRequest =>
  request('POST', path, body, rest);
export const put = (path: string, body: unknown, rest: Rest = {}): ComparedRequest => request('PUT', path, body, rest);
export const del = (path: string, body?: unknown, rest: Rest = {}): ComparedRequest =>
  request('DELETE', path, body, rest);
export const patch = (path: string, contentType: string, body: unknown, rest: Rest = {}): ComparedRequest =>
  request('PATCH', path, body, { contentType, ...rest });

function request(method: string, path: string, body: unknown, rest: Rest): ComparedRequest {
  const text = typeof body === 'function' ? 'a body made from responses' : (JSON.stringify(body) ?? '');
  const short = text.length > 140 ? `${text.slice(0, 140)}…` : text;
  return { title: `${method} ${path} ${short}`.trim(), method, path, ...(body === undefined ? {} : { body }), ...rest };
}

/** The request with another title. */
export const titled = (title: string, one: ComparedRequest): ComparedRequest => ({ ...one, title });

export const container = (rest: object = {}): object => ({ name: 'c', image: 'i', ...rest });

export const podSpec = (rest: object = {}): object => ({
  nodeName: 'node-a',
  automountServiceAccountToken: false,
  containers: [container()],
  ...rest,
});

export const pod = (name: string, spec: object = {}, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: podSpec(spec),
});
