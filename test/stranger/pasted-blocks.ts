/** What a reader of a document pastes: a file to save, or lines for a shell. */
export type PastedBlock =
  | { readonly kind: 'file'; readonly name: string; readonly code: string }
  | { readonly kind: 'shell'; readonly commands: string };

/** The shell blocks of a document in order, and its TypeScript blocks that begin with the name of a file. */
export function pastedBlocks(document: string): PastedBlock[] {
  return [...document.matchAll(/^```(sh|ts)\n([\s\S]*?)^```$/gm)].flatMap(([, language, text]): PastedBlock[] => {
    if (language === 'sh') return [{ kind: 'shell', commands: text! }];
    const name = /^\/\/ ([\w.-]+\.mjs)\n/.exec(text!)?.[1];
    return name === undefined ? [] : [{ kind: 'file', name, code: text! }];
  });
}
