import { APIStatusError, badRequest, expired, invalidOptions } from '../api-status.ts';
import { forbiddenValue, unsupportedValue } from '../../kube/validation/field-error.ts';
import type { IndexKey } from './indexed.ts';
import type { StoredObject } from './objects.ts';
import { groupVersionOf, type ResourceDefinition } from '../resources/resources.ts';
import { parseFieldSelector, parseLabelSelector, requiredFieldValue, type Selector } from './selectors.ts';
import type { ObjectStore } from './store.ts';

/** The query parameters of a list or a watch, checked. */
export interface StorageListOptions {
  readonly selector: Selector;
  /** Of each selected object. */
  readonly indexKey: IndexKey | undefined;
  /** Whether a selector is set. */
  readonly isSelective: boolean;
  readonly limit: number;
  readonly continueToken: string;
  /** `''` for the newest, `0` for any. */
  readonly resourceVersion: string;
  readonly resourceVersionMatch: string;
  readonly sendInitialEvents: boolean | undefined;
  readonly allowWatchBookmarks: boolean;
  readonly timeoutSeconds: number | undefined;
}

export interface ListPage {
  readonly items: readonly StoredObject[];
  readonly metadata: {
    readonly resourceVersion: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
}

/** @throws APIStatusError 400 or 422 for a parameter that is invalid or not allowed */
export function parseListOptions(
  definition: ResourceDefinition,
  query: URLSearchParams,
  isWatch: boolean,
): StorageListOptions {
  const fieldSelector = query.get('fieldSelector') ?? '';
  const fields = parseFieldSelector(fieldSelector, definition.fields);
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const options = {
    selector: (object: StoredObject) => fields(object) && labels(object),
    indexKey: indexKeyOf(definition, fieldSelector),
    isSelective: fieldSelector !== '' || Boolean(query.get('labelSelector')),
    limit: integer(query, 'limit') ?? 0,
    continueToken: query.get('continue') ?? '',
    resourceVersion: query.get('resourceVersion') ?? '',
    resourceVersionMatch: query.get('resourceVersionMatch') ?? '',
    sendInitialEvents: query.has('sendInitialEvents') ? isTrue(query.get('sendInitialEvents')) : undefined,
    allowWatchBookmarks: isTrue(query.get('allowWatchBookmarks')),
    timeoutSeconds: integer(query, 'timeoutSeconds'),
  };
  refuseCombination(options, isWatch);
  return options;
}

function indexKeyOf({ indexedField, fields }: ResourceDefinition, fieldSelector: string): IndexKey | undefined {
  if (indexedField === undefined) return undefined;
  const value = requiredFieldValue(fieldSelector, indexedField);
  return value === undefined ? undefined : { value, valueOf: fields[indexedField]! };
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  if (!/^-?\d{1,15}$/.test(text)) throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  return Number(text);
}

/** As Go parses a boolean parameter: every value except these two is true, even an empty one. */
export function isTrue(text: string | null): boolean {
  return text !== null && text !== '0' && text !== 'false';
}

function refuseCombination(options: StorageListOptions, isWatch: boolean): void {
  const { resourceVersionMatch: match, resourceVersion, sendInitialEvents } = options;
  const refuse = (field: string, because: string): never => {
    throw invalidOptions('ListOptions', forbiddenValue(field, because));
  };
  if (!isWatch) {
    if (sendInitialEvents !== undefined) refuse('sendInitialEvents', 'sendInitialEvents is forbidden for list');
    if (match === '') return;
    if (resourceVersion === '')
      refuse('resourceVersionMatch', 'resourceVersionMatch is forbidden unless resourceVersion is provided');
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      throw invalidOptions(
        'ListOptions',
        unsupportedValue('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']),
      );
    }
    return;
  }
  if (sendInitialEvents === undefined) {
    if (match !== '')
      refuse(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      );
    return;
  }
  if (match !== 'NotOlderThan') {
    refuse('resourceVersionMatch', 'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan');
  }
}

/** The revision that a resourceVersion parameter names. @throws APIStatusError 400 */
export function revisionOf(resourceVersion: string): number {
  if (/^\d{1,15}$/.test(resourceVersion)) return Number(resourceVersion);
  throw badRequest(`invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(resourceVersion)}`);
}

interface Continue {
  readonly revision: number;
  readonly after: string;
}

/**
 * One page of a list. Divergence: a later page shows the current objects, not those of the first page's
 * resourceVersion.
 */
export function listPage(
  store: ObjectStore,
  definition: ResourceDefinition,
  namespace: string,
  options: StorageListOptions,
): ListPage {
  const position = options.continueToken === '' ? undefined : parseContinue(options.continueToken);
  refuseRevision(store, options);
  if (position !== undefined && position.revision < store.forgottenRevision) {
    throw expired('The provided continue parameter is too old to display a consistent list result.');
  }
  const revision = position?.revision ?? store.revision;
  const matching = store.list(
    definition.resource,
    namespace,
    (object) => options.selector(object) && (position === undefined || keyOf(object) > position.after),
    options.indexKey,
  );
  // resourceVersion=0 is served from the watch cache, which ignores `limit`.
  const limit = options.limit > 0 && options.resourceVersion !== '0' ? options.limit : matching.length;
  const items = matching.slice(0, limit);
  const last = items.at(-1);
  if (items.length === matching.length || last === undefined) {
    return { items, metadata: { resourceVersion: String(revision) } };
  }
  const token = Buffer.from(JSON.stringify({ revision, after: keyOf(last) })).toString('base64url');
  const metadata = { resourceVersion: String(revision), continue: token };
  // kube-apiserver omits remainingItemCount if there is a selector.
  if (options.isSelective) return { items, metadata };
  return { items, metadata: { ...metadata, remainingItemCount: matching.length - items.length } };
}

function refuseRevision(store: ObjectStore, { resourceVersion, resourceVersionMatch }: StorageListOptions): void {
  if (resourceVersion === '') return;
  const revision = revisionOf(resourceVersion);
  if (revision > store.revision) {
    const message = `Timeout: Too large resource version: ${revision}, current: ${store.revision}`;
    throw new APIStatusError(504, 'Timeout', message, {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version', field: '' }],
      retryAfterSeconds: 1,
    });
  }
  if (resourceVersionMatch === 'Exact' && revision !== store.revision) {
    throw expired('The resourceVersion for the provided list is too old.');
  }
}

function keyOf({ metadata }: StoredObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}

function parseContinue(token: string): Continue {
  try {
    const value = JSON.parse(Buffer.from(token, 'base64url').toString()) as Partial<Continue> | null;
    if (typeof value?.revision === 'number' && typeof value.after === 'string')
      return { revision: value.revision, after: value.after };
  } catch {
    // Not a continue token of this server.
  }
  throw badRequest('invalid continue token: continue key is not valid');
}

/** The body of the response to a list. */
export function listBody(definition: ResourceDefinition, page: ListPage): object {
  const items = page.items.map((object) => {
    const { kind: _kind, apiVersion: _apiVersion, ...rest } = object;
    return rest;
  });
  return { kind: `${definition.kind}List`, apiVersion: groupVersionOf(definition), metadata: page.metadata, items };
}
