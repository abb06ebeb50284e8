import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** An export of package.json: a module with its report in `api/`. */
export interface EntryPoint {
  /** As in `api/NAME.api.md`. */
  readonly name: string;
  readonly types: string;
  readonly module: string;
}

/** More symbols than this are not reviewed any more, neither by us nor by a reader. */
const maxExports = 203;

/** For contributors: what they name is not thereby for users. */
const internalDocuments = /^docs\/(internals\/|parity\.md$)/;

/** The names of the functions, classes and constants that an entry point exports. */
export async function valuesOf(root: string, { module }: EntryPoint): Promise<string[]> {
  return Object.keys((await import(pathToFileURL(join(root, module)).href)) as object);
}

/** Prints the number of exports of each entry point. @returns what is wrong with the public surface */
export async function checkSurface(root: string, entryPoints: readonly EntryPoint[]): Promise<string[]> {
  const reports = entryPoints.map(({ name }) => declarationsIn(join(root, 'api', `${name}.api.md`)));
  const counts = reports.map((declarations) => declarations.size);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const list = entryPoints.map(({ name }, index) => `${name} ${counts[index]}`).join(', ');
  console.log(`Exports: ${total} of at most ${maxExports} (${list})`);

  const texts = textsForUsers(root);
  const problems = total > maxExports ? [`${total} exports are more than ${maxExports}.`] : [];
  for (const [index, declarations] of reports.entries()) {
    const values = new Set(await valuesOf(root, entryPoints[index]!));
    for (const name of declarations.keys()) {
      const isNamed = (text: string): boolean => new RegExp(`\\b${name}\\b`).test(text);
      const isInSignature = (): boolean =>
        reports.some((others) => [...others].some(([other, text]) => other !== name && isNamed(text)));
      if (texts.some(isNamed) || (!values.has(name) && isInSignature())) continue;
      problems.push(`${entryPoints[index]!.name} exports ${name}, which no document, example or signature uses.`);
    }
  }
  return problems;
}

/** Name of each exported symbol → its declaration in the report. */
function declarationsIn(report: string): Map<string, string> {
  const [, code = ''] = readFileSync(report, 'utf8').split('```');
  const declarations = new Map<string, string>();
  for (const text of code.split(/^\/\/ @(?:public|internal)/m)) {
    const [, , name] = /^export (declare )?(?:const|class|function|interface|type) (\w+)/m.exec(text) ?? [];
    // A name that TypeScript also knows is exported as another one.
    const [, renamed] = /^export \{ \w+ as (\w+) \}/m.exec(text) ?? [];
    const exported = name ?? renamed;
    if (exported !== undefined) declarations.set(exported, text);
  }
  return declarations;
}

function textsForUsers(root: string): string[] {
  const files = (folder: string, pattern: RegExp): string[] =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => pattern.test(path))
      .map((path) => `${folder}/${path.replaceAll('\\', '/')}`);
  return ['README.md', ...files('docs', /\.md$/), ...files('examples', /\.(md|ts|mjs)$/)]
    .filter((path) => !internalDocuments.test(path))
    .map((path) => readFileSync(join(root, path), 'utf8'));
}
