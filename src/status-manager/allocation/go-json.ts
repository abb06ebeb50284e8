import { compareUTF8 } from '../status/utf8.ts';

const goEscaped: Readonly<Record<string, string>> = {
  '<': '\\u003c',
  '>': '\\u003e',
  '&': '\\u0026',
  '\u2028': '\\u2028',
  '\u2029': '\\u2029',
};

/** A JSON string in the bytes of Go's `json.Marshal`. */
export function goString(text: string): string {
  return JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, (character) => goEscaped[character]!);
}

/** A Go struct: members in the order given; those whose JSON text is undefined are left out. */
export function goStruct(members: readonly (readonly [name: string, json: string | undefined])[]): string {
  const written = members.filter(([, json]) => json !== undefined);
  return `{${written.map(([name, json]) => `${goString(name)}:${json}`).join(',')}}`;
}

/** A Go map: its keys sorted by their bytes. */
export function goMap<T>(entries: Iterable<readonly [string, T]>, encode: (value: T) => string): string {
  const sorted = [...entries].sort(([a], [b]) => compareUTF8(a, b));
  return goStruct(sorted.map(([key, value]) => [key, encode(value)]));
}
