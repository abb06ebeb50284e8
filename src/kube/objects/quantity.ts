import trimEnd from 'lodash/trimEnd.js';

/** Longer texts are refused. Divergence: the kubelet parses any length, in more than linear time. */
const MAX_LENGTH = 256;

/** Divergence: the kubelet takes exponents up to 2^31 and then hangs on some of them. */
const MAX_EXPONENT = 1000;

/** Go keeps at most this many decimal digits in an int64; longer numbers take its other path. */
const MAX_INT64_DIGITS = 18;

const NANO_DIGITS = 9;
const NANOS_PER_UNIT = 10n ** 9n;
const BINARY_BASE = 1024n;
const MAX_BINARY_NANOS = (2n ** 63n - 1n) * NANOS_PER_UNIT;

const DECIMAL_SUFFIXES: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
const SUFFIX_BY_DECIMAL_EXPONENT: ReadonlyMap<number, string> = new Map(
  [...DECIMAL_SUFFIXES].map(([suffix, exponent]) => [exponent, suffix]),
);
/** The position is the power of 1024. */
const BINARY_SUFFIXES: readonly string[] = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

const SHAPE = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(.*)$/s;
const EXPONENT_SHAPE = /^[eE]([+-]?[0-9]+)$/;

type Format = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

export interface Quantity {
  /** The value in billionths, rounded away from zero: the smallest step of a quantity. */
  readonly nanos: bigint;
  readonly format: Format;
  /** Set when Go considers the text canonical and writes it back unchanged. */
  readonly text?: string;
}

/**
 * The text that Go's `resource.Quantity` writes for `input` (`1000m` → `1`, `1.5Gi` → `1536Mi`), or
 * undefined when it is not a quantity. Surrounding white space is ignored, as in Go's JSON. Some texts
 * that are not the shortest are kept, because Go keeps them (`1e0`, `+100m`, `1.234`), and a decimal
 * value of 10^21 or more without exponent loses its suffix (`1000E` → `1`), because Go loses it.
 *
 * Divergence: texts above 256 characters and exponents beyond ±1000 are not quantities here, and from
 * 10^21 on two with the same canonical text are equal.
 */
export function canonicalQuantity(input: string | number): string | undefined {
  if (typeof input === 'string' && isPlainCanonical(input)) {
    return input;
  }
  const quantity = parseQuantity(input);
  return quantity && formatQuantity(quantity);
}

/**
 * True when both texts are the same quantity by value (`1` and `1000m`). A text that is not a
 * quantity equals only itself.
 */
export function quantitiesEqual(a: string, b: string): boolean {
  if (a === b) {
    return true;
  }
  const aNanos = quantityNanos(a);
  return aNanos !== undefined && aNanos === quantityNanos(b);
}

/**
 * Negative when `a` is less than `b`, 0 when they are equal by value, else positive; undefined when
 * one of them is not a quantity. Source: apimachinery `Quantity.Cmp`.
 */
export function compareQuantities(a: string, b: string): number | undefined {
  const aNanos = quantityNanos(a);
  const bNanos = quantityNanos(b);
  if (aNanos === undefined || bNanos === undefined) return undefined;
  if (aNanos === bNanos) return 0;
  return aNanos < bNanos ? -1 : 1;
}

/** The value of a quantity in billionths, or undefined when `input` is not a quantity. */
export function quantityNanos(input: string | number): bigint | undefined {
  return parseQuantity(input)?.nanos;
}

/**
 * The value of a quantity as a number, rounded up (away from zero) to an integer; with the unit `m` in thousandths, as is
 * usual for cpu. Undefined when `input` is not a quantity; inexact beyond 2^53. Source: apimachinery `Quantity.Value`,
 * `MilliValue`.
 *
 * @example
 * ```ts
 * import { quantityValue } from 'kubelet-status-manager';
 *
 * quantityValue('64Mi'); // 67108864
 * quantityValue('1500m'); // 2
 * quantityValue('1.5', 'm'); // 1500
 * quantityValue('much'); // undefined
 * ```
 */
export function quantityValue(input: string | number, unit: '' | 'm' = ''): number | undefined {
  const nanos = quantityNanos(input);
  if (nanos === undefined) return undefined;
  const divisor = unit === 'm' ? NANOS_PER_UNIT / 1000n : NANOS_PER_UNIT;
  return Number(nanos < 0n ? -((divisor - 1n - nanos) / divisor) : (nanos + divisor - 1n) / divisor);
}

/** In the format of `a`, or of `b` when `a` is zero. Source: apimachinery `Quantity.Add`. */
export function addParsedQuantities(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos + b.nanos, format: a.nanos === 0n ? b.format : a.format };
}

/**
 * Recognises the usual canonical texts without allocating: this runs for every quantity of every status
 * that is set. False means that the text must be parsed.
 */
function isPlainCanonical(text: string): boolean {
  const length = text.length;
  let digits = 0;
  let value = 0;
  while (digits < length) {
    const digit = text.charCodeAt(digits) - 48;
    if (digit < 0 || digit > 9) {
      break;
    }
    value = value * 10 + digit;
    digits++;
  }
  // A million Ti is below the cap of binary values.
  if (digits === 0 || digits > 6 || text.charCodeAt(0) === 48) {
    return text === '0';
  }
  switch (length - digits) {
    case 0:
      return value % 1000 !== 0;
    case 1:
      return value % 1000 !== 0 && 'numkMGTPE'.includes(text.charAt(digits));
    case 2:
      return value % 1024 !== 0 && text.charAt(digits + 1) === 'i' && 'KMGT'.includes(text.charAt(digits));
    default:
      return false;
  }
}

