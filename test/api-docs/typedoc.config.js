import { readFileSync } from 'node:fs';

const { exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

/** The API reference as a static site in dist/api-docs: one module for each export of package.json. */
// oxlint-disable-next-line import/no-default-export -- typedoc wants it
export default {
  name: 'kubelet-status-manager',
  entryPoints: Object.values(exports).flatMap(({ types }) => (types === undefined ? [] : [`../../${types}`])),
  tsconfig: 'tsconfig.json',
  out: '../../dist/api-docs',
  readme: 'none',
  disableSources: true,
  excludePrivate: true,
  treatValidationWarningsAsErrors: true,
  requiredToBeDocumented: ['Variable', 'Function', 'Class', 'Interface', 'TypeAlias', 'Method', 'Accessor'],
  validation: { notDocumented: true, notExported: false, invalidLink: true, rewrittenLink: true },
};
