import isEqual from 'lodash/isEqual.js';
import { isIPAddress } from '../../kube/objects/ip-address.ts';
import { quantityNanos } from '../../kube/objects/quantity.ts';
import { duplicateValue, type FieldError, forbiddenValue, invalidValue } from '../../kube/validation/field-error.ts';
import { type JSONObject, objectOf, objectsOf, stringOf } from '../../kube/objects/json-object.ts';
import { specOf, statusOf, type StoredObject } from '../storage/objects.ts';
import { plainStrategy } from './plain-strategy.ts';
import type { Strategy } from './strategy.ts';
import { labelValueProblems, validateEnum, validateQualifiedName } from '../../kube/validation/rules.ts';

const notReadyTaint = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const featureName = /^[A-Z][a-zA-Z0-9]*(\/[a-zA-Z][a-zA-Z0-9]*)*$/;
const featureNameRule =
  "must start with an UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or MyFeature/mySubFeature), and contain only alphanumeric characters and slashes";
const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

/** Source: `registry/core/node/strategy.go` and the TaintNodesByCondition admission plugin. */
export const nodeStrategy: Strategy = {
  ...plainStrategy,
  setDefaults(node) {
    const spec = objectOf(node, 'spec');
    const status = objectOf(node, 'status');
    const podCIDR = stringOf(spec, 'podCIDR');
    // The deprecated podCIDR wins over podCIDRs.
    const isListed = Array.isArray(spec.podCIDRs) && spec.podCIDRs[0] === podCIDR;
    const podCIDRs = podCIDR === '' || isListed ? {} : { podCIDRs: [podCIDR] };
    const { capacity } = status;
    return {
      spec: { ...spec, ...podCIDRs },
      status: { ...(capacity === undefined ? {} : { allocatable: capacity }), ...status },
    };
  },
  prepareForCreate(node) {
    const spec = specOf(node);
    const taints = objectsOf(spec, 'taints').filter(({ key }) => key !== notReadyTaint.key);
    return { ...node, spec: { ...spec, taints: [...taints, notReadyTaint] } };
  },
  prepareForUpdate(next, old, subresource) {
    return subresource === 'status' ? { ...next, spec: specOf(old) } : { ...next, status: statusOf(old) };
  },
  validateCreate: (node) => [
    ...plainStrategy.validateCreate(node),
    ...validateTaints(specOf(node)),
    ...validateAmounts(node),
    ...validateDeclaredFeatures(node),
    ...validatePodCIDRs(specOf(node)),
  ],
  validateUpdate: (next, old, subresource) => [
    ...plainStrategy.validateUpdate(next, old, subresource),
    ...validateTaints(specOf(next)),
    ...validateAmounts(next),
    ...validateDeclaredFeatures(next),
    ...validateUpdate(next, old),
  ],
};

/** Source: `validateNodeTaints`, which calls the list metadata.taints. */
function validateTaints(spec: JSONObject): FieldError[] {
  const known = new Set<string>();
  return objectsOf(spec, 'taints').flatMap((taint, i) => {
    const field = `metadata.taints[${i}]`;
    const [key, value, effect] = [stringOf(taint, 'key'), stringOf(taint, 'value'), stringOf(taint, 'effect')];
    const problems = labelValueProblems(value);
    const causes = [
      ...validateQualifiedName(key, `${field}.key`),
      ...(problems.length === 0 ? [] : [invalidValue(`${field}.value`, value, problems.join(';'))]),
      ...validateEnum(effect, taintEffects, `${field}.effect`),
    ];
    if (known.has(`${key}:${effect}`)) causes.push(duplicateValue(field, taint));
    known.add(`${key}:${effect}`);
    return causes;
  });
}

/** Source: `ValidateNodeResources`. */
function validateAmounts(node: StoredObject): FieldError[] {
  return ['capacity', 'allocatable'].flatMap((list) =>
    Object.entries(objectOf(statusOf(node), list))
      .filter(([, quantity]) => (quantityNanos(String(quantity)) ?? 0n) < 0n)
      .map(([name, quantity]) =>
        invalidValue(`status.${list}.${name}`, quantity, 'must be greater than or equal to 0'),
      ),
  );
}

/** Source: `validateNodeDeclaredFeatures`. */
function validateDeclaredFeatures(node: StoredObject): FieldError[] {
  const { declaredFeatures } = statusOf(node);
  if (!Array.isArray(declaredFeatures)) return [];
  const names = declaredFeatures.map(String);
  return names.flatMap((name, i) => {
    const field = `status.declaredFeatures[${i}]`;
    const errors = featureName.test(name)
      ? []
      : [invalidValue(field, name, `invalid feature name ${JSON.stringify(name)}: ${featureNameRule}`)];
    const previous = names[i - 1];
    if (previous === name) errors.push(duplicateValue(field, name));
    else if (previous !== undefined && previous > name) {
      errors.push(invalidValue(field, name, 'list must be sorted alphabetically'));
    }
    return errors;
  });
}

function validatePodCIDRs({ podCIDRs }: JSONObject): FieldError[] {
  if (!Array.isArray(podCIDRs)) return [];
  return podCIDRs.flatMap((cidr: unknown, i) => {
    const [ip = '', prefix = ''] = String(cidr).split('/');
    if (isIPAddress(ip) && /^\d{1,3}$/.test(prefix)) return [];
    return [
      invalidValue(`spec.podCIDRs[${i}]`, cidr, 'must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'),
    ];
  });
}

/** Source: `ValidateNodeUpdate`. */
function validateUpdate(next: StoredObject, old: StoredObject): FieldError[] {
  const causes: FieldError[] = [];
  const [before, after] = [specOf(old), specOf(next)];
  if (Array.isArray(before.podCIDRs) && !isEqual(before.podCIDRs, after.podCIDRs)) {
    const because = 'node updates may not change podCIDR except from "" to valid';
    causes.push(forbiddenValue('spec.podCIDRs', because));
  }
  const [had, has] = [stringOf(before, 'providerID'), stringOf(after, 'providerID')];
  if (had !== '' && had !== has) {
    causes.push(
      invalidValue('spec.providerID', null, `field cannot be ${has === '' ? 'cleared' : 'modified'} once set`),
    );
  }
  const addresses = objectsOf(statusOf(next), 'addresses');
  for (const [i, address] of addresses.entries()) {
    if (addresses.slice(0, i).some((other) => isEqual(other, address))) {
      causes.push(duplicateValue(`status.addresses[${i}]`, address));
    }
  }
  return causes;
}
