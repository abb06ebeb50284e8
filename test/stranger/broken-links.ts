import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Links in the Markdown files of an installed package to files that it does not contain; it has no pictures. */
export function brokenLinks(packageFolder: string): string[] {
  return readdirSync(packageFolder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !file.includes('node_modules'))
    .flatMap((file) => {
      const links = [
        ...readFileSync(join(packageFolder, file), 'utf8').matchAll(/(?<!!\[[^\]]*)\]\(([^)\s#]+)(?:#[^)]*)?\)/g),
      ];
      return links
        .map(([, target]) => target!)
        .filter((target) => !/^\w+:/.test(target) && !existsSync(join(packageFolder, dirname(file), target)))
        .map((target) => `${file} → ${target}`);
    });
}
