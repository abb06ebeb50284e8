import { assert, constantFrom, pre, property, stringMatching, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addParsedQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  quantitiesEqual,
  quantityNanos,
  quantityValue,
} from '../../src/kube/objects/quantity.ts';

/** What `resource.Quantity` of k8s.io/apimachinery v0.37 makes of a JSON string, read and written back. */
const formats: readonly (readonly [string, string])[] = [
  ['0', '0'],
  ['1', '1'],
  ['100m', '100m'],
  ['250m', '250m'],
  ['999m', '999m'],
  ['1000m', '1'],
  ['1001m', '1001m'],
  ['1500m', '1500m'],
  ['2000m', '2'],
  ['0.5', '500m'],
  ['0.05', '50m'],
  ['1.5', '1500m'],
  ['1.50', '1500m'],
  ['1.500', '1.500'],
  ['.5', '500m'],
  ['5.', '5.'],
  ['1.234', '1.234'],
  ['1.2345', '1234500u'],
  ['12.3456789', '12345678900n'],
  ['1000', '1k'],
  ['1001', '1001'],
  ['10000', '10k'],
  ['100000', '100k'],
  ['1k', '1k'],
  ['1000k', '1M'],
  ['1500k', '1500k'],
  ['1M', '1M'],
  ['1G', '1G'],
  ['1T', '1T'],
  ['1P', '1P'],
  ['1E', '1E'],
  ['999E', '999E'],
  ['1000E', '1'],
  ['1Ki', '1Ki'],
  ['8Ki', '8Ki'],
  ['1023Ki', '1023Ki'],
  ['1024Ki', '1Mi'],
  ['1025Ki', '1025Ki'],
  ['64Mi', '64Mi'],
  ['1024Mi', '1Gi'],
  ['1536Mi', '1536Mi'],
  ['1.5Gi', '1536Mi'],
  ['0.5Gi', '512Mi'],
  ['1Gi', '1Gi'],
  ['1.1Ki', '1126400m'],
  ['0.1Ki', '102400m'],
  ['0.001Ki', '1024m'],
  ['0.9765625Ki', '1k'],
  ['1Ti', '1Ti'],
  ['1Pi', '1Pi'],
  ['1024Pi', '1Ei'],
  ['7Ei', '7Ei'],
  ['8Ei', '9223372036854775807'],
  ['9Ei', '9223372036854775807'],
  ['100Ei', '9223372036854775807'],
  ['-9Ei', '-9223372036854775807'],
  ['99999999999Gi', '9223372036854775807'],
  ['9999999999', '9999999999'],
  ['0Mi', '0'],
  ['0Ki', '0'],
  ['0m', '0'],
  ['-0', '0'],
  ['00', '0'],
  ['0100m', '0100m'],
  ['0100Pi', '100Pi'],
  ['+1', '+1'],
  ['+100m', '+100m'],
  ['+1000m', '1'],
  ['+1Pi', '1Pi'],
  ['-1', '-1'],
  ['-100m', '-100m'],
  ['-1000m', '-1'],
  ['-1Ki', '-1Ki'],
  ['-1024Mi', '-1Gi'],
  ['-0.5', '-500m'],
  ['-0.1n', '-1n'],
  ['1n', '1n'],
  ['1000n', '1u'],
  ['1u', '1u'],
  ['1500u', '1500u'],
  ['1000000000n', '1'],
  ['0.1n', '1n'],
  ['1.1n', '2n'],
  ['0.0000000001', '1n'],
  ['123456789.0123456789', '123456789012345679n'],
  ['1e3', '1e3'],
  ['1E3', '1E3'],
  ['10e2', '1e3'],
  ['100e3', '100e3'],
  ['1000e0', '1e3'],
  ['1e0', '1e0'],
  ['1.5e3', '1500'],
  ['1e-3', '1e-3'],
  ['1e-9', '1e-9'],
  ['1e-10', '1e-9'],
  ['1.5e-9', '2e-9'],
  ['1e+3', '1e+3'],
  ['12e6', '12e6'],
  ['1e21', '1e21'],
  ['1000000000000000000', '1E'],
  ['9223372036854775807', '9223372036854775807'],
  ['9223372036854775808', '9223372036854775808'],
  ['123456789012345678901234567890', '123456789012345678901234567890'],
  ['123456789012345678901234567890Ki', '9223372036854775807'],
  ['123456789012345678901234567890e6', '123456789012345678901234567890e6'],
  [' 1000m ', '1'],
  ['.', '0'],
  ['-', '0'],
  ['e5', '0'],
  ['m', '0'],
  ['Ki', '0'],
];

const refused: readonly string[] = [
  '',
  'abc',
  '1x',
  '1K',
  '1mi',
  '1ki',
  '1kk',
  '1Kib',
  '1i',
  '1e',
  '1ee3',
  '1e3.5',
  '1e1_000',
  '1e+',
  '1.2.3',
  '1 000',
  '1,5',
  '--1',
  '+-1',
  '1-',
  'Infinity',
  'NaN',
  '0x10',
  'Pi',
  '1m5',
  '1e99999999999999999999',
  '１',
];

