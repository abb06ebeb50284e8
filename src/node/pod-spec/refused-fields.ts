import { kubeTypes } from '../../kube/objects/kube-types.ts';
import { type FieldRow, podSpecFields, type PodSpecStruct, type RefusedAt } from './pod-spec-fields.ts';

/** A field of a pod that makes the agent refuse it. */
export interface RefusedField {
  /** `spec.containers[0].volumeDevices`. */
  readonly path: string;
  readonly refused: RefusedAt;
  readonly because: string;
}

interface Field {
  readonly row: FieldRow;
  /** The struct of its value or of the elements of its list, if it has rows. */
  readonly struct: PodSpecStruct | undefined;
}

const structs: ReadonlyMap<string, ReadonlyMap<string, Field>> = new Map(
  Object.entries(podSpecFields).map(([struct, rows]) => [struct, fieldsOf(struct as PodSpecStruct, rows)]),
);

/**
 * The fields of an object of the API, and of the objects in it, that the agent refuses. Each field is looked at once, and
 * those without a row are skipped.
 *
 * @param struct the Go struct of the object
 * @param path of the object
 */
export function refusedFields(struct: PodSpecStruct, object: unknown, path: string): RefusedField[] {
  const found: RefusedField[] = [];
  collect(struct, object, path, found);
  return found;
}

function collect(struct: PodSpecStruct, value: unknown, path: string, found: RefusedField[]): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, field] of structs.get(struct)!) {
    const inner: unknown = (value as Readonly<Record<string, unknown>>)[name];
    if (isEmpty(inner)) continue;
    const innerPath = `${path}.${name}`;
    if ('refused' in field.row) found.push({ path: innerPath, ...field.row });
    else if (field.struct === undefined) continue;
    else if (Array.isArray(inner))
      for (const [i, element] of inner.entries()) collect(field.struct, element, `${innerPath}[${i}]`, found);
    else collect(field.struct, inner, innerPath, found);
  }
}

/** An empty list asks for nothing: the API server leaves it out. */
function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0);
}

function fieldsOf(struct: PodSpecStruct, rows: Readonly<Record<string, FieldRow>>): ReadonlyMap<string, Field> {
  return new Map(
    fieldTypes(struct).map(([name, type]) => {
      const isKnown = Object.hasOwn(podSpecFields, type);
      return [name, { row: rows[name]!, struct: isKnown ? (type as PodSpecStruct) : undefined }];
    }),
  );
}

/** The fields of a struct in the order of the API, each with its type; for a list, the type of its elements. */
export function fieldTypes(struct: PodSpecStruct): (readonly [name: string, type: string])[] {
  return kubeTypes[struct].split('; ').map((field) => {
    const [name = '', type = ''] = field.split(' ');
    return [name.replace('?', ''), type.replace(/^[*[\]]+/, '')];
  });
}
