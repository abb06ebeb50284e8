import isEqual from 'lodash/isEqual.js';
import { type FieldError, invalidValue, requiredValue } from '../../kube/validation/field-error.ts';
import { validateMetadata } from '../../kube/validation/metadata.ts';
import { validateMetadataUpdate } from '../storage/metadata.ts';
import { isJSONObject, type JSONObject, numberOf, objectOf, stringOf } from '../../kube/objects/json-object.ts';
import type { StoredObject } from '../storage/objects.ts';
import { plainStrategy } from './plain-strategy.ts';
import type { Strategy } from './strategy.ts';
import { validateQualifiedName } from '../../kube/validation/rules.ts';

const limits = { reportingInstance: 128, action: 128, reason: 128, message: 1024 };
/** Fields that are immutable through `events.k8s.io`. */
const immutable = [
  ['involvedObject', 'involvedObject'],
  ['reason', 'reason'],
  ['message', 'message'],
  ['source', 'source'],
  ['firstTimestamp', 'firstTimestamp'],
  ['lastTimestamp', 'lastTimestamp'],
  ['count', 'count'],
  ['type', 'type'],
  ['eventTime', 'eventTime'],
  ['action', 'action'],
  ['related', 'related'],
  ['reportingComponent', 'reportingController'],
  ['reportingInstance', 'reportingInstance'],
] as const;

/** Events through v1, with little validation. Source: `registry/core/event/strategy.go`. */
export const eventStrategy: Strategy = {
  ...plainStrategy,
  createOnUpdate: true,
  validateCreate: (event) => validateEvent(event, 'reportingComponent'),
  validateUpdate: (next) => validateEvent(next, 'reportingComponent'),
};

/** The same objects through `events.k8s.io`. Source: `ValidateEventCreate`, `ValidateEventUpdate`. */
export const newEventStrategy: Strategy = {
  ...eventStrategy,
  validateCreate(event) {
    const type = stringOf(event, 'type');
    const source = objectOf(event, 'source');
    const causes = [...validateEvent(event, 'reportingController'), ...validateMetadata(event.metadata)];
    causes.push(...validateSeries(event));
    if (event.eventTime === null) causes.push(requiredValue('eventTime'));
    if (type !== 'Normal' && type !== 'Warning') causes.push(invalidValue('type', '', `has invalid value: ${type}`));
    const unset = (field: string) => invalidValue(field, '', 'needs to be unset');
    if (event.firstTimestamp !== null) causes.push(unset('firstTimestamp'));
    if (event.lastTimestamp !== null) causes.push(unset('lastTimestamp'));
    if (numberOf(event, 'count') !== 0) causes.push(unset('count'));
    if (Object.keys(source).length > 0) causes.push(unset('source'));
    return causes;
  },
  validateUpdate(next, old) {
    const causes = [...validateEvent(next, 'reportingController'), ...validateMetadataUpdate(next, old)];
    if (!isEqual(next.series, old.series)) causes.push(...validateSeries(next));
    for (const [name, field] of immutable) {
      if (!isEqual(next[name], old[name])) causes.push(invalidValue(field, next[name], 'field is immutable'));
    }
    return causes;
  },
};

/** Source: `legacyValidateEvent`. */
function validateEvent(event: StoredObject, controllerField: string): FieldError[] {
  const { namespace = '' } = event.metadata;
  const involved = stringOf(objectOf(event, 'involvedObject'), 'namespace');
  const mismatch = invalidValue('involvedObject.namespace', involved, 'does not match event.namespace');
  if (event.eventTime === null) {
    const isSame = involved === '' ? namespace === 'default' : involved === namespace;
    return isSame ? [] : [mismatch];
  }
  const causes = involved === '' && namespace !== 'default' && namespace !== 'kube-system' ? [mismatch] : [];
  const controller = stringOf(event, 'reportingComponent');
  if (controller === '') causes.push(requiredValue(controllerField));
  causes.push(...validateQualifiedName(controller, controllerField));
  for (const [name, limit] of Object.entries(limits)) {
    const text = stringOf(event, name);
    if (text === '' && name !== 'message') causes.push(requiredValue(name));
    if (text.length > limit) causes.push(invalidValue(name, '', `can have at most ${limit} characters`));
  }
  return causes;
}

function validateSeries(event: StoredObject): FieldError[] {
  const { series } = event;
  if (!isJSONObject(series)) return [];
  return [
    ...(numberOf(series, 'count') < 2 ? [invalidValue('series.count', '', 'should be at least 2')] : []),
    ...(series.lastObservedTime === null ? [requiredValue('series.lastObservedTime')] : []),
  ];
}

/** Fields whose v1 name differs, with their name in `events.k8s.io`. */
const eventFields: readonly (readonly [string, string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
  ['reportingComponent', 'reportingController'],
];

/** An event of `events.k8s.io` in the fields of v1, which are stored. */
export function eventFromEventsAPI(event: JSONObject): JSONObject {
  return {
    reportingComponent: '',
    reportingInstance: '',
    ...renamed(event, new Map(eventFields.map(([core, other]) => [other, core]))),
  };
}

/** A v1 event in the fields of `events.k8s.io`, which omits these two when they are empty. */
export function eventToEventsAPI(event: JSONObject): JSONObject {
  const result: JSONObject = { ...renamed(event, new Map(eventFields)), apiVersion: 'events.k8s.io/v1' };
  for (const name of ['reportingController', 'reportingInstance']) if (result[name] === '') delete result[name];
  return result;
}

function renamed(object: JSONObject, names: ReadonlyMap<string, string>): JSONObject {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [names.get(name) ?? name, value]));
}
