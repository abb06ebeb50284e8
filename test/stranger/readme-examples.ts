/** A complete example of the README: what a reader types, and the file that they save. */
export interface ReadmeExample {
  readonly title: string;
  /** Lines of the shell block, in order. */
  readonly commands: readonly string[];
  /** The file name in backticks before the code. */
  readonly file: string;
  readonly code: string;
}

/** The examples below `## Three examples`, one for each `###` heading. */
export function readmeExamples(readme: string): ReadmeExample[] {
  const [, section = ''] = readme.split(/^## Three examples$/m);
  const [examples = ''] = section.split(/^## /m);
  return examples
    .split(/^### /m)
    .slice(1)
    .map((text) => ({
      title: text.split('\n')[0]!,
      commands: (/^```sh\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? '').trim().split('\n'),
      file: /`([\w.]+\.mjs)`/.exec(text)?.[1] ?? '',
      code: /^```ts\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? '',
    }));
}
