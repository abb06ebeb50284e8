// Prints the lowest version of each package that the ranges of package.json permit, as arguments of npm install. The
// first version of a range is its lowest.
import { readFileSync } from 'node:fs';

const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
for (const [name, range] of Object.entries({ ...dependencies, ...peerDependencies })) {
  console.log(`${name}@${/\d+\.\d+\.\d+/.exec(range)[0]}`);
}
