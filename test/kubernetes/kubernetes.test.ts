import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { readSpecList } from '../conformance/spec-list.ts';
import { TestDirectories } from '../support/directories.ts';
import { repository } from '../support/repository.ts';
import { goModOf, goSumOf } from './go-module.ts';
import { moduleOf, pathOf, programsFolder, programsOf, setNames, titleOf } from './programs.ts';
import { isBuiltFrom } from './take-program.ts';
import { kubeletVersion, readChecksum, versions } from './versions.ts';

const directories = new TestDirectories();
afterEach(() => directories.removeAll());

describe('versions.json', () => {
  it.each(Object.entries(versions))('has the checksums of %s, each once', (version, lines) => {
    const keys = lines.map(readChecksum).map(({ module, version }) => `${module} ${version}`);
    expect(new Set(keys).size).toBe(keys.length);
    expect(keys).toContain(`k8s.io/kubernetes v${version}`);
    expect(keys).toContain(`k8s.io/api v0${version.slice(1)}/go.mod`);
    for (const { sum } of lines.map(readChecksum)) expect(sum).toMatch(/^h1:[\w+/]{43}=$/);
  });

  it('has the version of the kubelet with which the specs were recorded first', async () => {
    expect(`v${kubeletVersion}`).toBe((await readSpecList()).kubelet);
  });

  it('has the module of every program', () => {
    expect(programsOf(setNames).map((program) => moduleOf(program).sum)).not.toContain('');
  });
});

describe('what is built', () => {
  it.each([
    { sets: ['api-servers'], only: undefined, count: 1 + Object.keys(versions).length },
    { sets: ['api-servers'], only: [kubeletVersion], count: 2 },
    { sets: ['api-servers', 'node'], only: [kubeletVersion], count: 7 },
  ] as const)('for $sets, of the versions $only, is $count programs', ({ sets, only, count }) => {
    const titles = programsOf(sets, only).map(titleOf);
    expect(titles).toHaveLength(count);
    expect(new Set(titles).size).toBe(count);
  });

  it('replaces the folders that only the repository of Kubernetes has by published modules', () => {
    const ours = goModOf(
      'module k8s.io/kubernetes\n\nreplace (\n\tk8s.io/api => ./staging/src/k8s.io/api\n)\n',
      '1.33.13',
    );
    expect(ours).toBe(
      'module programs\n\nreplace (\n\tk8s.io/api => k8s.io/api v0.33.13\n)\n\nrequire k8s.io/kubernetes v1.33.13\n',
    );
  });

  it('has to have our checksum where that of Kubernetes is another one', () => {
    const theirs = 'a v1 h1:theirs\na v1/go.mod h1:theirs\nb v1 h1:theirs\n';
    expect(goSumOf(theirs, ['a v1 h1:ours'])).toBe('a v1/go.mod h1:theirs\nb v1 h1:theirs\na v1 h1:ours\n');
  });

  const [kubelet, e2e] = (['kubelet', 'e2e.test'] as const).map((name) => ({ name, version: kubeletVersion }));
  const { module, version, sum } = moduleOf(kubelet!);
  it.each([
    { what: 'the module', program: kubelet, information: `\tdep\t${module}\t${version}\t${sum}\n`, expected: true },
    {
      what: 'another checksum',
      program: kubelet,
      information: `\tdep\t${module}\t${version}\th1:x\n`,
      expected: false,
    },
    { what: 'its version only', program: kubelet, information: `-X v.gitVersion=${version} -s`, expected: false },
    { what: 'its version, a test', program: e2e, information: `-X v.gitVersion=${version} -s`, expected: true },
    { what: 'another version, a test', program: e2e, information: '-X v.gitVersion=v1.0.0 -s', expected: false },
  ])('is taken from a folder where it names $what: $expected', ({ program, information, expected }) => {
    expect(isBuiltFrom(information, program!)).toBe(expected);
  });
});

const main = join(repository, 'dist/test/kubernetes/main.js');
describe.skipIf(!existsSync(main))('npm run kubernetes (skipped before `npm run build`)', () => {
  /** @param go the script in place of the program; undefined: there is none */
  function run(args: readonly string[], { go, cache = directories.create() }: { go?: string; cache?: string } = {}) {
    const programs = directories.create();
    symlinkSync('/bin/sh', join(programs, 'sh'));
    symlinkSync('/bin/cat', join(programs, 'cat'));
    if (go !== undefined) writeFileSync(join(programs, 'go'), `#!/bin/sh\n${go}\n`, { mode: 0o755 });
    const env = { ...process.env, PATH: programs, XDG_CACHE_HOME: cache };
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, ...args], { encoding: 'utf8', env });
    return { status, stdout, stderr, cache };
  }

  it('names a missing tool with its package', () => {
    const { status, stderr } = run(['api-servers']);
    expect(stderr).toMatch(/^- go 1\.21 or newer \(package: golang-go/m);
    expect(status).toBe(2);
  });

  it('names a Go that is too old, and a missing compiler of C where it is needed', () => {
    const { status, stderr } = run(['node'], { go: 'echo go1.19.8' });
    expect(stderr).toMatch(/^- go .*: this one is go1\.19\.8$/m);
    expect(stderr).toMatch(/^- gcc \(packages: gcc, libc6-dev\)$/m);
    expect(status).toBe(2);
  });

  it('gives Go the checksums, and builds nothing from a module that has another one', () => {
    const go = `[ "$1" != env ] || { echo go1.26.0; exit; }
      cat go.sum >"$XDG_CACHE_HOME/seen"
      echo 'verifying k8s.io/kubernetes@v${kubeletVersion}: checksum mismatch' >&2; exit 1`;
    const { status, stdout, stderr, cache } = run(['api-servers'], { go });
    expect(readFileSync(join(cache, 'seen'), 'utf8')).toBe(
      versions[kubeletVersion]!.map((line) => `${line}\n`).join(''),
    );
    expect(stderr).toContain(`verifying k8s.io/kubernetes@v${kubeletVersion}: checksum mismatch`);
    expect(stdout).toBe('');
    expect(status).toBe(1);
  });

  it('needs no tool and starts nothing if all programs are there, and prints the folders', () => {
    const cache = directories.create();
    vi.stubEnv('XDG_CACHE_HOME', cache);
    onTestFinished(() => void vi.unstubAllEnvs());
    for (const program of programsOf(['api-servers'])) {
      mkdirSync(programsFolder(program.version), { recursive: true });
      writeFileSync(pathOf(program), program.name);
    }
    const { status, stdout, stderr } = run(['api-servers'], { cache });
    const folders = Object.keys(versions).map((version) => programsFolder(version));
    expect({ status, stderr, folders: stdout.trim().split('\n') }).toEqual({ status: 0, stderr: '', folders });
    // One folder has both, as KUBEBUILDER_ASSETS wants it.
    for (const folder of folders) expect(readFileSync(join(folder, 'etcd'), 'utf8')).toBe('etcd');
  });

  it.each([
    { args: ['--help'], status: 0, output: /Exit code: 0 all programs are there/ },
    { args: ['--list'], status: 0, output: /^kubelet 1\.\d+\.\d+ +node, conformance +missing$/m },
    { args: ['kubelets'], status: 2, output: /Allowed choices are api-servers, node, conformance/ },
    { args: ['--api-server', '1.2.3'], status: 2, output: /Expected one of 1\.\d+\.\d+, / },
  ])('$args says what there is', ({ args, status, output }) => {
    const result = run(args);
    expect(result.stdout + result.stderr).toMatch(output);
    expect(result.status).toBe(status);
  });
});
