import { setOwn } from '../../status/json.ts';
import { canonicalTime } from '../../status/canonical-time.ts';
import { canonicalQuantity } from '../../status/quantity.ts';
import { isJSONObject, type JSONObject } from './objects.ts';

/** A member has a value that Go's decoder would not put into the struct. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

function refuse(path: string, value: unknown, expected: string): never {
  throw new DecodeError(`json: cannot unmarshal ${typeof value} into field ${path} of type ${expected}`);
}

function own(raw: JSONObject, member: string): unknown {
  return Object.hasOwn(raw, member) ? (raw[member] ?? undefined) : undefined;
}

/** The member as an object; undefined when absent or null. */
export function decodeObject(raw: JSONObject, member: string, path: string): JSONObject | undefined {
  const value = own(raw, member);
  return value === undefined || isJSONObject(value) ? value : refuse(`${path}.${member}`, value, 'object');
}

export function decodeString(raw: JSONObject, member: string, path: string): string | undefined {
  const value = own(raw, member);
  return value === undefined || typeof value === 'string' ? value : refuse(`${path}.${member}`, value, 'string');
}

export function decodeInteger(raw: JSONObject, member: string, path: string): number | undefined {
  const value = own(raw, member);
  if (value === undefined || (typeof value === 'number' && Number.isSafeInteger(value))) return value;
  return refuse(`${path}.${member}`, value, 'integer');
}

function decodeList(raw: JSONObject, member: string, path: string): unknown[] | undefined {
  const value = own(raw, member);
  return value === undefined || Array.isArray(value) ? value : refuse(`${path}.${member}`, value, 'list');
}

/** A list of objects; what is null in it becomes an empty object. */
export function decodeObjects(raw: JSONObject, member: string, path: string): JSONObject[] | undefined {
  return decodeList(raw, member, path)?.map((element, i) => {
    if (element === null) return {};
    return isJSONObject(element) ? element : refuse(`${path}.${member}[${i}]`, element, 'object');
  });
}

export function decodeStrings(raw: JSONObject, member: string, path: string): string[] | undefined {
  return decodeList(raw, member, path)?.map((element, i) => {
    return typeof element === 'string' ? element : refuse(`${path}.${member}[${i}]`, element, 'string');
  });
}

export function decodeStringMap(raw: JSONObject, member: string, path: string): { [key: string]: string } | undefined {
  const value = decodeObject(raw, member, path);
  if (value === undefined) return undefined;
  const map: { [key: string]: string } = {};
  for (const [key, text] of Object.entries(value)) {
    setOwn(
      map,
      key,
      typeof text === 'string' || text === null ? (text ?? '') : refuse(`${path}.${member}`, text, 'string'),
    );
  }
  return map;
}

/** A time cut to whole seconds; null for no time. */
export function decodeTime(raw: JSONObject, member: string, path: string): string | null {
  const value = own(raw, member);
  const time = canonicalTime(value);
  return time === undefined ? refuse(`${path}.${member}`, value, 'time') : time;
}

/** A time with exactly six digits of fraction, the one spelling that Go's MicroTime reads. */
export function decodeMicroTime(raw: JSONObject, member: string, path: string): string | undefined {
  const value = decodeString(raw, member, path);
  if (value === undefined) return undefined;
  const seconds = canonicalTime(value);
  const fraction = /\.\d{6}(?=Z$|[+-]\d\d:\d\d$)/.exec(value);
  if (seconds === undefined || seconds === null || fraction === null) {
    throw new DecodeError(
      `parsing time ${JSON.stringify(value)} in ${path}.${member}: six digits of fraction and a zone are required`,
    );
  }
  return `${seconds.slice(0, -1)}${fraction[0]}Z`;
}

/** A map of quantities, each in its canonical spelling. */
export function decodeQuantities(
  raw: JSONObject,
  member: string,
  path: string,
): { [name: string]: string } | undefined {
  const value = decodeObject(raw, member, path);
  if (value === undefined) return undefined;
  const list: { [name: string]: string } = {};
  for (const [name, amount] of Object.entries(value)) {
    const quantity =
      typeof amount === 'string' || typeof amount === 'number'
        ? canonicalQuantity(amount)
        : amount === null
          ? '0'
          : undefined;
    if (quantity === undefined) {
      throw new DecodeError(`${path}.${member}.${name}: quantities must match the regular expression of a quantity`);
    }
    setOwn(list, name, quantity);
  }
  return list;
}
