import { APIStatusError } from '../api-status.ts';
import type { ServerRequest } from './exchange.ts';

/** How an object or a list is written into a response. */
export type Representation = 'Object' | 'Table' | 'PartialObjectMetadata' | 'PartialObjectMetadataList';

const transformations: readonly string[] = ['Table', 'PartialObjectMetadata', 'PartialObjectMetadataList'];
const protobuf = 'application/vnd.kubernetes.protobuf';
const jsonOnly =
  'APIServer reads and writes JSON only: set ContentType: application/json in the client, or use kubectl create -f';

/**
 * The first media type of the `Accept` header that this server supports.
 * @throws APIStatusError 406 when there is none
 */
export function negotiate({ headers: { accept } }: ServerRequest): Representation {
  if (accept === undefined || accept === '') return 'Object';
  const clauses = accept.split(',').map((clause) => clause.split(';').map((part) => part.trim()));
  for (const [type, ...parameters] of clauses) {
    if (type !== 'application/json' && type !== '*/*') continue;
    const { as, g, v } = Object.fromEntries(parameters.map((parameter) => parameter.split('=')));
    if (as === undefined || as === '') return 'Object';
    if (transformations.includes(as) && g === 'meta.k8s.io' && v === 'v1') return as as Representation;
  }
  const details = accept.includes('as=') ? undefined : {};
  throw new APIStatusError(406, 'NotAcceptable', notAcceptable(accept), details);
}

function notAcceptable(accept: string): string {
  if (accept.includes(protobuf)) return `${protobuf} is not served. ${jsonOnly}`;
  if (accept.includes('yaml')) return `application/yaml is not served. ${jsonOnly}`;
  return 'only the following media types are accepted: application/json';
}

export function mediaTypeOf(request: ServerRequest): string {
  return (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
}

/**
 * A body without a Content-Type counts as JSON.
 * @throws APIStatusError 415
 */
export function refuseOtherThanJSON(request: ServerRequest): void {
  const type = mediaTypeOf(request);
  if (type === '' || type === 'application/json') return;
  const message =
    type === protobuf || type.includes('yaml')
      ? `a body of type ${type} is not read. ${jsonOnly}`
      : 'the body of the request was in an unknown format - accepted media types include: application/json';
  throw new APIStatusError(415, 'UnsupportedMediaType', message);
}
