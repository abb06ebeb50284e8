import type { FieldError } from '../../kube/validation/field-error.ts';
import type { JSONObject } from '../../kube/objects/json-object.ts';
import type { StoredObject } from '../storage/objects.ts';
import type { SubresourceName } from './subresources.ts';

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly dryRun?: boolean;
  /** Whether a deletion that takes time is a 202, as it is for `orphanDependents: false`. */
  readonly isAsynchronous?: boolean;
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan' | undefined;
}

/** The rules of one kind. Source: `rest.RESTCreateStrategy`, `rest.RESTUpdateStrategy`. */
export interface Strategy {
  /** The decoded fields beside `kind`, `apiVersion` and `metadata`, with the defaults of the API. */
  setDefaults(fields: JSONObject): JSONObject;
  /**
   * Clears fields that a client may not set, and fills in those that it did not set. `now` is a
   * canonical time.
   */
  prepareForCreate(object: StoredObject, now: string): StoredObject;
  /** Restores fields that this request may not change. */
  prepareForUpdate(next: StoredObject, old: StoredObject, subresource: SubresourceName | ''): StoredObject;
  validateCreate(object: StoredObject): FieldError[];
  validateUpdate(next: StoredObject, old: StoredObject, subresource: SubresourceName | ''): FieldError[];
  /** The grace period of a deletion; absent: objects of the kind are deleted immediately. */
  gracePeriodSeconds?(object: StoredObject, options: DeleteOptions): number;
  /** A PUT of a missing object creates it. */
  readonly createOnUpdate?: true;
  /** A PUT must name the resourceVersion. */
  readonly conditionalUpdateOnly?: true;
}
