import { APIError, describeAPIError } from '../client/api-error.ts';
import { isObject, type Raw } from '../../shared/json.ts';

/** Parameters of a list, besides its selector. */
export interface ListQuery {
  readonly limit?: number;
  readonly continue?: string;
}

export interface ListOptions<T> {
  /** `pods`. */
  readonly resource: string;
  readonly requestPage: (query: ListQuery) => Promise<unknown>;
  /** Converts each object, so that no more than a page of whole objects is in memory. */
  readonly transform: (object: Raw) => T;
}

export interface ObjectList<T> {
  readonly objects: readonly T[];
  readonly resourceVersion: string;
}

/** As in client-go. */
const PAGE_SIZE = 500;
/** Half a million objects: a list with more pages never ends. */
const MAX_PAGES = 1000;

/**
 * Lists all objects of a resource at its newest version, page by page. All pages have the same resource version; when it has
 * expired (410), all objects are requested again in one response. Rejects for a list of more than 1,000 pages.
 * Source: client-go `tools/pager.ListPager`.
 */
export async function listObjects<T>(options: ListOptions<T>): Promise<ObjectList<T>> {
  const { resource, requestPage, transform } = options;
  let objects: T[] = [];
  let pages = 0;
  let query: ListQuery = { limit: PAGE_SIZE };
  let isExpired = false;
  for (;;) {
    try {
      const page = readPage(await requestPage(query), resource);
      for (const object of page.objects) objects.push(transform(object));
      if (page.continueToken === '') return { objects, resourceVersion: page.resourceVersion };
      if (page.continueToken === query.continue)
        throw invalidResponse('the server returned the same continue token again');
      pages += 1;
      if (pages === MAX_PAGES) throw invalidResponse(`the list does not end after ${MAX_PAGES} pages`);
      query = { limit: PAGE_SIZE, continue: page.continueToken };
    } catch (error) {
      if (isExpired || query.continue === undefined || !isResourceVersionExpired(describeAPIError(error))) throw error;
      isExpired = true;
      objects = [];
      query = {};
    }
  }
}

/** The resource version of the request has expired. */
export function isResourceVersionExpired({ statusCode }: APIError): boolean {
  return statusCode === 410;
}

function readPage(response: unknown, resource: string): ObjectList<Raw> & { readonly continueToken: string } {
  if (isObject(response) && isObject(response['metadata'])) {
    const { resourceVersion, continue: continueToken = '' } = response['metadata'];
    // Go writes an empty list as null in some versions.
    const items = response['items'] ?? [];
    const isComplete = typeof resourceVersion === 'string' && resourceVersion !== '' && Array.isArray(items);
    if (isComplete && typeof continueToken === 'string') {
      return { objects: items as Raw[], resourceVersion, continueToken };
    }
  }
  throw invalidResponse(`the response is not a list of ${resource}`);
}

function invalidResponse(message: string): APIError {
  return new APIError(message, { kind: 'invalid-response' });
}
