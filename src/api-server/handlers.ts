import type { Clock } from '../shared/clock.ts';
import { reviewAccess, reviewSelf, reviewToken } from './access/access-review.ts';
import type { ServerRequest, ServerResponse } from './http/exchange.ts';
import type { reviewResources } from './access/review-resource.ts';
import { APIStatusError, badRequest, methodNotAllowed } from './api-status.ts';
import { duplicateFields, parseFieldValidation } from './storage/field-validation.ts';
import { refuseImpersonation } from './access/impersonation.ts';
import { listBody, listPage, parseListOptions } from './storage/list.ts';
import { mediaTypeOf, negotiate, refuseOtherThanJSON } from './http/negotiation.ts';
import { authorize } from './access/node-authorizer.ts';
import { admitNodeUser } from './access/node-restriction.ts';
import { isJSONObject, type JSONObject } from '../kube/objects/json-object.ts';
import type { StoredObject } from './storage/objects.ts';
import { type PatchMediaType, patchTypes } from './storage/patch.ts';
import { directRequest, type Registry, type Request } from './registry.ts';
import { parseDeleteOptions, parseDryRun } from './http/request-options.ts';
import { requireJSON, readBody, readJSON, type ResourceRequest } from './http/request.ts';
import type { ObjectStore } from './storage/store.ts';
import type { DeleteOptions } from './resources/strategy.ts';
import { type IncludeObject, tableOf, partialObject, partialObjectList } from './tables/table.ts';
import { TokenRequests } from './access/token-request.ts';
import type { ServiceAccountTokens } from './access/token-issuer.ts';
import type { Tokens } from './access/tokens.ts';
import { unreachable } from '../shared/unreachable.ts';
import type { User } from './access/users.ts';
import { refuseBadResourceVersion, Watch } from './storage/watch.ts';

/** One authenticated request for a resource. */
export interface ResourceCall {
  readonly request: ServerRequest;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  readonly user: User;
  /** The user of the token; differs from `user` under impersonation. */
  readonly authenticated: User;
  readonly resource: ResourceRequest;
}

/** The status code and the JSON body of a response. */
export interface JSONResponse {
  readonly code: number;
  readonly body: object;
}

/** Handles the requests for resources; owns the running watches. */
export class Handlers {
  readonly #store: ObjectStore;
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #tokens: Tokens;
  readonly #tokenRequests: TokenRequests;
  readonly #watches = new Set<Watch>();
  readonly #eventTexts = new EventTexts();

  constructor(
    store: ObjectStore,
    registry: Registry,
    clock: Clock,
    { tokens, serviceAccounts }: { readonly tokens: Tokens; readonly serviceAccounts: ServiceAccountTokens },
  ) {
    this.#store = store;
    this.#registry = registry;
    this.#clock = clock;
    this.#tokens = tokens;
    this.#tokenRequests = new TokenRequests(store, clock, serviceAccounts);
  }

