import { expect } from 'vitest';
import type { Json, KubeHTTP, KubeRequestOptions, KubeResponse } from '../support/kube-http.ts';

export const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
export const MERGE_PATCH = 'application/merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';

export const PODS_PATH = '/api/v1/namespaces/default/pods';

export interface PodManifest {
  readonly apiVersion: 'v1';
  readonly kind: 'Pod';
  readonly metadata: Json;
  readonly spec: Json;
}

let lastNumber = 0;

/** A name that no other test of this file uses. */
export function uniqueName(prefix = 'pod'): string {
  lastNumber += 1;
  return `${prefix}-${lastNumber}`;
}

/** A pod with one container that is bound to node-a; `metadata` and `spec` override its fields. */
export function podManifest(name: string, overrides: { metadata?: Json; spec?: Json } = {}): PodManifest {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...overrides.metadata },
    spec: {
      nodeName: 'node-a',
      automountServiceAccountToken: false,
      containers: [{ name: 'c', image: 'i' }],
      ...overrides.spec,
    },
  };
}

/** The requests of the cases for pods in `default`, as the server's admin unless a token is given. */
export class PodAPI {
  readonly #http: KubeHTTP;

  constructor(http: KubeHTTP) {
    this.#http = http;
  }

  /** Creates a pod, which must succeed, and resolves with it. */
  async create(name: string, overrides: { metadata?: Json; spec?: Json } = {}): Promise<Json> {
    const response = await this.#http.request('POST', PODS_PATH, { body: podManifest(name, overrides) });
    return bodyOf(response, 201);
  }

  get(name: string, options: KubeRequestOptions = {}): Promise<KubeResponse> {
    return this.#http.request('GET', `${PODS_PATH}/${name}`, options);
  }

  /**
   * Resolves when the node authorizer and NodeRestriction know the pod. Both get pods from a watch, so for a
   * moment a node's user gets 403 to the GET of its new pod and 404 to its DELETE.
   */
  async untilNodeKnows(name: string, nodeUser: KubeRequestOptions): Promise<void> {
    while ((await this.get(name, nodeUser)).status === 403);
    while ((await this.delete(name, { dryRun: ['All'] }, nodeUser)).status === 404);
  }

  /** Resolves when the node authorizer has forgotten a deleted pod: it answers GET with 403, and with 404 before. */
  async untilNodeForgets(name: string, nodeUser: KubeRequestOptions): Promise<void> {
    while ((await this.get(name, nodeUser)).status === 404);
  }

  /** A strategic merge patch of the status. */
  patchStatus(name: string, status: Json, options: KubeRequestOptions = {}): Promise<KubeResponse> {
    return this.patch(`${name}/status`, { status }, STRATEGIC_MERGE_PATCH, options);
  }

  /** @param path after the list's, for example `NAME/status` */
  patch(path: string, body: Json, contentType: string, options: KubeRequestOptions = {}): Promise<KubeResponse> {
    return this.#http.request('PATCH', `${PODS_PATH}/${path}`, { ...options, contentType, body });
  }

  delete(name: string, deleteOptions?: Json, options: KubeRequestOptions = {}): Promise<KubeResponse> {
    return this.#http.request('DELETE', `${PODS_PATH}/${name}`, {
      ...options,
      ...(deleteOptions === undefined
        ? {}
        : { body: { apiVersion: 'v1', kind: 'DeleteOptions', ...(deleteOptions as object) } }),
    });
  }
}

/** Expects a `Status` with this code and reason, and with all other given fields, including its details. */
export function expectFailure(response: KubeResponse, code: number, reason: string, rest: Json = {}): void {
  expect(response.body).toMatchObject({
    kind: 'Status',
    apiVersion: 'v1',
    status: 'Failure',
    code,
    reason,
    ...(rest as object),
  });
  expect(response.status).toBe(code);
}

/** Expects a 200 and returns the body. */
export function expectOk(response: KubeResponse): Json {
  return bodyOf(response, 200);
}

function bodyOf(response: KubeResponse, status: number): Json {
  if (response.status === status) return response.body;
  throw new Error(`Expected ${status}, got ${response.status}: ${JSON.stringify(response.body)}`);
}
