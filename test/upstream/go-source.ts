import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The text of something by its name. */
export type Texts = ReadonlyMap<string, string>;

/** The Go files below a path of a folder, or one file: path → text. */
export function sourcesBelow(folder: string, path: string): Texts {
  if (/\.\w+$/.test(path)) return new Map([[path, readFileSync(join(folder, path), 'utf8')]]);
  const files = readdirSync(join(folder, path), { recursive: true, encoding: 'utf8' });
  const goFiles = files.filter((file) => file.endsWith('.go')).toSorted();
  return new Map(goFiles.map((file) => [join(path, file), readFileSync(join(folder, path, file), 'utf8')]));
}

/** The same text with spaces in place of comments, and with `withoutStrings` of strings, too: positions stay. */
function masked(text: string, withoutStrings: boolean): string {
  return text.replaceAll(/\/\/.*|\/\*[^]*?\*\/|"(?:[^"\\\n]|\\.)*"|`[^`]*`|'(?:[^'\\\n]|\\.)*'/g, (part) =>
    part.startsWith('/') || withoutStrings ? part.replaceAll(/[^\n]/g, ' ') : part,
  );
}

/** Without comments and the differences that gofmt makes. */
function plain(text: string): string {
  return masked(text, false).replaceAll(/\s+/g, ' ').trim();
}

/** Top-level functions and methods; those of one name, in several files, are one text. */
export function functionsOf(sources: Iterable<string>): Map<string, string> {
  const found = new Map<string, string>();
  for (const source of sources)
    for (const [text, name = ''] of masked(source, false).matchAll(/^func (?:\([^)]*\) )?(\w+)[[(][^]*?^}/gm))
      found.set(name, `${found.get(name) ?? ''}${text}`);
  return found;
}

/** Fields of structs by their Go names: type and JSON name; an embedded struct by its type. */
export function structsOf(source: string): Map<string, Texts> {
  const structs = new Map<string, Texts>();
  for (const [, name = '', body = ''] of masked(source, false).matchAll(/^type (\w+) struct \{([^]*?)^}/gm)) {
    const fields = [...body.matchAll(/^\t(\w+)\s+(\S.*)$/gm)].map(([, field = '', type = '']) => {
      const json = /json:"([^"]*)"/.exec(type)?.[1] ?? '';
      return [field, plain(`${type.replace(/`.*/, '')} ${json.replace(/,inline$/, '')}`)] as const;
    });
    structs.set(name, new Map(fields));
  }
  return structs;
}

/** The versions of each feature gate: `1.36 Beta on, 1.37 GA on`. */
export function featureGatesOf(source: string): Map<string, string> {
  const gates = new Map<string, string>();
  for (const [, name = '', body = ''] of source.matchAll(/^\t+(?:\w+\.)?(\w+): \{\n((?:\t+(?:\{|\/\/).*\n)+)/gm)) {
    const versions = body.matchAll(/MustParse\("([\d.]+)"\), Default: (true|false), PreRelease: (?:\w+\.)?(\w*)/g);
    const stages = Array.from(
      versions,
      ([, since, isOn, stage]) => `${since} ${stage || 'Alpha'} ${isOn === 'true' ? 'on' : 'off'}`,
    );
    if (stages.length > 0) gates.set(name, stages.join(', '));
  }
  return gates;
}

/** The fields of messages, the values of enums, and the methods of services. */
export function protoOf(source: string): Map<string, Texts> {
  const messages = new Map<string, Texts>();
  for (const [, name = '', body = ''] of masked(source, false).matchAll(
    /^(?:message|enum|service) (\w+) \{([^]*?)^}/gm,
  )) {
    const members = new Map<string, string>();
    for (const [text, field] of body.matchAll(/[\w.<>, ]+?\b(\w+)\s*=\s*\d+[^;]*;/g))
      members.set(field!, plain(text).replace(/;$/, ''));
    for (const [text, method] of body.matchAll(/rpc (\w+)\([^)]*\)[^{;]*/g)) members.set(method!, plain(text));
    messages.set(name, members);
  }
  return messages;
}

/** A name of a case: a field of a table, a key of a map, or the name of a subtest. */
const caseName =
  /(?:\b(?:name|testName|desc|description|caseName|tcName|testCase)\s*:\s*|\bt\.Run\(\s*)("(?:[^"\\\n]|\\.)*"|`[^`]*`)|^[\t ]*("(?:[^"\\\n]|\\.)*"):\s*(?=\{)/gm;

/** The cases of a test function by their names, as its subtests are called. */
export function testCasesOf(text: string): Map<string, string> {
  const braces = masked(text, true);
  const cases = new Map<string, string>();
  for (const match of text.matchAll(caseName)) {
    const name = (match[1] ?? match[2])!.slice(1, -1);
    const start = match[1] === undefined ? braces.indexOf('{', match.index) : blockStart(braces, match.index);
    cases.set(name, plain(text.slice(Math.max(0, start), blockEnd(braces, start))));
  }
  return cases;
}

/** The brace that opens the block around a position. */
function blockStart(braces: string, position: number): number {
  let depth = 0;
  for (let at = position; at >= 0; at--) {
    if (braces[at] === '}') depth++;
    else if (braces[at] === '{' && depth-- === 0) return at;
  }
  return 0;
}

function blockEnd(braces: string, start: number): number {
  let depth = 0;
  for (let at = start; at < braces.length; at++) {
    if (braces[at] === '{') depth++;
    else if (braces[at] === '}' && --depth === 0) return at + 1;
  }
  return braces.length;
}

/** Whether two functions are the same, comments and format aside. */
export function isSameCode(text: string, other: string): boolean {
  return plain(text) === plain(other);
}
