/** Source: apiserver `user.Info`. */
export interface UserInfo {
  readonly username: string;
  readonly uid?: string | undefined;
  readonly groups?: readonly string[] | undefined;
  readonly extra?: Readonly<Record<string, readonly string[]>> | undefined;
}

/** The permissions that allow a request: `verb` on one of these subresources of the Node. */
export interface RequestAttributes {
  readonly verb: string;
  /** In the order in which they are tried. */
  readonly subresources: readonly string[];
}

const verbs: Readonly<Record<string, string>> = {
  POST: 'create',
  GET: 'get',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Subresources that allow one path each. `nodes/proxy`, which also allows exec, allows these paths as well. */
const fineGrained: Readonly<Record<string, string>> = {
  '/allocatedPods': 'pods',
  '/pods': 'pods',
  '/healthz': 'healthz',
  '/configz': 'configz',
  '/runningpods/': 'pods',
};

/** Paths for which another subresource replaces `nodes/proxy`. */
const specific: Readonly<Record<string, string>> = {
  '/stats/': 'stats',
  '/metrics': 'metrics',
  '/logs/': 'log',
  '/checkpoint/': 'checkpoint',
  '/statusz': 'statusz',
  '/flagz': 'configz',
};

/** @param path decoded. Source: kubelet `GetRequestAttributes` */
export function requestAttributes(method: string, path: string): RequestAttributes {
  const find = (table: Readonly<Record<string, string>>): string | undefined =>
    Object.entries(table).find(([prefix]) => isSubpath(path, prefix))?.[1];
  const fine = find(fineGrained);
  const subresource = find(specific) ?? 'proxy';
  return { verb: verbs[method] ?? '', subresources: fine === undefined ? [subresource] : [fine, subresource] };
}

/** Source: kubelet `isSubpath`. */
export function isSubpath(subpath: string, path: string): boolean {
  const prefix = path.endsWith('/') ? path.slice(0, -1) : path;
  return subpath === prefix || subpath.startsWith(`${prefix}/`);
}
