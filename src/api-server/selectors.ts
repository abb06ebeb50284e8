import { badRequest } from './api-status.ts';
import type { StoredObject } from './objects.ts';

export type Selector = (object: StoredObject) => boolean;

/** The fields that a resource can be selected by, and how to read them. */
export interface SelectableFields {
  readonly [field: string]: (object: StoredObject) => string;
}

const everything: Selector = () => true;

const labelRequirement =
  /^\s*(?:(!?)\s*([^\s!=<>(),]+)|([^\s!=<>(),]+)\s*(==?|!=)\s*([^\s!=<>(),]*)|([^\s!=<>(),]+)\s+(in|notin)\s*\(([^()]*)\)|([^\s!=<>(),]+)\s*([<>])\s*(-?\d+))\s*$/;

/**
 * `metadata.name=a,status.phase!=Failed`; an empty text selects everything.
 * @throws APIStatusError 400 for a field that the resource does not support in selectors
 */
export function parseFieldSelector(text: string, fields: SelectableFields): Selector {
  if (text === '') return everything;
  const terms = text
    .split(',')
    .filter((term) => term !== '')
    .map((term) => parseFieldTerm(term, fields));
  return (object) => terms.every((term) => term(object));
}

function parseFieldTerm(term: string, fields: SelectableFields): Selector {
  const match = /^([^=!]*)(!=|==|=)(.*)$/s.exec(term);
  if (match === null) throw badRequest(`invalid selector: '${term}'; can't understand '${term}'`);
  const [, field = '', operator, value = ''] = match;
  if (!Object.hasOwn(fields, field)) throw badRequest(`field label not supported: ${field}`);
  const read = fields[field]!;
  const wanted = value.replaceAll(/\\([\\,=])/g, '$1');
  return operator === '!=' ? (object) => read(object) !== wanted : (object) => read(object) === wanted;
}

/** The value that a field selector asks the field to equal, if it does. */
export function requiredFieldValue(text: string, field: string): string | undefined {
  const prefix = new RegExp(`^${field.replaceAll('.', String.raw`\.`)}==?`);
  return text
    .split(',')
    .find((term) => prefix.test(term))
    ?.replace(prefix, '');
}

/**
 * `a=b,c!=d,e,!f,g in (h, i),j notin (k),l>1`; an empty text selects everything.
 * @throws APIStatusError 400 if it is invalid
 */
export function parseLabelSelector(text: string): Selector {
  if (text.trim() === '') return everything;
  const terms = splitOutsideParentheses(text).map(parseLabelTerm);
  return (object) => terms.every((term) => term(object));
}

function splitOutsideParentheses(text: string): string[] {
  return text.split(/,(?![^(]*\))/);
}

function parseLabelTerm(term: string): Selector {
  const match = labelRequirement.exec(term);
  if (match === null) throw badRequest(`unable to parse requirement: ${JSON.stringify(term)} is no label requirement`);
  const [, absent, existing, equalKey, operator, equalValue, setKey, setOperator, setValues, numericKey, sign, bound] =
    match;
  if (existing !== undefined) return (object) => (labelOf(object, existing) === undefined) === (absent === '!');
  if (equalKey !== undefined) return (object) => (labelOf(object, equalKey) === equalValue) === (operator !== '!=');
  if (setKey !== undefined) {
    const values = new Set((setValues ?? '').split(',').map((value) => value.trim()));
    return (object) => {
      const label = labelOf(object, setKey);
      return (label !== undefined && values.has(label)) === (setOperator === 'in');
    };
  }
  return (object) => {
    const label = Number(labelOf(object, numericKey ?? '') ?? NaN);
    return sign === '>' ? label > Number(bound) : label < Number(bound);
  };
}

function labelOf(object: StoredObject, key: string): string | undefined {
  const { labels } = object.metadata;
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
}