  /** The response; undefined when a stream has begun. @throws APIStatusError */
  async handle(call: ResourceCall): Promise<JSONResponse | undefined> {
    const { resource, user, authenticated, query } = call;
    const fieldSelector = query.get('fieldSelector') ?? '';
    refuseImpersonation(authenticated, call.request.headers, resource);
    authorize(user, { ...resource, fieldSelector }, this.#store);
    negotiate(call.request);
    switch (resource.verb) {
      case 'list':
        return this.#list(call);
      case 'watch':
        return this.#watch(call);
      case 'get':
        return this.#respond(call, 200, this.#registry.get(resource));
      case 'create':
        return this.#create(call);
      case 'update':
        return this.#update(call);
      case 'patch':
        return this.#patch(call);
      case 'delete':
        return this.#delete(call);
      case 'deletecollection':
        return this.#deleteCollection(call);
      default:
        return unreachable(resource.verb);
    }
  }

  /** Responds to a review. */
  async review(
    kind: (typeof reviewResources)[number]['kind'],
    { request, user, query }: Omit<ResourceCall, 'resource' | 'authenticated'>,
  ): Promise<JSONResponse> {
    parseDryRun(query, 'CreateOptions');
    refuseOtherThanJSON(request);
    const { value } = await readJSON(request, notJSON);
    if (!isJSONObject(value)) throw badRequest(notJSON);
    const bodies = {
      SelfSubjectReview: () => reviewSelf(user),
      SelfSubjectAccessReview: () => reviewAccess(user, value, this.#store),
      TokenReview: () => reviewToken(user, value, this.#tokens),
    };
    return { code: 201, body: bodies[kind]() };
  }

  /** Ends all running watches. */
  close(): void {
    for (const watch of this.#watches) watch.stop();
    this.#watches.clear();
  }

  #list({ request, resource, query }: ResourceCall): JSONResponse {
    const { definition, namespace } = resource;
    const page = listPage(this.#store, definition, namespace, parseListOptions(definition, query, false));
    const representation = negotiate(request);
    if (representation === 'Object') return { code: 200, body: listBody(definition, page) };
    if (representation === 'PartialObjectMetadataList') {
      return { code: 200, body: partialObjectList(page.items, page.metadata) };
    }
    if (representation === 'PartialObjectMetadata') {
      throw notAcceptable(`you requested PartialObjectMetadata, but the requested object is a list`);
    }
    const body = tableOf(definition, page.items, page.metadata, this.#clock.now(), includeObjectOf(query));
    return { code: 200, body };
  }

  #watch(call: ResourceCall): undefined {
    const { response, resource, query } = call;
    const { definition, namespace } = resource;
    const options = parseListOptions(definition, query, true);
    refuseBadResourceVersion(options.resourceVersion);
    const representation = negotiate(call.request);
    const render = (object: StoredObject, isFirst: boolean): string => {
      if (representation === 'Object') return this.#eventTexts.textOf(object);
      const { body } = this.#respond(call, 200, object);
      return JSON.stringify(isFirst || representation !== 'Table' ? body : { ...body, columnDefinitions: null });
    };
    const watch = new Watch(response, { definition, namespace, options, render }, this.#store, this.#clock);
    this.#watches.add(watch);
    response.on('close', () => this.#watches.delete(watch));
    watch.start();
    return undefined;
  }

  async #create(call: ResourceCall): Promise<JSONResponse> {
    const { resource, query } = call;
    const dryRun = parseDryRun(query, 'CreateOptions');
    const fieldValidation = parseFieldValidation(query, 'CreateOptions');
    const { value, duplicates } = await this.#readObject(call);
    const request = { ...this.#requestOf(call), dryRun, fieldValidation, duplicateFields: duplicates };
    switch (resource.subresource) {
      case '':
        return this.#respond(call, 201, this.#registry.create(resource, value, request));
      case 'binding':
        this.#registry.bind(resource, value, { ...request, verb: 'bind' });
        return { code: 201, body: successStatus };
      case 'eviction':
        this.#registry.evict(resource, value, { ...request, verb: 'evict' });
        return { code: 201, body: successStatus };
      case 'token':
        return { code: 201, body: this.#tokenRequests.create(resource, value, request) };
      case 'status':
      case 'resize':
      case 'ephemeralcontainers':
        throw methodNotAllowed();
      default:
        return unreachable(resource.subresource);
    }
  }

  async #update(call: ResourceCall): Promise<JSONResponse> {
    const { resource, query } = call;
    const dryRun = parseDryRun(query, 'UpdateOptions');
    const fieldValidation = parseFieldValidation(query, 'UpdateOptions');
    const { value, duplicates } = await this.#readObject(call);
    const request = { ...this.#requestOf(call), dryRun, fieldValidation, duplicateFields: duplicates };
    const { object, isNew } = this.#registry.replace(resource, value, request);
    return this.#respond(call, isNew ? 201 : 200, object);
  }

  async #patch(call: ResourceCall): Promise<JSONResponse> {
    const { resource, query } = call;
    const type = mediaTypeOf(call.request);
    if (!isPatchType(type)) throw unsupportedPatch(type);
    const dryRun = parseDryRun(query, 'PatchOptions');
    const fieldValidation = parseFieldValidation(query, 'PatchOptions');
    const { text, value } = await readJSON(call.request, 'invalid JSON patch');
    const duplicates = fieldValidation === 'Ignore' ? [] : duplicateFields(text, value);
    const request = { ...this.#requestOf(call), dryRun, fieldValidation, duplicateFields: duplicates };
    return this.#respond(call, 200, this.#registry.patch(resource, type, value, request));
  }

  async #delete(call: ResourceCall): Promise<JSONResponse> {
    const { resource } = call;
    const options = await this.#readDeleteOptions(call);
    const request = { ...this.#requestOf(call), dryRun: options.dryRun === true };
    const { object, isRemoved } = this.#registry.delete(resource, options, request);
    if (!isRemoved) return this.#respond(call, options.isAsynchronous === true ? 202 : 200, object);
    if (resource.definition.returnsDeletedObject) return this.#respond(call, 200, object);
    const { group, resource: kind } = resource.definition;
    const details = { name: object.metadata.name, group: group || undefined, kind, uid: object.metadata.uid };
    return { code: 200, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details } };
  }

  async #deleteCollection(call: ResourceCall): Promise<JSONResponse> {
    const { resource, query } = call;
    const { definition, namespace } = resource;
    const options = await this.#readDeleteOptions(call);
    const request = { ...this.#requestOf(call), verb: 'delete', dryRun: options.dryRun === true };
    const page = listPage(this.#store, definition, namespace, parseListOptions(definition, query, false));
    for (const { metadata } of page.items) {
      const { name, namespace = '' } = metadata;
      this.#registry.delete({ ...resource, namespace, name }, options, request);
    }
    return { code: 200, body: listBody(definition, page) };
  }

  async #readObject({ request }: ResourceCall): Promise<{ value: JSONObject; duplicates: readonly string[] }> {
    refuseOtherThanJSON(request);
    const { text, value: parsed } = await readJSON(request, notJSON);
    const value = parsed === null ? {} : parsed;
    if (!isJSONObject(value)) throw badRequest(notJSON);
    return { value, duplicates: duplicateFields(text, value) };
  }

  async #readDeleteOptions({ request, query }: ResourceCall): Promise<DeleteOptions> {
    const text = await readBody(request);
    if (text === '') return parseDeleteOptions(undefined, query);
    refuseOtherThanJSON(request);
    const value = requireJSON(text, notJSON);
    if (!isJSONObject(value)) throw badRequest(notJSON);
    return parseDeleteOptions(value, query);
  }

  #respond({ request, query, resource }: ResourceCall, code: number, object: StoredObject): JSONResponse {
    const { definition } = resource;
    const representation = negotiate(request);
    if (representation === 'Object') return { code, body: object };
    if (representation === 'PartialObjectMetadata') return { code, body: partialObject(object) };
    if (representation === 'PartialObjectMetadataList') {
      throw notAcceptable(`you requested PartialObjectMetadataList, but the requested object is not a list`);
    }
    const { resourceVersion } = object.metadata;
    const body = tableOf(definition, [object], { resourceVersion }, this.#clock.now(), includeObjectOf(query));
    return { code, body };
  }

  #requestOf({ user, resource, response }: ResourceCall): Request {
    const { node } = user;
    return {
      ...directRequest(resource.verb, user.name),
      admit: (admission) => {
        if (node !== undefined) admitNodeUser(node, admission, this.#store);
      },
      warn: (text) => response.appendHeader('warning', `299 - ${JSON.stringify(text)}`),
    };
  }
}

const notJSON = "couldn't get version/kind; json parse error";
const successStatus = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 };

function unsupportedPatch(type: string): APIStatusError {
  if (!type.startsWith('application/apply-patch')) {
    return new APIStatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
  }
  const message =
    'APIServer does not do server-side apply: use kubectl apply without --server-side, or a merge patch or strategic merge patch';
  return new APIStatusError(415, 'UnsupportedMediaType', message, {});
}

function notAcceptable(message: string): APIStatusError {
  return new APIStatusError(406, 'NotAcceptable', message);
}

/** Caches the JSON of the last written object, which all its watchers share. */
class EventTexts {
  #object: StoredObject | undefined;
  #text = '';

  textOf(object: StoredObject): string {
    if (object !== this.#object) {
      this.#object = object;
      this.#text = JSON.stringify(object);
    }
    return this.#text;
  }
}

function isPatchType(type: string): type is PatchMediaType {
  return (patchTypes as readonly string[]).includes(type);
}

function includeObjectOf(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject');
  return value === 'None' || value === 'Object' ? value : 'Metadata';
}
