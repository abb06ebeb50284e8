// check-release.mjs TAG REPOSITORY: fails when package.json and CHANGELOG.md are not ready for this release.
// check-release.mjs --notes: prints the section of CHANGELOG.md for the version of package.json.
import { readFileSync } from 'node:fs';

const { version, repository } = JSON.parse(readFileSync('package.json', 'utf8'));
const [, notes] =
  readFileSync('CHANGELOG.md', 'utf8').split(
    new RegExp(String.raw`^## \[?${version.replaceAll('.', '\\.')}\b.*$`, 'm'),
  ) ?? [];
const section = notes?.split(/^## /m)[0].trim();

if (process.argv[2] === '--notes') {
  console.log(section);
} else {
  const [tag, repositoryName] = process.argv.slice(2);
  const address = typeof repository === 'string' ? repository : repository?.url;
  const problems = [
    tag === `v${version}` ? undefined : `The tag is ${tag}, and package.json has version ${version}`,
    section ? undefined : `CHANGELOG.md has no section "## ${version}"`,
    address?.includes(repositoryName)
      ? undefined
      : `package.json needs "repository": "github:${repositoryName}", without which npm refuses provenance`,
  ].filter((problem) => problem !== undefined);
  for (const problem of problems) console.error(problem);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
