import { describe, expect, it } from 'vitest';
import { PODS, podOf, startServer } from './harness.ts';

/** Requests that kube-apiserver serves and APIServer does not: each refusal names the limit and the way out. */
const refusals: readonly {
  readonly title: string;
  readonly method?: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly contentType?: string;
  readonly body?: unknown;
  readonly code: number;
  readonly message: string;
}[] = [
  { title: 'endpoints', path: '/api/v1/endpoints', code: 501, message: 'does not serve endpoints' },
  {
    title: 'a Service of a user',
    method: 'POST',
    path: '/api/v1/namespaces/default/services',
    body: { metadata: { name: 's' } },
    code: 501,
    message: 'does not serve writes of services',
  },
  {
    title: 'the status of a Service',
    path: '/api/v1/namespaces/default/services/kubernetes/status',
    code: 501,
    message: 'does not serve services/status',
  },
  {
    title: 'deployments',
    path: '/apis/apps/v1/namespaces/default/deployments',
    code: 501,
    message: 'does not serve deployments.apps',
  },
  { title: 'logs', path: `${PODS}/p/log`, code: 501, message: 'Use a real kube-apiserver' },
  { title: 'exec', method: 'POST', path: `${PODS}/p/exec`, code: 501, message: 'runs nothing' },
  {
    title: 'server-side apply',
    method: 'PATCH',
    path: `${PODS}/p`,
    contentType: 'application/apply-patch+yaml',
    body: {},
    code: 415,
    message: 'use kubectl apply without --server-side',
  },
  {
    title: 'a body in protobuf',
    method: 'POST',
    path: PODS,
    contentType: 'application/vnd.kubernetes.protobuf',
    body: 'k8s',
    code: 415,
    message: 'set ContentType: application/json',
  },
  {
    title: 'responses in protobuf only',
    path: PODS,
    headers: { accept: 'application/vnd.kubernetes.protobuf' },
    code: 406,
    message: 'set ContentType: application/json',
  },
  {
    title: 'YAML',
    method: 'POST',
    path: PODS,
    contentType: 'application/yaml',
    body: 'kind: Pod',
    code: 415,
    message: 'set ContentType: application/json',
  },
  {
    title: 'impersonation of a user that is not there',
    path: PODS,
    headers: { 'impersonate-user': 'alice' },
    code: 501,
    message: 'nodeUsers',
  },
];

describe('APIServer rejects unsupported requests', () => {
  it.for(refusals)('$title', async ({ method = 'GET', path, headers, contentType, body, code, message }) => {
    const { server, http } = await startServer();
    server.pods.create(podOf('p'));
    const before = server.pods.list();
    const response = await http.request(method, path, {
      ...(headers === undefined ? {} : { headers }),
      ...(contentType === undefined ? {} : { contentType }),
      ...(body === undefined ? {} : { body }),
    });
    expect(response.body).toMatchObject({ code, message: expect.stringContaining(message) });
    expect(server.pods.list()).toEqual(before);
  });
});
