import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { GoModule } from './go-module.ts';
import { pathOf, programsFolder, type Program, sourceOf } from './programs.ts';
import { runCommand } from '../support/run-command.ts';

/** Of the image registry.k8s.io/pause. */
const pauseVersion = '3.10.2';

export interface BuildProgress {
  /** @param total how many packages are compiled unless they have been before */
  begin(total: number): void;
  advance(): void;
}

/** Builds programs of one version, one after the other. */
export class Builder {
  readonly #module: GoModule;
  readonly #version: string;
  /** The packages of the programs that are built. */
  readonly #compiled = new Set<string>();

  constructor(module: GoModule, version: string) {
    this.#module = module;
    this.#version = version;
  }

  /** @throws CommandError */
  async build(program: Program, progress: BuildProgress): Promise<void> {
    const path = pathOf(program);
    const unfinished = `${path}.${process.pid}`;
    await mkdir(programsFolder(program.version), { recursive: true });
    try {
      await this.#compile(program, unfinished, progress);
      await rename(unfinished, path);
    } finally {
      await rm(unfinished, { force: true });
    }
  }

  async #compile(program: Program, output: string, progress: BuildProgress): Promise<void> {
    const { package: name, isTest = false } = sourceOf(program);
    if (name === undefined) {
      const source = join(this.#module.sources, 'build', 'pause', 'linux', 'pause.c');
      await this.#run('gcc', ['-Os', '-static', `-DVERSION=v${pauseVersion}`, '-o', output, source]);
      return;
    }
    const deps = ['list', '-mod=readonly', '-deps', ...(isTest ? ['-test'] : []), name];
    const packages = (await this.#run('go', deps)).split('\n').filter(Boolean);
    const missing = packages.filter((each) => !this.#compiled.has(each));
    progress.begin(missing.length);
    const flags = ['-mod=readonly', '-trimpath', '-ldflags', this.#linkerFlags()];
    // Prints its commands, because `go test` has no way to print what it compiles.
    const compile = [...(isTest ? ['test', '-c'] : ['build']), '-x'];
    await this.#run('go', [...compile, ...flags, '-o', output, name], (line) => {
      if (/^\S+\/compile /.test(line)) progress.advance();
      return !/^go: |^\S+\.go:\d/.test(line);
    });
    for (const each of missing) this.#compiled.add(each);
  }

  /** Without tables of symbols, and with the version that the programs show. */
  #linkerFlags(): string {
    const [major, minor] = this.#version.split('.');
    const values = { gitVersion: `v${this.#version}`, gitMajor: major, gitMinor: minor };
    const settings = Object.entries(values).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`);
    return ['-s', '-w', ...settings].join(' ');
  }

  #run(program: string, args: readonly string[], onLine?: (line: string) => boolean): Promise<string> {
    // Without C, so that the programs run in images that have no libraries.
    return runCommand(program, args, {
      cwd: this.#module.folder,
      env: { CGO_ENABLED: '0', GOWORK: 'off' },
      ...(onLine !== undefined && { onLine }),
    });
  }
}
