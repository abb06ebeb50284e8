import { canonicalTime } from '../../shared/time.ts';
import { setOwn } from '../../shared/json.ts';
import { canonicalQuantity } from './quantity.ts';
import { type KubeType, type StructField, structFields } from './kube-object.ts';
import { isJSONObject, type JSONObject } from './json-object.ts';

/** A field has a value that Go's decoder would not put into the struct. */
export class DecodeError extends Error {
  override readonly name = 'DecodeError';
}

export interface DecodedStruct {
  /**
   * The known fields with the values that Go would write back: canonical, without empty optional
   * fields.
   */
  readonly value: JSONObject;
  /** Where the unknown fields are: `spec.containers[0].imagee`. */
  readonly unknownFields: readonly string[];
}

/**
 * Reads JSON as kube-apiserver reads it into a struct, and writes it as kube-apiserver would. Unknown
 * fields are dropped and reported, null is the same as absent.
 * @throws DecodeError for a value of the wrong type, with Go's message
 */
export function decodeKubeType(type: KubeType, value: unknown): DecodedStruct {
  const decoding = new Decoding();
  return { value: structOf(type).read(value, decoding) as JSONObject, unknownFields: decoding.unknownFields };
}

/** How one Go type is read. Compiled once from its text in the table. */
interface TypeReader {
  /** Its name in Go's errors (`reflect.Type`). */
  readonly goName: string;
  /** @param value not null */
  read(value: unknown, decoding: Decoding): unknown;
  /** The zero value of an absent field that is not optional. */
  zero(): unknown;
  isEmpty(value: unknown): boolean;
}

interface Field extends StructField {
  readonly reader: TypeReader;
}

/** The position of the decoder, and the unknown fields so far. */
class Decoding {
  readonly unknownFields: string[] = [];
  /** Names of fields, indexes of lists. */
  readonly path: (string | number)[] = [];
  struct = '';

  recordUnknown(field: string): void {
    let text = '';
    for (const step of [...this.path, field]) {
      text += typeof step === 'number' ? `[${step}]` : text === '' ? step : `.${step}`;
    }
    this.unknownFields.push(text);
  }

  mismatch(value: unknown, goName: string, isOutOfRange = false): never {
    const field = this.path.filter((step) => typeof step === 'string').join('.');
    const place = field === '' ? 'Go value' : `Go struct field ${this.struct}.${field}`;
    const kind = isOutOfRange ? `number ${String(value)}` : jsonKindOf(value);
    throw new DecodeError(`json: cannot unmarshal ${kind} into ${place} of type ${goName}`);
  }
}

