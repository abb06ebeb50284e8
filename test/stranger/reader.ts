import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pastedBlocks } from './pasted-blocks.ts';
import { RunningCommand, shellEnvironment } from './running-command.ts';

/** Commands of the documents that run until they are stopped → what they print when they are up. */
const longRunning: readonly (readonly [command: RegExp, printed: string])[] = [
  [/npm start/, '"phase":"Running"'],
  [/npm run provider|node provider\.mjs/, 'Watching the pods of node-a'],
  [/node virtual-nodes\.mjs/, 'Running pods for cloud-a'],
  [/kubelet-status-manager-apiserver/, 'Running node'],
];

/** Reads a document with two terminals: one for what runs until it is stopped, one for the rest. */
export class Reader {
  #folder: string;
  readonly #workFolder: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #report: (seconds: number, commands: string) => void;

  /**
   * @param workFolder where to put files of its own
   * @param folder the first working directory; a block may change it
   */
  constructor(workFolder: string, folder: string, report: (seconds: number, commands: string) => void) {
    this.#workFolder = workFolder;
    this.#folder = folder;
    // The demo keeps its files in the home folder.
    this.#env = { ...shellEnvironment(), HOME: workFolder };
    this.#report = report;
  }

  /** Pastes every block. @throws Error with the output of the first one that fails */
  async follow(document: string): Promise<void> {
    let running: RunningCommand | undefined;
    try {
      for (const block of pastedBlocks(document)) {
        if (block.kind === 'file') {
          writeFileSync(join(this.#folder, block.name), block.code);
          continue;
        }
        const startedMs = Date.now();
        const [, printed] = longRunning.find(([command]) => command.test(block.commands)) ?? [];
        if (printed === undefined) this.#run(block.commands);
        else {
          await running?.stop();
          running = new RunningCommand(block.commands, this.#folder, this.#env);
          await running.untilPrinted(printed);
        }
        this.#report((Date.now() - startedMs) / 1_000, block.commands);
      }
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${running?.output ?? ''}`, { cause: error });
    } finally {
      await running?.stop();
    }
  }

  #run(commands: string): void {
    const file = join(this.#workFolder, 'working-directory');
    const script = `set -e\n${commands}\npwd > '${file}'`;
    execFileSync('/bin/sh', ['-c', script], { cwd: this.#folder, encoding: 'utf8', env: this.#env });
    this.#folder = readFileSync(file, 'utf8').trim();
  }
}
