import { access, constants, mkdir, rm, symlink } from 'node:fs/promises';
import { resolve } from 'node:path';
import { moduleOf, pathOf, type Program, programsFolder, sourceOf } from './programs.ts';
import { CommandError, runCommand } from '../support/run-command.ts';

/**
 * Links a program from one of the folders into the cache, if it has been built from the module with the checksum, or
 * if it says that it has the version.
 *
 * @returns the folder; undefined if none has the program
 */
export async function takeProgram(program: Program, folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders) {
    const file = resolve(folder, program.name);
    if (!(await isProgram(file, program))) continue;
    await mkdir(programsFolder(program.version), { recursive: true });
    await rm(pathOf(program), { force: true });
    await symlink(file, pathOf(program));
    return folder;
  }
  return undefined;
}

async function isProgram(file: string, program: Program): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return isBuiltFrom(await runCommand('go', ['version', '-m', file], { cwd: '/' }), program);
  } catch (error) {
    if (error instanceof CommandError || (error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

/** @param buildInfo of a Go program: `go version -m` */
export function isBuiltFrom(buildInfo: string, program: Program): boolean {
  const { module, version, sum } = moduleOf(program);
  // The program of a test has no modules in its information.
  return (
    buildInfo.includes([module, version, sum].join('\t')) ||
    (sourceOf(program).isTest === true && buildInfo.includes(`.gitVersion=v${program.version} `))
  );
}
