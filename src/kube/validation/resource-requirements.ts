import { quantityNanos } from '../objects/quantity.ts';
import { type FieldError, forbiddenValue, invalidValue, notFoundValue, requiredValue } from './field-error.ts';
import { type JSONObject, objectOf, objectsOf, stringOf } from '../objects/json-object.ts';
import { validateQualifiedName } from './rules.ts';

const containerResources = ['cpu', 'memory', 'ephemeral-storage'];
const standardResources = [...containerResources, 'storage', 'pods', 'services', 'secrets', 'configmaps'];
const podResources = ['cpu', 'memory'];
const nanosPerUnit = 1_000_000_000n;

/** The resources of a container, or of a pod. Source: `validateResourceRequirements`. */
export function validateResources(
  resources: JSONObject,
  field: string,
  of: 'container' | 'pod',
  claimNames: ReadonlySet<unknown> = new Set(),
): FieldError[] {
  const limits = objectOf(resources, 'limits');
  const requests = objectOf(resources, 'requests');
  const causes: FieldError[] = [];
  for (const [kind, list] of [
    ['limits', limits],
    ['requests', requests],
  ] as const) {
    for (const [name, quantity] of Object.entries(list)) {
      causes.push(...validateResource(name, String(quantity), `${field}.${kind}[${name}]`, of));
      if (kind === 'requests') causes.push(...validateRequest(name, String(quantity), limits, field));
    }
  }
  const names = [...Object.keys(limits), ...Object.keys(requests)];
  if (names.some(isHugePages) && !names.includes('cpu') && !names.includes('memory')) {
    causes.push(forbiddenValue(field, 'HugePages require cpu or memory'));
  }
  for (const [i, { name }] of objectsOf(resources, 'claims').entries()) {
    if (claimNames.has(name)) continue;
    causes.push(notFoundValue(`${field}.claims[${i}]`, name, 'must be one of the names in pod.spec.resourceClaims'));
  }
  return causes;
}

function validateResource(name: string, quantity: string, field: string, of: 'container' | 'pod'): FieldError[] {
  const nanos = quantityNanos(quantity) ?? 0n;
  return [
    ...validateResourceName(name, field, of),
    ...(nanos < 0n ? [invalidValue(field, quantity, 'must be greater than or equal to 0')] : []),
    ...(isInteger(name) && nanos % nanosPerUnit !== 0n ? [invalidValue(field, quantity, 'must be an integer')] : []),
  ];
}

function validateResourceName(name: string, field: string, of: 'container' | 'pod'): FieldError[] {
  const causes = validateQualifiedName(name, field);
  if (of === 'pod') {
    if (podResources.includes(name) || isHugePages(name)) return causes;
    return [...causes, invalidValue(field, name, 'must be a supported pod resource: cpu, memory or hugepages')];
  }
  if (name.includes('/')) return causes;
  if (!standardResources.includes(name) && !isHugePages(name) && causes.length === 0) {
    causes.push(invalidValue(field, name, 'must be a standard resource type or fully qualified'));
  }
  if (!containerResources.includes(name) && !isHugePages(name)) {
    causes.push(invalidValue(field, name, 'must be a standard resource for containers'));
  }
  return causes;
}

function validateRequest(name: string, request: string, limits: JSONObject, field: string): FieldError[] {
  const limit = stringOf(limits, name);
  const mayDiffer = !isHugePages(name) && !isExtended(name);
  if (limit === '') {
    const because = 'Limit must be set for non overcommitable resources';
    return mayDiffer ? [] : [requiredValue(`${field}.limits`, because)];
  }
  const [asked, allowed] = [quantityNanos(request) ?? 0n, quantityNanos(limit) ?? 0n];
  if (!mayDiffer && asked !== allowed) {
    return [invalidValue(`${field}.requests`, request, `must be equal to ${name} limit of ${limit}`)];
  }
  if (asked <= allowed) return [];
  return [invalidValue(`${field}.requests`, request, `must be less than or equal to ${name} limit of ${limit}`)];
}

function isHugePages(name: string): boolean {
  return name.startsWith('hugepages-');
}

/** An extended resource: not defined by Kubernetes. */
function isExtended(name: string): boolean {
  const [prefix = ''] = name.split('/');
  return name.includes('/') && !/(^|\.)kubernetes\.io$/.test(prefix);
}

function isInteger(name: string): boolean {
  return isExtended(name) || name === 'pods';
}
