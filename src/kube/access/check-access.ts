import { APIError, describeAPIError } from '../client/api-error.ts';
import type { APIRequests } from '../client/api-requests.ts';
import { isKubeConfig } from '../client/client-node-api.ts';
import type { KubeConfigSource } from '../http/kube-config-types.ts';
import { refuseArgument } from '../../shared/errors.ts';
import { fieldOf, isObject } from '../../shared/json.ts';
import type { Pod } from '../objects/types.ts';
import { requireText } from '../../shared/validate.ts';
import { type AccessCheck, AccessReport } from './access-report.ts';
import { isUnrelatedToNode } from './node-relationship.ts';
import { type AccessPart, type Permission, permissionsOf, requireParts } from './permissions.ts';

/**
 * The client whose user is checked: client-node's `KubeConfig`, a kubeconfig object, a `KubeTransport` or the client of
 * `createPodClient()` of `kubelet-status-manager/http`, or any object with such a method `request`.
 */
export type AccessClient = APIRequests | { readonly transport: APIRequests } | KubeConfigSource;

/** Options of `checkAccess`. */
export interface AccessOptions {
  /** The node whose pods the user handles. */
  readonly nodeName: string;
  /** The parts to check. Default `['status-manager', 'informer']`; `accessParts` is all that a node agent needs. */
  readonly parts?: readonly AccessPart[] | undefined;
  /** Aborts the requests. */
  readonly signal?: AbortSignal | undefined;
}

const defaultParts: readonly AccessPart[] = ['status-manager', 'informer'];
const perObjectReason = 'the Node authorizer grants it for each object that a pod of the node refers to';
const reviewPath = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const selfPath = '/apis/authentication.k8s.io/v1/selfsubjectreviews';

/**
 * Asks the API server which permissions this user has, with one SelfSubjectAccessReview for each. If the
 * node has a pod, it also sends a PATCH of that pod's status with `dryRun=All` and no change. The dry run
 * shows what admission refuses, for example NodeRestriction or a webhook. Writes nothing.
 *
 * Rejects with an `APIError` if the API server does not respond, or does not accept the credentials
 * (401). A review that the API server refuses is `unknown` in the report.
 * @throws StatusManagerError INVALID_ARGUMENT
 *
 * @example
 * ```ts
 * import { checkAccess } from 'kubelet-status-manager';
 *
 * const report = await checkAccess(client, { nodeName, parts: ['status-manager', 'informer'] });
 * if (!report.isComplete) console.error(report.explain());
 * ```
 */
export async function checkAccess(client: AccessClient, options: AccessOptions): Promise<AccessReport> {
  if (!isObject(options)) refuseArgument('options', 'an object', options);
  const { nodeName, parts = defaultParts } = options;
  requireText('options.nodeName', nodeName);
  requireParts(parts);
  const given: unknown = client;
  const requests = isObject(given) && 'transport' in given ? given['transport'] : given;
  if (isAPIRequests(requests)) return checkPermissions(requests, options);
  if (!isKubeConfig(given))
    refuseArgument('client', 'a KubeConfig, a KubeTransport or the client of createPodClient()', given);
  // Loaded here, because most programs import this function and do not call it.
  const { createKubeTransport } = await import('../http/transport.ts');
  const transport = createKubeTransport(given);
  try {
    return await checkPermissions(transport, options);
  } finally {
    await transport.close();
  }
}

async function checkPermissions(
  requests: APIRequests,
  { nodeName, parts = defaultParts, signal }: AccessOptions,
): Promise<AccessReport> {
  const asker = new AccessAsker(requests, nodeName, signal);
  const user = await asker.whoAmI();
  const pod = await asker.findPod();
  const isNodeUser = user?.name.startsWith('system:node:') ?? false;
  const checks: AccessCheck[] = [];
  // One request at a time, because the connections are needed for other requests at start.
  for (const permission of permissionsOf(parts, nodeName)) {
    if (isNodeUser && permission.isGrantedPerObject) {
      checks.push({ ...permission, by: 'review', result: 'unknown', reason: perObjectReason });
      continue;
    }
    const isReadByName = isNodeUser && permission.verb === 'get' && permission.resource === 'pods';
    checks.push(await (isReadByName ? asker.reviewGetOfPod(permission, pod) : asker.review(permission)));
  }
  const patch = checks.find(
    ({ verb, resource, subresource }) => verb === 'patch' && resource === 'pods' && subresource === 'status',
  );
  if (parts.includes('status-manager') && patch?.result !== 'denied') checks.push(await asker.tryPatch(pod));
  return new AccessReport({ nodeName, parts, user, checks });
}

function isAPIRequests(value: unknown): value is APIRequests {
  return isObject(value) && typeof value['request'] === 'function';
}

