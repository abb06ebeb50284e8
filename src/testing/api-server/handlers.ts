import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../../clock.ts';
import { ApiStatusError, methodNotAllowed } from './api-status.ts';
import { listBody, listPage, parseListOptions } from './list.ts';
import { admitNodeUser, authorize } from './node-restriction.ts';
import type { JSONObject, StoredObject } from './objects.ts';
import { type PatchMediaType, patchTypes } from './patch.ts';
import type { Registry, Request } from './registry.ts';
import { mediaTypeOf, parseDeleteOptions, parseJSON, parseObject, readBody, type ResourceRequest } from './request.ts';
import type { ObjectStore } from './store.ts';
import type { DeleteOptions } from './strategy.ts';
import { type IncludeObject, tableOf, wantsTable } from './table.ts';
import { unreachable } from './unreachable.ts';
import type { User } from './users.ts';
import { refuseBadResourceVersion, Watch } from './watch.ts';

/** One authenticated request for a resource. */
export interface ResourceCall {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  readonly user: User;
  readonly resource: ResourceRequest;
}

/** A JSON answer. */
export interface Answer {
  readonly code: number;
  readonly body: object;
}

/** Answers the requests for resources; owns the running watches. */
export class Handlers {
  readonly #store: ObjectStore;
  readonly #registry: Registry;
  readonly #clock: Clock;
  readonly #watches = new Set<Watch>();

  constructor(store: ObjectStore, registry: Registry, clock: Clock) {
    this.#store = store;
    this.#registry = registry;
    this.#clock = clock;
  }

  /** The answer, or undefined when it is a stream that has begun. @throws ApiStatusError */
  async handle(call: ResourceCall): Promise<Answer | undefined> {
    const { resource, user, query } = call;
    const fieldSelector = query.get('fieldSelector') ?? '';
    authorize(user, { ...resource, fieldSelector }, this.#store);
    refuseOtherThanJSONAnswers(call.request);
    switch (resource.verb) {
      case 'list':
        return this.#list(call);
      case 'watch':
        return this.#watch(call);
      case 'get':
        return this.#answer(call, 200, this.#registry.get(resource));
      case 'create':
        return this.#create(call, await this.#readObject(call));
      case 'update': {
        const { object, isNew } = this.#registry.replace(resource, await this.#readObject(call), this.#requestOf(call));
        return this.#answer(call, isNew ? 201 : 200, object);
      }
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

  /** Ends all running watches. */
  close(): void {
    for (const watch of this.#watches) watch.stop();
    this.#watches.clear();
  }

  #list({ request, resource, query }: ResourceCall): Answer {
    const { definition, namespace } = resource;
    const page = listPage(this.#store, definition, namespace, parseListOptions(definition, query, false));
    if (!wantsTable(request.headers.accept ?? '')) return { code: 200, body: listBody(definition, page) };
    return {
      code: 200,
      body: tableOf(definition, page.items, page.metadata, this.#clock.now(), includeObjectOf(query)),
    };
  }

  #watch(call: ResourceCall): undefined {
    const { response, resource, query } = call;
    const { definition, namespace } = resource;
    const options = parseListOptions(definition, query, true);
    refuseBadResourceVersion(options.resourceVersion);
    const render = (object: StoredObject, isFirst: boolean) => {
      const { body } = this.#answer(call, 200, object);
      return isFirst || !wantsTable(call.request.headers.accept ?? '') ? body : { ...body, columnDefinitions: null };
    };
    const watch = new Watch(response, { definition, namespace, options, render }, this.#store, this.#clock);
    this.#watches.add(watch);
    response.on('close', () => this.#watches.delete(watch));
    watch.start();
    return undefined;
  }

  #create(call: ResourceCall, body: JSONObject): Answer {
    const { resource } = call;
    switch (resource.subresource) {
      case '':
        return this.#answer(call, 201, this.#registry.create(resource, body, this.#requestOf(call)));
      case 'binding':
        this.#registry.bind(resource, body, this.#requestOf(call, 'bind'));
        return { code: 201, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 } };
      case 'status':
        throw methodNotAllowed();
      default:
        return unreachable(resource.subresource);
    }
  }

  async #patch(call: ResourceCall): Promise<Answer> {
    const type = mediaTypeOf(call.request);
    if (!isPatchType(type)) {
      throw new ApiStatusError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
    }
    const patch = parseJSON(await readBody(call.request), 'invalid JSON patch');
    return this.#answer(call, 200, this.#registry.patch(call.resource, type, patch, this.#requestOf(call)));
  }

  async #delete(call: ResourceCall): Promise<Answer> {
    const { resource } = call;
    const options = await this.#readDeleteOptions(call);
    const { object, isRemoved } = this.#registry.delete(resource, options, this.#requestOf(call));
    if (!isRemoved || resource.definition.table === 'pods') return this.#answer(call, 200, object);
    const { group, resource: kind } = resource.definition;
    const details = { name: object.metadata.name, ...(group === '' ? {} : { group }), kind, uid: object.metadata.uid };
    return { code: 200, body: { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details } };
  }

  async #deleteCollection(call: ResourceCall): Promise<Answer> {
    const { resource, query } = call;
    const { definition, namespace } = resource;
    const options = await this.#readDeleteOptions(call);
    const page = listPage(this.#store, definition, namespace, parseListOptions(definition, query, false));
    for (const { metadata } of page.items) {
      this.#registry.delete({ ...resource, name: metadata.name }, options, this.#requestOf(call, 'delete'));
    }
    return { code: 200, body: listBody(definition, page) };
  }

  async #readObject({ request }: ResourceCall): Promise<JSONObject> {
    refuseOtherThanJSON(request);
    return parseObject(await readBody(request), "couldn't get version/kind; json parse error");
  }

  async #readDeleteOptions({ request, query }: ResourceCall): Promise<DeleteOptions> {
    const text = await readBody(request);
    if (text !== '') refuseOtherThanJSON(request);
    return parseDeleteOptions(text, query);
  }

