import { APIError, describeAPIError } from '../client/api-error.ts';
import { isObject } from '../../shared/json.ts';
import type { Pod } from '../types.ts';

/** Parameters of a list of pods, besides its selector. */
export interface PodListQuery {
  readonly resourceVersion?: string;
  readonly limit?: number;
  readonly continue?: string;
}

export interface PodList {
  readonly pods: readonly Pod[];
  readonly resourceVersion: string;
}

/** As in client-go. A list from the watch cache is returned in one page. */
const PAGE_SIZE = 500;

/**
 * Lists all pods, page by page. All pages have the same resource version; when it has expired
 * (410), all pods are requested again in one response.
 * Source: client-go `tools/pager.ListPager`.
 */
export async function listPods(
  requestPage: (query: PodListQuery) => Promise<unknown>,
  resourceVersion: string,
): Promise<PodList> {
  let pods: Pod[] = [];
  let query: PodListQuery = { resourceVersion, limit: PAGE_SIZE };
  let isExpired = false;
  for (;;) {
    try {
      const page = readPage(await requestPage(query));
      pods = pods.concat(page.pods);
      if (page.continueToken === '') return { pods, resourceVersion: page.resourceVersion };
      if (page.continueToken === query.continue)
        throw invalidResponse('the server returned the same continue token again');
      query = { limit: PAGE_SIZE, continue: page.continueToken };
    } catch (error) {
      if (isExpired || query.continue === undefined || !isResourceVersionExpired(describeAPIError(error))) throw error;
      isExpired = true;
      pods = [];
      query = { resourceVersion };
    }
  }
}

/** The resource version of the request has expired. */
export function isResourceVersionExpired({ statusCode }: APIError): boolean {
  return statusCode === 410;
}

function readPage(response: unknown): PodList & { readonly continueToken: string } {
  if (isObject(response) && isObject(response['metadata'])) {
    const { resourceVersion, continue: continueToken = '' } = response['metadata'];
    // Go writes an empty list as null in some versions.
    const items = response['items'] ?? [];
    const isComplete = typeof resourceVersion === 'string' && resourceVersion !== '' && Array.isArray(items);
    if (isComplete && typeof continueToken === 'string') {
      return { pods: items as Pod[], resourceVersion, continueToken };
    }
  }
  throw invalidResponse('the response is not a list of pods');
}

function invalidResponse(message: string): APIError {
  return new APIError(message, { kind: 'invalid-response' });
}
