import '../support/ignore-closed-output.ts';
import { styleText } from 'node:util';
import { Argument, Command, InvalidArgumentError } from 'commander';
import { Progress } from '../support/progress.ts';
import { Builder } from './build.ts';
import { describePrograms } from './describe-programs.ts';
import { findChecksums, type GoModule, writeGoModule } from './go-module.ts';
import {
  isPresent,
  linkEtcd,
  moduleFolder,
  type Program,
  programsFolder,
  programsOf,
  type SetName,
  setNames,
  sourceOf,
  titleOf,
} from './programs.ts';
import { missingTools } from './required-tools.ts';
import { CommandError } from '../support/run-command.ts';
import { exitAfterUsage } from '../support/exit-after-usage.ts';
import { takeProgram } from './take-program.ts';
import { versions, versionsFile, writeVersions } from './versions.ts';

interface Options {
  readonly apiServer?: readonly string[];
  readonly from: readonly string[];
  readonly list: boolean;
  readonly writeChecksums: boolean;
}

const program = new Command('npm run kubernetes --')
  .description(
    `Gets the programs of Kubernetes for tests, benchmarks and comparisons: builds them from their Go modules, at the versions and checksums of ${versionsFile}, into a cache folder, which it prints. It takes half an hour, and no time if they are there.`,
  )
  .addArgument(new Argument('[for...]', 'what they are for').choices(setNames).default(setNames, 'everything'))
  .option('--api-server <version>', 'only this version of kube-apiserver for api-servers; can be repeated', readVersion)
  .option('--from <folder>', 'take programs of the same version from there instead; can be repeated', append, [])
  .option('--list', 'only print which programs there are', false)
  .option('--write-checksums', `write ${versionsFile} anew, after a change of the versions in it`, false)
  .addHelpText(
    'after',
    '\nExit code: 0 all programs are there, 1 one could not be built, 2 wrong usage or a missing tool.',
  )
  .exitOverride(exitAfterUsage);

async function main(): Promise<number> {
  const options = program.parse().opts<Options>();
  const wanted = programsOf(program.processedArgs[0] as SetName[], options.apiServer);
  if (options.list) {
    process.stdout.write(describePrograms(wanted));
    return 0;
  }
  const missing = wanted.filter((one) => !isPresent(one));
  if (missing.length > 0 || options.writeChecksums) {
    const tools = missingTools({ needsC: missing.some((one) => sourceOf(one).package === undefined) });
    if (tools.length > 0) {
      say(`Cannot run here. Missing:\n${tools.map((tool) => `- ${tool}\n`).join('')}`);
      return 2;
    }
  }
  const progress = new Progress();
  try {
    if (options.writeChecksums) await writeChecksums(progress);
    else await build(await take(missing, options.from), progress);
  } catch (error) {
    progress.end();
    if (!(error instanceof CommandError)) throw error;
    say(`${error.message}\n`);
    return 1;
  }
  for (const version of new Set(wanted.map((one) => one.version))) {
    linkEtcd(version);
    process.stdout.write(`${programsFolder(version)}\n`);
  }
  return 0;
}

/** Takes programs from other folders. Resolves with the others. */
async function take(missing: readonly Program[], folders: readonly string[]): Promise<Program[]> {
  const rest: Program[] = [];
  for (const one of missing) {
    const folder = await takeProgram(one, folders);
    if (folder === undefined) rest.push(one);
    else done(one, `is that of ${folder}`);
  }
  return rest;
}

async function build(missing: readonly Program[], progress: Progress): Promise<void> {
  for (const version of new Set(missing.map((one) => one.version))) {
    const builder = new Builder(await writeModule(version, progress), version);
    for (const one of missing.filter((each) => each.version === version)) {
      const startedAtMs = Date.now();
      const name = titleOf(one);
      progress.begin(`${name}, downloading`);
      await builder.build(one, {
        begin: (total) => progress.begin(`${name}, compiled packages`, total),
        advance: () => progress.advance(),
      });
      progress.end();
      done(one, `built in ${Math.ceil((Date.now() - startedAtMs) / 1000)} s`);
    }
  }
}

async function writeChecksums(progress: Progress): Promise<void> {
  const changed: Record<string, readonly string[]> = {};
  for (const version of Object.keys(versions)) {
    const programs = programsOf(setNames).filter((one) => one.version === version);
    const module = await writeModule(version, progress);
    progress.begin(`checksums of ${version}`);
    changed[version] = await findChecksums(module, programs.map(sourceOf));
  }
  progress.end();
  writeVersions(changed);
}

function writeModule(version: string, progress: Progress): Promise<GoModule> {
  progress.begin(`k8s.io/kubernetes ${version}, downloading`);
  return writeGoModule(moduleFolder(version), version, versions[version] ?? []);
}

function done(program: Program, how: string): void {
  const mark = process.stderr.isTTY ? styleText('green', '✓') : '✓';
  say(`${mark} ${titleOf(program)} ${how}\n`);
}

function say(text: string): void {
  process.stderr.write(text);
}

function append(value: string, values: readonly string[]): string[] {
  return [...values, value];
}

function readVersion(version: string, values: readonly string[] = []): string[] {
  if (versions[version] !== undefined) return append(version, values);
  throw new InvalidArgumentError(`Expected one of ${Object.keys(versions).join(', ')}.`);
}

process.exitCode = await main();
