import { type FieldError, invalidValue, requiredValue, tooLong } from './field-error.ts';
import { validateLabels, validateQualifiedName, validateSubdomain } from './rules.ts';

/** The fields of `metadata` that are validated, each of its type. */
export interface ValidatedMetadata {
  readonly name: string;
  readonly generateName?: string | undefined;
  readonly labels?: { readonly [name: string]: string } | undefined;
  readonly annotations?: { readonly [name: string]: string } | undefined;
  readonly finalizers?: readonly string[] | undefined;
  readonly ownerReferences?:
    | readonly {
        readonly apiVersion: string;
        readonly kind: string;
        readonly name: string;
        readonly uid: string;
        readonly controller?: boolean | undefined;
      }[]
    | undefined;
}

const maxAnnotationsBytes = 256 * 1024;

/** Validates the metadata of a new or changed object. Source: `ValidateObjectMeta`. */
export function validateMetadata(
  metadata: ValidatedMetadata,
  validateName: (name: string, field: string) => FieldError[] = validateSubdomain,
): FieldError[] {
  const causes: FieldError[] = [];
  const { name, generateName, labels = {}, annotations = {} } = metadata;
  if (generateName !== undefined) {
    // The generated suffix follows the prefix, so the prefix may end with a hyphen.
    const field = 'metadata.generateName';
    const problems = validateName(generateName.replace(/-$/, 'a'), field);
    causes.push(...problems.map(() => validateName(generateName, field)[0]!));
  }
  if (name === '') causes.push(requiredValue('metadata.name', 'name or generateName is required'));
  else causes.push(...validateName(name, 'metadata.name'));
  causes.push(...validateLabels(labels, 'metadata.labels'));
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    causes.push(...validateQualifiedName(key.toLowerCase(), 'metadata.annotations'));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > maxAnnotationsBytes) causes.push(tooLong('metadata.annotations', maxAnnotationsBytes));
  return [...causes, ...validateFinalizers(metadata), ...validateOwners(metadata)];
}

function validateFinalizers({ finalizers = [] }: ValidatedMetadata): FieldError[] {
  const causes = finalizers.flatMap((finalizer, i) => {
    const causesOfName = validateQualifiedName(finalizer, 'metadata.finalizers');
    if (finalizer.includes('/') || ['orphan', 'foregroundDeletion', 'kubernetes'].includes(finalizer)) {
      return causesOfName;
    }
    const because = 'name is neither a standard finalizer name nor is it fully qualified';
    return [...causesOfName, invalidValue(`metadata.finalizers[${i}]`, finalizer, because)];
  });
  if (finalizers.includes('orphan') && finalizers.includes('foregroundDeletion')) {
    const because = 'finalizer orphan and foregroundDeletion cannot be both set';
    causes.push(invalidValue('metadata.finalizers', finalizers, because));
  }
  return causes;
}

function validateOwners({ ownerReferences = [] }: ValidatedMetadata): FieldError[] {
  const causes = ownerReferences.flatMap((owner, i) => {
    const field = `metadata.ownerReferences[${i}]`;
    const causesOfOwner = (['apiVersion', 'kind', 'name', 'uid'] as const)
      .filter((name) => owner[name] === '')
      .map((name) => requiredValue(`${field}.${name}`, 'must not be empty'));
    if (owner.apiVersion === 'v1' && owner.kind === 'Event') {
      causesOfOwner.push(invalidValue(field, owner, '/v1, Kind=Event is disallowed from being an owner'));
    }
    return causesOfOwner;
  });
  const controllers = ownerReferences.filter(({ controller }) => controller === true);
  if (controllers.length > 1) {
    const because = 'Only one reference can have Controller set to true';
    causes.push(invalidValue('metadata.ownerReferences', ownerReferences, because));
  }
  return causes;
}
