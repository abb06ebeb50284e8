import { isObject } from '../../shared/json.ts';
import type { ClientNodeKubeConfig, KubeConfigSource } from '../http/kube-config-types.ts';
import { type CoreV1ApiLike, coreV1ApiMethods } from './core-v1-api-like.ts';

/** How client-node sends the requests of an API. */
export interface ClientNodeSender {
  readonly kubeConfig: ClientNodeKubeConfig;
  /** The part before the `/` is the field manager. */
  readonly userAgent: string;
}

/** The User-Agent of node-fetch, which client-node 1.4 uses. */
const nodeFetchUserAgent = 'node-fetch/1.0 (+https://github.com/bitinn/node-fetch)';

/**
 * How client-node, 1.4 or 2.x, would send the requests of an API that `KubeConfig.makeApiClient` made; read from fields
 * that its types declare private. Undefined for everything else: a mock or spy, middleware or an HTTP library of the
 * caller, another server, another layout of these fields.
 */
export function senderOf(api: CoreV1ApiLike): ClientNodeSender | undefined {
  const { httpApi, middleware, authMethods, baseServer } = fieldsOf(fieldsOf(fieldsOf(api)['api'])['configuration']);
  const kubeConfig = fieldsOf(authMethods)['default'];
  if (!isClientNodeKubeConfig(kubeConfig) || !hasOwnMethods(api)) return undefined;
  const isDefaultHTTP =
    isObject(httpApi) && httpApi.constructor.name === 'IsomorphicFetchHttpLibrary' && !Object.hasOwn(httpApi, 'send');
  if (!isDefaultHTTP || fieldsOf(baseServer)['url'] !== kubeConfig.getCurrentCluster()?.server) return undefined;
  const userAgent = userAgentOf(middleware);
  return userAgent === undefined ? undefined : { kubeConfig, userAgent };
}

/** client-node 1.4 has no middleware, and 2.x one that sets the User-Agent. Undefined if the caller has added some. */
function userAgentOf(middleware: unknown): string | undefined {
  if (!Array.isArray(middleware) || middleware.length > 1) return undefined;
  const [only] = middleware as [{ pre(context: object): unknown }?];
  if (only === undefined) return nodeFetchUserAgent;
  const headers = new Map<string, string>();
  try {
    only.pre({ setHeaderParam: (name: string, value: string) => void headers.set(name.toLowerCase(), value) });
  } catch {
    return undefined;
  }
  return headers.size === 1 ? headers.get('user-agent') : undefined;
}

/** A `KubeConfig` of client-node, 1.x or 2.x. */
export function isClientNodeKubeConfig(value: unknown): value is ClientNodeKubeConfig {
  return isObject(value) && typeof value['getCurrentCluster'] === 'function';
}

/** A kubeconfig in one of its forms. */
export function isKubeConfig(value: unknown): value is KubeConfigSource {
  return isClientNodeKubeConfig(value) || (isObject(value) && 'clusters' in value && 'current-context' in value);
}

/** False for a subclass, and after `vi.spyOn()` or the like. */
function hasOwnMethods(api: CoreV1ApiLike): boolean {
  const prototype: unknown = Object.getPrototypeOf(api);
  return (
    Object.getPrototypeOf(prototype) === Object.prototype &&
    coreV1ApiMethods.every((method) => !Object.hasOwn(api, method) && !isSpy(api[method]))
  );
}

function isSpy(method: object): boolean {
  return 'mock' in method || 'restore' in method;
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {};
}
