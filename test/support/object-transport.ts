import { APIError } from '../../src/kube/client/api-error.ts';
import type { KubeTransport } from '../../src/kube/http/kube-transport.ts';

const servicesPath = '/api/v1/services';

/**
 * An API server that has only these objects, by path; an error, or the promise of one, is the response.
 * @param cluster has the Services
 */
export function objectTransport(
  initial: Readonly<Record<string, unknown>>,
  cluster?: Pick<KubeTransport, 'request' | 'stream'>,
): {
  readonly transport: KubeTransport;
  readonly requests: string[];
  set(path: string, object: unknown): void;
} {
  const objects = new Map(Object.entries(initial));
  const requests: string[] = [];
  const transport: KubeTransport = {
    async request(method, path, options) {
      requests.push(`${method} ${path}`);
      if (cluster !== undefined && path === servicesPath) return cluster.request(method, path, options);
      const object = await objects.get(path);
      if (object instanceof Error) throw object;
      if (object === undefined) throw new APIError(`${path} not found`, { kind: 'http', statusCode: 404 });
      return { statusCode: 200, headers: {}, text: JSON.stringify(object), json: () => object };
    },
    stream: (path, options) =>
      cluster === undefined ? Promise.reject(new Error('no watches')) : cluster.stream(path, options),
    lastSuccessAgeMs: undefined,
    closeIdle: async () => {},
    close: async () => {},
  };
  return { transport, requests, set: (path, object) => void objects.set(path, object) };
}
