import { badRequest } from '../api-status.ts';
import type { StoredObject } from './objects.ts';

export type Selector = (object: StoredObject) => boolean;

/** The fields that a resource can be selected by, and how to read them. */
export interface SelectableFields {
  readonly [field: string]: (object: StoredObject) => string;
}

const everything: Selector = () => true;

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
  const wanted = unescaped(value);
  return operator === '!=' ? (object) => read(object) !== wanted : (object) => read(object) === wanted;
}

/** The value that a field selector asks the field to equal, if it does. */
export function requiredFieldValue(text: string, field: string): string | undefined {
  const term = text.split(',').find((each) => each.startsWith(`${field}=`));
  return term === undefined ? undefined : unescaped(term.slice(field.length + 1).replace(/^=/, ''));
}

function unescaped(value: string): string {
  return value.replaceAll(/\\([\\,=])/g, '$1');
}

/**
 * `a=b,c!=d,e,!f,g in (h, i),j notin (k),l>1`; an empty text selects everything.
 * @throws APIStatusError 400 if it is invalid
 */
export function parseLabelSelector(text: string): Selector {
  if (text.trim() === '') return everything;
  const terms = splitOutsideParentheses(text).map((term) => parseLabelTerm(term.trim()));
  return (object) => terms.every((term) => term(object));
}

function splitOutsideParentheses(text: string): string[] {
  const terms = [''];
  for (const [part] of text.matchAll(/,|\([^)]*\)?|[^,(]+/g)) {
    if (part === ',') terms.push('');
    else terms.push(terms.pop() + part);
  }
  return terms;
}

function parseLabelTerm(term: string): Selector {
  const [, absent, existing] = /^(!?)\s*([^\s!=<>(),]+)$/.exec(term) ?? [];
  if (existing !== undefined) return (object) => (labelOf(object, existing) === undefined) === (absent === '!');

  const [, equalKey, operator, value = ''] = /^([^\s!=<>(),]+)\s*(==?|!=)\s*([^\s!=<>(),]*)$/.exec(term) ?? [];
  if (equalKey !== undefined) return (object) => (labelOf(object, equalKey) === value) === (operator !== '!=');

  const [, setKey, setOperator, list = ''] = /^([^\s!=<>(),]+)\s+(in|notin)\s*\(([^()]*)\)$/.exec(term) ?? [];
  if (setKey !== undefined) {
    const values = new Set(list.split(',').map((each) => each.trim()));
    return (object) => {
      const label = labelOf(object, setKey);
      return (label !== undefined && values.has(label)) === (setOperator === 'in');
    };
  }

  const [, numericKey, sign, bound] = /^([^\s!=<>(),]+)\s*([<>])\s*(-?\d+)$/.exec(term) ?? [];
  if (numericKey === undefined)
    throw badRequest(`unable to parse requirement: ${JSON.stringify(term)} is no label requirement`);
  return (object) => {
    const label = Number(labelOf(object, numericKey) ?? NaN);
    return sign === '>' ? label > Number(bound) : label < Number(bound);
  };
}

function labelOf(object: StoredObject, key: string): string | undefined {
  const { labels } = object.metadata;
  return labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
}