function jsonKindOf(value: unknown): string {
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

const readers = new Map<string, TypeReader>();

function readerOf(text: string): TypeReader {
  let reader = readers.get(text);
  if (reader === undefined) readers.set(text, (reader = compile(text)));
  return reader;
}

function compile(text: string): TypeReader {
  if (text.startsWith('*')) return pointerTo(readerOf(text.slice(1)));
  if (text.startsWith('[]')) return listOf(readerOf(text.slice(2)));
  if (text.startsWith('map[string]')) return mapOf(readerOf(text.slice('map[string]'.length)));
  if (text.startsWith('string:')) return stringReader(`v1.${text.slice('string:'.length)}`);
  const scalar = scalars.get(text);
  return scalar ?? structOf(text as KubeType);
}

function stringReader(goName: string): TypeReader {
  return {
    goName,
    read: (value, decoding) => (typeof value === 'string' ? value : decoding.mismatch(value, goName)),
    zero: () => '',
    isEmpty: (value) => value === '',
  };
}

function integerReader(goName: string, max: number): TypeReader {
  return {
    goName,
    read(value, decoding) {
      if (typeof value !== 'number') return decoding.mismatch(value, goName);
      const isInRange = Number.isInteger(value) && value <= max && value >= -max - 1;
      return isInRange ? value : decoding.mismatch(value, goName, true);
    },
    zero: () => 0,
    isEmpty: (value) => value === 0,
  };
}

const isNull = (value: unknown): boolean => value === null;

const scalars: ReadonlyMap<string, TypeReader> = new Map<string, TypeReader>([
  ['string', stringReader('string')],
  ['int32', integerReader('int32', 2 ** 31 - 1)],
  ['int64', integerReader('int64', Number.MAX_SAFE_INTEGER)],
  [
    'bool',
    {
      goName: 'bool',
      read: (value, decoding) => (typeof value === 'boolean' ? value : decoding.mismatch(value, 'bool')),
      zero: () => false,
      isEmpty: (value) => value === false,
    },
  ],
  ['Time', { goName: 'v1.Time', read: readTime, zero: () => null, isEmpty: isNull }],
  ['MicroTime', { goName: 'v1.MicroTime', read: readMicroTime, zero: () => null, isEmpty: isNull }],
  ['Quantity', { goName: 'resource.Quantity', read: readQuantity, zero: () => '0', isEmpty: () => false }],
  ['bytes', { goName: '[]uint8', read: readBytes, zero: () => '', isEmpty: (value) => value === '' }],
  ['IntOrString', { goName: 'intstr.IntOrString', read: readIntOrString, zero: () => 0, isEmpty: () => false }],
  ['any', { goName: 'v1.FieldsV1', read: (value) => value, zero: () => null, isEmpty: isNull }],
]);

function readTime(value: unknown, decoding: Decoding): unknown {
  if (typeof value !== 'string') return decoding.mismatch(value, 'string');
  const time = canonicalTime(value);
  return time === undefined ? refuseTime(value, '2006-01-02T15:04:05Z07:00') : time;
}

/** A time with exactly six fractional digits, the only format that Go's MicroTime reads. */
function readMicroTime(value: unknown, decoding: Decoding): unknown {
  if (typeof value !== 'string') return decoding.mismatch(value, 'string');
  const seconds = canonicalTime(value);
  const fraction = /\.\d{6}(?=Z$|[+-]\d\d:\d\d$)/.exec(value);
  if (seconds === undefined || fraction === null) return refuseTime(value, '2006-01-02T15:04:05.000000Z07:00');
  return seconds === null ? null : `${seconds.slice(0, -1)}${fraction[0]}Z`;
}

function refuseTime(value: string, layout: string): never {
  throw new DecodeError(`parsing time ${JSON.stringify(value)} as ${JSON.stringify(layout)}: cannot parse it`);
}

function readQuantity(value: unknown): unknown {
  const quantity = typeof value === 'string' || typeof value === 'number' ? canonicalQuantity(value) : undefined;
  if (quantity !== undefined) return quantity;
  throw new DecodeError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

/** Base64, as Go writes it. */
function readBytes(value: unknown, decoding: Decoding): unknown {
  if (typeof value !== 'string') return decoding.mismatch(value, '[]uint8');
  const text = value.replaceAll(/[\r\n]/g, '');
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new DecodeError('illegal base64 data');
  return Buffer.from(text, 'base64').toString('base64');
}

function readIntOrString(value: unknown, decoding: Decoding): unknown {
  return typeof value === 'string' ? value : scalars.get('int32')!.read(value, decoding);
}

function pointerTo(target: TypeReader): TypeReader {
  return {
    goName: target.goName,
    read: (value, decoding) => target.read(value, decoding),
    zero: () => null,
    isEmpty: isNull,
  };
}

function listOf(element: TypeReader): TypeReader {
  const goName = `[]${element.goName}`;
  return {
    goName,
    read(value, decoding) {
      if (!Array.isArray(value)) return decoding.mismatch(value, goName);
      return value.map((one, i) => {
        if (one === null) return element.zero();
        decoding.path.push(i);
        const read = element.read(one, decoding);
        decoding.path.pop();
        return read;
      });
    },
    zero: () => null,
    isEmpty: (value) => (value as readonly unknown[]).length === 0,
  };
}

function mapOf(element: TypeReader): TypeReader {
  const goName = `map[string]${element.goName}`;
  return {
    goName,
    read(value, decoding) {
      if (!isJSONObject(value)) return decoding.mismatch(value, goName);
      const map: JSONObject = {};
      for (const [key, one] of Object.entries(value)) {
        setOwn(map, key, one === null ? element.zero() : element.read(one, decoding));
      }
      return map;
    },
    zero: () => null,
    isEmpty: (value) => Object.keys(value as object).length === 0,
  };
}

function structOf(type: KubeType): TypeReader {
  const goName = `v1.${type}`;
  let fields: Map<string, Field> | undefined;
  let required: readonly Field[] = [];
  // On first use, because structs may be recursive.
  const fieldsOf = () => {
    if (fields === undefined) {
      fields = new Map(structFields(type).map((one) => [one.name, { ...one, reader: readerOf(one.type) }]));
      required = [...fields.values()].filter(({ isOptional }) => !isOptional);
    }
    return fields;
  };
  const read = (value: unknown, decoding: Decoding): unknown => {
    if (!isJSONObject(value)) return decoding.mismatch(value, goName);
    const outer = decoding.struct;
    const result: JSONObject = {};
    const known = fieldsOf();
    for (const name of Object.keys(value)) {
      const field = known.get(name);
      if (field === undefined) {
        decoding.recordUnknown(name);
        continue;
      }
      const raw = value[name];
      if (raw === null || raw === undefined) continue;
      decoding.struct = type;
      decoding.path.push(name);
      const decoded = field.reader.read(raw, decoding);
      decoding.path.pop();
      if (!(field.isOptional && field.reader.isEmpty(decoded))) result[name] = decoded;
    }
    decoding.struct = outer;
    for (const { name, reader } of required) if (!Object.hasOwn(result, name)) result[name] = reader.zero();
    return result;
  };
  return { goName, read, zero: () => read({}, new Decoding()), isEmpty: () => false };
}