describe('canonicalQuantity', () => {
  it.each(formats)('formats %j as Go does: %j', (input, canonical) => {
    expect(canonicalQuantity(input)).toBe(canonical);
  });

  it.each(refused)('refuses %j as Go does', (input) => {
    expect(canonicalQuantity(input)).toBeUndefined();
  });

  it.each([
    [1, '1'],
    [0, '0'],
    [-2, '-2'],
    [0.5, '500m'],
    [1000, '1k'],
    [1e21, '1e+21'],
    [1e-7, '100e-9'],
  ] as const)('reads the number %j as its JSON text', (input, canonical) => {
    expect(canonicalQuantity(input)).toBe(canonical);
  });

  it.each([Number.NaN, Number.POSITIVE_INFINITY])('refuses the number %j', (input) => {
    expect(canonicalQuantity(input)).toBeUndefined();
  });

  it.each([
    ['a megabyte of digits', '9'.repeat(1 << 20)],
    ['a megabyte of zeros', '0'.repeat(1 << 20)],
    ['an exponent that only Go would try', '12345678901234567890e999999999'],
    ['an exponent down there', '1e-999999999'],
    ['an exponent beyond the bound', '1e1001'],
  ])('refuses %s without doing the arithmetic', (_name, input) => {
    expect(canonicalQuantity(input)).toBeUndefined();
  });

  it('takes an exponent at the bound', () => {
    expect(canonicalQuantity('12345678901234567890e1000')).toBe('123456789012345678900e999');
  });

  const plainText = tuple(
    constantFrom('', '', '-', '+'),
    stringMatching(/^[0-9]{0,22}$/),
    constantFrom('', '.', '.5', '.25', '.125', '.0001', '.000', '.123456789012'),
    constantFrom('', 'n', 'u', 'm', 'k', 'M', 'G', 'T', 'P', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei', 'e3', 'E4', 'e-5'),
  ).map((parts) => parts.join(''));

  it('is idempotent, except for a binary fraction: Go formats it as a number that parses as a decimal quantity', () => {
    expect(['937.5Ki', '960000'].map(canonicalQuantity)).toEqual(['960000', '960k']);
    assert(
      property(plainText, (text) => {
        const once = canonicalQuantity(text);
        pre(once !== undefined && !/\..*i$/.test(text));
        expect(canonicalQuantity(once)).toBe(once);
      }),
    );
  });

  it('keeps the value', () => {
    assert(
      property(plainText, (text) => {
        const canonical = canonicalQuantity(text);
        pre(canonical !== undefined);
        expect(quantityNanos(canonical)).toBe(quantityNanos(text));
      }),
    );
  });
});

describe('compareQuantities', () => {
  it.each([
    ['1', '1000m', 0],
    ['1', '1001m', -1],
    ['1Gi', '1G', 1],
    ['-1', '0', -1],
    ['1', 'one', undefined],
    ['', '1', undefined],
  ])('%s and %s: %s', (a, b, expected) => {
    expect(compareQuantities(a, b)).toBe(expected);
  });
});

describe('quantityValue', () => {
  it.each([
    ['64Mi', 67_108_864, 67_108_864_000],
    ['1500m', 2, 1500],
    ['1u', 1, 1],
    ['-1500m', -2, -1500],
    [3, 3, 3000],
    ['much', undefined, undefined],
  ])('%s: %s, %s', (input, value, milliValue) => {
    expect(quantityValue(input)).toBe(value);
    expect(quantityValue(input, 'm')).toBe(milliValue);
  });
});

describe('addParsedQuantities', () => {
  it.each([
    ['1Gi', '512Mi', '1536Mi'],
    ['500m', '500m', '1'],
    ['0', '1Gi', '1Gi'],
    [1, '250m', '1250m'],
  ])('%s and %s: %s', (a, b, expected) => {
    expect(formatQuantity(addParsedQuantities(parseQuantity(a)!, parseQuantity(b)!))).toBe(expected);
  });
});

describe('quantitiesEqual', () => {
  it.each([
    ['1', '1000m'],
    ['1Gi', '1024Mi'],
    ['1e3', '1k'],
    ['0', '0Mi'],
    ['-1', '-1000m'],
    ['0.1n', '1n'],
    ['9Ei', '100Ei'],
    ['1e1000', '10e999'],
    ['abc', 'abc'],
  ])('%s equals %s', (a, b) => {
    expect(quantitiesEqual(a, b)).toBe(true);
    expect(quantitiesEqual(b, a)).toBe(true);
  });

  it.each([
    ['1', '2'],
    ['1', '-1'],
    ['1G', '1Gi'],
    ['9223372036854775807', '9223372036854775808'],
    ['abc', 'abd'],
    ['1', 'abc'],
    ['', '0'],
  ])('%s does not equal %s', (a, b) => {
    expect(quantitiesEqual(a, b)).toBe(false);
    expect(quantitiesEqual(b, a)).toBe(false);
  });
});

describe('quantityNanos', () => {
  it.each([
    ['1', 1_000_000_000n],
    ['1n', 1n],
    ['-1.5', -1_500_000_000n],
    ['1Ki', 1_024_000_000_000n],
    ['0.0000000001', 1n],
    ['x', undefined],
  ] as const)('%s is %s', (input, nanos) => {
    expect(quantityNanos(input)).toBe(nanos);
  });
});
