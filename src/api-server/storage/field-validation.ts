import { invalidOptions } from '../api-status.ts';
import { unsupportedValue } from '../../kube/validation/field-error.ts';

/** What happens to unknown and duplicate fields of a body. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

const supported = ['', 'Ignore', 'Strict', 'Warn'];

/**
 * The `fieldValidation` parameter; the default is Warn.
 * @param options the kind of options in error messages: `CreateOptions`
 * @throws APIStatusError 422
 */
export function parseFieldValidation(query: URLSearchParams, options: string): FieldValidation {
  const value = query.get('fieldValidation') ?? '';
  if (!supported.includes(value)) {
    throw invalidOptions(options, unsupportedValue('fieldValidation', value, supported));
  }
  return value === '' ? 'Warn' : (value as FieldValidation);
}

/**
 * Paths of duplicate fields in the text: `spec.containers[0].image`.
 * @param value the parsed text
 */
export function duplicateFields(text: string, value: unknown): string[] {
  let colons = 0;
  for (const [one] of text.matchAll(token)) if (one === ':') colons++;
  return colons === fieldCount(value) ? [] : findDuplicates(text);
}

function fieldCount(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  const children: readonly unknown[] = Object.values(value);
  return children.reduce<number>((sum, child) => sum + fieldCount(child), Array.isArray(value) ? 0 : children.length);
}

const token = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

interface Frame {
  /** The names seen in an object; absent in a list. */
  readonly names?: Set<string>;
  step: string | number;
}

/** @param text valid JSON */
function findDuplicates(text: string): string[] {
  const found: string[] = [];
  const frames: Frame[] = [];
  let last = '';
  for (const [one] of text.matchAll(token)) {
    const frame = frames.at(-1);
    if (one === '{') frames.push({ names: new Set(), step: '' });
    else if (one === '[') frames.push({ step: 0 });
    else if (one === '}' || one === ']') frames.pop();
    else if (one === ',' && frame?.names === undefined && frame !== undefined) frame.step = Number(frame.step) + 1;
    else if (one === ':' && frame?.names !== undefined) {
      frame.step = JSON.parse(last) as string;
      if (frame.names.has(frame.step)) found.push(pathOf(frames));
      frame.names.add(frame.step);
    }
    last = one;
  }
  return [...new Set(found)];
}

function pathOf(frames: readonly Frame[]): string {
  return frames.map(({ step }, i) => (typeof step === 'number' ? `[${step}]` : i === 0 ? step : `.${step}`)).join('');
}
