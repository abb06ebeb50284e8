// Adds up the results in a folder that .ci/run filled: `checks` (`passed`, `skipped` or `failed NAME`, a line each)
// and vitest's JSON reports. Names what failed.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';

const folder = process.argv[2] ?? '.';
const count = { passed: 0, failed: 0, skipped: 0 };

for (const line of readFileSync(path.join(folder, 'checks'), 'utf8').split('\n').filter(Boolean)) {
  const [result, ...name] = line.split(' ');
  count[result] += 1;
  if (result === 'failed') console.log(`failed: ${name.join(' ')}`);
}
for (const file of readdirSync(folder).filter((name) => /^vitest-\d+\.json$/.test(name))) {
  const report = JSON.parse(readFileSync(path.join(folder, file), 'utf8'));
  count.passed += report.numPassedTests;
  count.failed += report.numFailedTests;
  count.skipped += report.numPendingTests + report.numTodoTests;
  for (const { name, assertionResults } of report.testResults) {
    for (const { fullName, status } of assertionResults) {
      if (status === 'failed') console.log(`failed: ${path.relative('.', name)}: ${fullName}`);
    }
  }
}

console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`);
process.exitCode = count.failed === 0 && count.passed > 0 ? 0 : 1;