/** Undefined when `input` is not a quantity. Source: apimachinery `ParseQuantity`. */
export function parseQuantity(input: string | number): Quantity | undefined {
  const text = String(input).trim();
  const shape = text.length === 0 || text.length > MAX_LENGTH ? null : SHAPE.exec(text);
  if (shape === null) {
    return undefined;
  }
  const [, sign, allDigits = '', fraction = '', suffix = ''] = shape;
  const scale = parseSuffix(suffix);
  if (scale === undefined) {
    return undefined;
  }
  const { format, exponent } = scale;
  const integer = allDigits.replace(/^0+/, '') || '0';
  const digits = integer + fraction;
  const isShort = isInt64Path(format, exponent, integer, fraction);
  if (!isShort && allDigits === '' && fraction === '') {
    return undefined;
  }

  const unscaled = BigInt(digits);
  const nanos =
    format === 'BinarySI'
      ? binaryNanos(unscaled, exponent, fraction.length)
      : scaleUp(unscaled, exponent - fraction.length + NANO_DIGITS);
  const isCanonical =
    isShort &&
    (format === 'BinarySI'
      ? unscaled % 8n !== 0n
      : (exponent - fraction.length) % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0'));
  return { nanos: sign === '-' ? -nanos : nanos, format, ...(isCanonical && { text }) };
}

function parseSuffix(suffix: string): { format: Format; exponent: number } | undefined {
  const decimal = DECIMAL_SUFFIXES.get(suffix);
  if (decimal !== undefined) {
    return { format: 'DecimalSI', exponent: decimal };
  }
  const binary = BINARY_SUFFIXES.indexOf(suffix);
  if (binary > 0) {
    return { format: 'BinarySI', exponent: binary };
  }
  const exponent = Number(EXPONENT_SHAPE.exec(suffix)?.[1] ?? NaN);
  return Math.abs(exponent) <= MAX_EXPONENT ? { format: 'DecimalExponent', exponent } : undefined;
}

/** Whether Go parses the number into an int64: only there it keeps a text unchanged. */
function isInt64Path(format: Format, exponent: number, integer: string, fraction: string): boolean {
  if (format === 'BinarySI') {
    return fraction === '' && integer.length + 3 * exponent + 1 <= 15;
  }
  return integer.length + fraction.length <= MAX_INT64_DIGITS && exponent - fraction.length >= -NANO_DIGITS;
}

function binaryNanos(unscaled: bigint, power: number, fractionDigits: number): bigint {
  const nanos = scaleUp(unscaled * BINARY_BASE ** BigInt(power), NANO_DIGITS - fractionDigits);
  return nanos > MAX_BINARY_NANOS ? MAX_BINARY_NANOS : nanos;
}

/** `value × 10^exponent` for a value ≥ 0, rounded up to an integer. */
function scaleUp(value: bigint, exponent: number): bigint {
  if (exponent >= 0) {
    return value * 10n ** BigInt(exponent);
  }
  const divisor = 10n ** BigInt(-exponent);
  return (value + divisor - 1n) / divisor;
}

/** Source: apimachinery `Quantity.CanonicalizeBytes`. */
export function formatQuantity({ nanos, format, text }: Quantity): string {
  if (text !== undefined) {
    return text;
  }
  if (nanos === 0n) {
    return '0';
  }
  const sign = nanos < 0n ? '-' : '';
  const magnitude = nanos < 0n ? -nanos : nanos;
  const isBinary =
    format === 'BinarySI' && magnitude >= BINARY_BASE * NANOS_PER_UNIT && magnitude % NANOS_PER_UNIT === 0n;
  return sign + (isBinary ? formatBinary(magnitude / NANOS_PER_UNIT) : formatDecimal(magnitude, format));
}

function formatBinary(value: bigint): string {
  let mantissa = value;
  let power = 0;
  while (mantissa % BINARY_BASE === 0n) {
    mantissa /= BINARY_BASE;
    power++;
  }
  return `${mantissa}${BINARY_SUFFIXES[power]}`;
}

function formatDecimal(nanos: bigint, format: Format): string {
  const digits = nanos.toString();
  const mantissa = trimEnd(digits, '0');
  const zeros = digits.length - mantissa.length;
  // Suffixes are powers of 1000: the remaining zeros stay in the mantissa.
  const remainingZeros = zeros % 3;
  const exponent = zeros - remainingZeros - NANO_DIGITS;
  return mantissa + '0'.repeat(remainingZeros) + decimalSuffix(exponent, format);
}

function decimalSuffix(exponent: number, format: Format): string {
  if (format === 'DecimalExponent') {
    return exponent === 0 ? '' : `e${exponent}`;
  }
  return SUFFIX_BY_DECIMAL_EXPONENT.get(exponent) ?? '';
}

/** A number of bytes as a quantity: `100Mi`. Source: `resource.NewQuantity(bytes, BinarySI)`. */
export function binarySI(bytes: number): string {
  return formatQuantity({ nanos: BigInt(Math.trunc(bytes)) * NANOS_PER_UNIT, format: 'BinarySI' });
}
