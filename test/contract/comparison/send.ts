import type { Json, KubeResponse } from '../../support/kube-http.ts';
import type { ContractServer } from '../servers.ts';
import type { ComparedRequest } from './request.ts';

/** Sends a request of the comparison with the namespace of its scenario in place of `NS`. */
export function sendRequest(
  server: ContractServer,
  { method, path, body, contentType, headers, user = 'admin' }: ComparedRequest,
  namespace: string,
  seen: readonly Json[],
): Promise<KubeResponse> {
  const made: unknown = typeof body === 'function' ? (body as (seen: readonly Json[]) => Json)(seen) : body;
  const text = typeof made === 'string' ? made : JSON.stringify(made);
  return server.http.request(method, path.replaceAll('NS', namespace), {
    ...(text === undefined ? {} : { body: text.replaceAll(/\bNS\b/g, namespace) }),
    ...(contentType === undefined ? {} : { contentType }),
    ...(headers === undefined ? {} : { headers }),
    ...(user === 'admin' ? {} : { token: server.nodeToken(user) }),
  });
}
