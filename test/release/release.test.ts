import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';

const github = fileURLToPath(new URL('../../.github/', import.meta.url));

/** Runs check-release.mjs beside these files. */
function checkRelease(packageJSON: object, changelog: string, ...args: string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'release-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'package.json'), JSON.stringify(packageJSON));
  writeFileSync(join(folder, 'CHANGELOG.md'), changelog);
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(github, 'check-release.mjs'), ...args], {
    cwd: folder,
    encoding: 'utf8',
  });
  return { status, stdout: stdout.trim(), stderr };
}

const changelog = '# Changelog\n\n## [1.2.0] - 2026-12-01\n\nnew\n\n## [1.1.0] - 2026-11-01\n\nold\n';
const repository = 'github:someone/kubelet-status-manager';

describe('check-release.mjs', () => {
  it('is content when tag, package.json and CHANGELOG.md agree', () => {
    const result = checkRelease(
      { version: '1.2.0', repository },
      changelog,
      'v1.2.0',
      'someone/kubelet-status-manager',
    );
    expect(result).toEqual({ status: 0, stdout: '', stderr: '' });
  });

  it('names each thing that is missing', () => {
    const { status, stderr } = checkRelease({ version: '1.3.0' }, changelog, 'v1.2.0', 'someone/name');
    expect(status).toBe(1);
    expect(stderr).toContain('The tag is v1.2.0, and package.json has version 1.3.0');
    expect(stderr).toContain('CHANGELOG.md has no section "## 1.3.0"');
    expect(stderr).toContain('package.json needs "repository": "github:someone/name"');
  });

  it('prints the section of the version as the notes of the release', () => {
    expect(checkRelease({ version: '1.2.0', repository }, changelog, '--notes').stdout).toBe('new');
  });
});

describe('.github', () => {
  const files = readdirSync(github, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.yml'));

  it.each(files)('%s is YAML, and its actions are pinned to a commit', (file) => {
    const text = readFileSync(join(github, file), 'utf8');
    expect(parse(text)).toBeTypeOf('object');
    const uses = [...text.matchAll(/uses: (\S+)/g)].map(([, action]) => action!);
    expect(uses.filter((action) => !/@[0-9a-f]{40}$/.test(action))).toEqual([]);
  });
});
