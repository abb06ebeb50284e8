import pick from 'lodash/pick.js';
import { badRequest, invalidOptions } from '../api-status.ts';
import { type FieldError, invalidValue, unsupportedValue } from '../../kube/validation/field-error.ts';
import { DecodeError, decodeKubeType } from '../../kube/objects/kube-decoder.ts';
import { type JSONObject, objectOf } from '../../kube/objects/json-object.ts';
import type { DeleteOptions } from '../resources/strategy.ts';

const propagationPolicies = ['Foreground', 'Background', 'Orphan'] as const;

/**
 * The `dryRun` parameter of a write.
 * @param options the kind of options in error messages: `CreateOptions`
 * @throws APIStatusError 422
 */
export function parseDryRun(query: URLSearchParams, options: string): boolean {
  const values = query.getAll('dryRun');
  const cause = dryRunCause(values);
  if (cause !== undefined) throw invalidOptions(options, cause);
  return values.length > 0;
}

function dryRunCause(values: readonly unknown[]): FieldError | undefined {
  return values.every((value) => value === 'All') ? undefined : unsupportedValue('dryRun', values, ['All']);
}

/**
 * The options of a DELETE, from its body or else its query.
 * @param body undefined when the request has none
 * @throws APIStatusError 400, 422
 */
export function parseDeleteOptions(body: JSONObject | undefined, query: URLSearchParams): DeleteOptions {
  return deleteOptionsOf(body === undefined ? deleteOptionsInQuery(query) : decodeDeleteOptions(body));
}

/** The `DeleteOptions` in an object of another kind. @throws APIStatusError 422 */
export function deleteOptionsOf(options: JSONObject): DeleteOptions {
  const cause = deleteOptionsCause(options);
  if (cause !== undefined) throw invalidOptions('DeleteOptions', cause);
  const { gracePeriodSeconds, dryRun, propagationPolicy, orphanDependents } = options;
  const orphanPolicy = orphanDependents === true ? 'Orphan' : 'Background';
  return {
    ...(pick(objectOf(options, 'preconditions'), ['uid', 'resourceVersion']) as Pick<DeleteOptions, 'uid'>),
    dryRun: dryRun !== undefined,
    isAsynchronous: orphanDependents === false,
    gracePeriodSeconds: gracePeriodSeconds as number | undefined,
    propagationPolicy: (propagationPolicy ??
      (orphanDependents === undefined ? undefined : orphanPolicy)) as DeleteOptions['propagationPolicy'],
  };
}

function decodeDeleteOptions(body: JSONObject): JSONObject {
  const { kind, apiVersion } = body;
  if (kind !== undefined && kind !== 'DeleteOptions') {
    throw badRequest(`no kind ${JSON.stringify(kind)} is registered for version ${JSON.stringify(apiVersion ?? '')}`);
  }
  try {
    return decodeKubeType('DeleteOptions', body).value;
  } catch (error) {
    throw error instanceof DecodeError ? badRequest(error.message) : error;
  }
}

function deleteOptionsInQuery(query: URLSearchParams): JSONObject {
  const options: JSONObject = {};
  const seconds = query.get('gracePeriodSeconds');
  if (seconds !== null) {
    if (!/^[+-]?\d{1,15}$/.test(seconds)) {
      throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(seconds)}: invalid syntax`);
    }
    options.gracePeriodSeconds = Number(seconds);
  }
  if (query.has('dryRun')) options.dryRun = query.getAll('dryRun');
  if (query.has('propagationPolicy')) options.propagationPolicy = query.get('propagationPolicy');
  if (query.has('orphanDependents')) options.orphanDependents = query.get('orphanDependents') === 'true';
  return options;
}

function deleteOptionsCause({ dryRun, propagationPolicy, orphanDependents }: JSONObject): FieldError | undefined {
  if (propagationPolicy !== undefined) {
    if (orphanDependents !== undefined) {
      const because = 'orphanDependents and deletionPropagation cannot be both set';
      return invalidValue('propagationPolicy', propagationPolicy, because);
    }
    if (!(propagationPolicies as readonly unknown[]).includes(propagationPolicy)) {
      return unsupportedValue('propagationPolicy', propagationPolicy, [...propagationPolicies, 'nil']);
    }
  }
  return dryRunCause((dryRun ?? []) as readonly unknown[]);
}