/** The requests of one check. */
class AccessAsker {
  readonly #requests: APIRequests;
  readonly #nodeName: string;
  readonly #signal: AbortSignal | undefined;

  constructor(requests: APIRequests, nodeName: string, signal: AbortSignal | undefined) {
    this.#requests = requests;
    this.#nodeName = nodeName;
    this.#signal = signal;
  }

  /** Undefined when the API server does not tell. */
  async whoAmI(): Promise<{ readonly name: string; readonly groups: readonly string[] } | undefined> {
    const body = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' };
    const review = await this.#ask('POST', selfPath, { body });
    if (review instanceof APIError) return undefined;
    const userInfo = fieldOf(fieldOf(review, 'status'), 'userInfo');
    const name = fieldOf(userInfo, 'username');
    const groups = fieldOf(userInfo, 'groups');
    return typeof name === 'string' ? { name, groups: Array.isArray(groups) ? groups.map(String) : [] } : undefined;
  }

  /** Returns any pod of the node. */
  async findPod(): Promise<Pod | APIError | undefined> {
    const query = { fieldSelector: `spec.nodeName=${this.#nodeName}`, limit: '1' };
    const list = await this.#ask('GET', '/api/v1/pods', { query });
    if (list instanceof APIError) return list;
    const items = fieldOf(list, 'items');
    return Array.isArray(items) ? (items[0] as Pod | undefined) : undefined;
  }

  async review(permission: Permission): Promise<AccessCheck> {
    const { verb, group, resource, subresource, namespace, name, fieldSelector } = permission;
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: {
        resourceAttributes: {
          ...{ verb, group, version: 'v1', resource, subresource, namespace, name },
          ...(fieldSelector !== '' && { fieldSelector: { rawSelector: fieldSelector } }),
        },
      },
    };
    const review = await this.#ask('POST', reviewPath, { body });
    if (review instanceof APIError) return { ...permission, by: 'review', result: 'unknown', reason: review.message };
    const status = fieldOf(review, 'status');
    const reason = fieldOf(status, 'reason');
    return {
      ...permission,
      by: 'review',
      result: fieldOf(status, 'allowed') === true ? 'allowed' : 'denied',
      reason: typeof reason === 'string' ? reason : undefined,
    };
  }

  /**
   * The Node authorizer only allows a node to GET pods by name that are bound to it, and may not know yet that this one
   * is.
   */
  async reviewGetOfPod(permission: Permission, pod: Pod | APIError | undefined): Promise<AccessCheck> {
    if (pod === undefined || pod instanceof APIError) {
      return { ...permission, by: 'review', result: 'unknown', reason: noPodReason(pod) };
    }
    const { namespace = '', name = '' } = pod.metadata ?? {};
    const check = await this.review({ ...permission, namespace, name });
    return check.result === 'denied' && isUnrelatedToNode(check.reason ?? '') ? { ...check, result: 'unknown' } : check;
  }

  async tryPatch(pod: Pod | APIError | undefined): Promise<AccessCheck> {
    const isFound = pod !== undefined && !(pod instanceof APIError);
    const { namespace = '', name = '', uid } = (isFound && pod.metadata) || {};
    const check = {
      ...{ verb: 'patch', group: '', resource: 'pods', subresource: 'status', fieldSelector: '', namespace, name },
      by: 'dry-run' as const,
      purpose: 'pod statuses are written',
    };
    if (!isFound) return { ...check, result: 'unknown', reason: noPodReason(pod) };
    const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods/${encodeURIComponent(name)}/status`;
    const response = await this.#ask('PATCH', path, {
      query: { dryRun: 'All' },
      body: { metadata: { uid } },
      contentType: 'application/strategic-merge-patch+json',
    });
    if (!(response instanceof APIError)) return { ...check, result: 'allowed', reason: undefined };
    return { ...check, result: isRefusal(response) ? 'denied' : 'unknown', reason: response.message };
  }

  /** Returns errors of responses instead of throwing, except 401. */
  async #ask(
    method: string,
    path: string,
    options: NonNullable<Parameters<APIRequests['request']>[2]>,
  ): Promise<unknown> {
    try {
      return (await this.#requests.request(method, path, { ...options, signal: this.#signal })).json();
    } catch (rejection) {
      const error = describeAPIError(rejection);
      if (error.kind !== 'http' || error.statusCode === 401) throw error;
      return error;
    }
  }
}

/** A 4xx response, except that the pod is gone or has changed (404, 409), or a pause (429). */
function isRefusal({ statusCode = 0 }: APIError): boolean {
  return statusCode >= 400 && statusCode < 500 && ![404, 409, 429].includes(statusCode);
}

function noPodReason(pod: APIError | undefined): string {
  return pod === undefined
    ? 'the node has no pod to try it on'
    : `the pods of the node cannot be listed: ${pod.message}`;
}