  #answer({ request, query, resource }: ResourceCall, code: number, object: StoredObject): Answer {
    const { definition } = resource;
    if (request.method !== 'GET' || !wantsTable(request.headers.accept ?? '')) {
      return { code, body: definition.fromStored?.(object) ?? object };
    }
    const { resourceVersion } = object.metadata;
    return {
      code,
      body: tableOf(definition, [object], { resourceVersion }, this.#clock.now(), includeObjectOf(query)),
    };
  }

  #requestOf({ user, query, resource }: ResourceCall, verb: string = resource.verb): Request {
    const { node } = user;
    return {
      verb,
      user: user.name,
      dryRun: query.has('dryRun'),
      admit: (admission) => {
        if (node !== undefined) admitNodeUser(node, admission, this.#store);
      },
    };
  }
}

function isPatchType(type: string): type is PatchMediaType {
  return (patchTypes as readonly string[]).includes(type);
}

function refuseOtherThanJSON(request: IncomingMessage): void {
  if (mediaTypeOf(request) === 'application/json') return;
  const message = 'the body of the request was in an unknown format - accepted media types include: application/json';
  throw new ApiStatusError(415, 'UnsupportedMediaType', message);
}

function refuseOtherThanJSONAnswers({ headers: { accept } }: IncomingMessage): void {
  const ranges = (accept ?? '').split(',').map((range) => range.split(';')[0]!.trim());
  if (!accept || ranges.some((range) => ['application/json', 'application/*', '*/*'].includes(range))) return;
  const message = '406: Not Acceptable\n\nAvailable representations: application/json, application/json;stream=watch';
  throw new ApiStatusError(406, 'NotAcceptable', message, {});
}

function includeObjectOf(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject');
  return value === 'None' || value === 'Object' ? value : 'Metadata';
}
