import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** What runs a virtual node, and how it learns of changes. */
export interface Side {
  readonly of: 'ours' | 'theirs';
  readonly mode: 'polls' | 'notifies';
  readonly command: readonly [string, ...string[]];
}

const restartMs = 1000;

/** The process of a virtual node. One that ends by itself is started again, as a Deployment does. */
export class NodeProcess {
  readonly #side: Side;
  readonly #args: readonly string[];
  readonly #folder: string;
  readonly #kubeConfigFile: string;
  #child: ChildProcess | undefined;

  /** @param folder for the log and the files of the process */
  static async create(
    side: Side,
    setting: { readonly nodeName: string; readonly cloudURL: string; readonly kubeConfig: object },
    folder: string,
  ): Promise<NodeProcess> {
    await mkdir(folder, { recursive: true });
    const kubeConfigFile = join(folder, 'kubeconfig');
    await writeFile(kubeConfigFile, JSON.stringify(setting.kubeConfig), { mode: 0o600 });
    const args = [setting.nodeName, setting.cloudURL, side.mode, join(folder, 'journal')];
    return new NodeProcess(side, args, folder, kubeConfigFile);
  }

  private constructor(side: Side, args: readonly string[], folder: string, kubeConfigFile: string) {
    this.#side = side;
    this.#args = args;
    this.#folder = folder;
    this.#kubeConfigFile = kubeConfigFile;
  }

  /** Resolves when the node is ready. */
  async start(): Promise<void> {
    const [file, ...args] = this.#side.command;
    const child = spawn(file, [...args, ...this.#args], {
      env: { ...process.env, KUBECONFIG: this.#kubeConfigFile },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#child = child;
    child.stderr.pipe(createWriteStream(join(this.#folder, 'log'), { flags: 'a' }));
    child.once('exit', () => {
      if (this.#child === child)
        setTimeout(() => this.#child === child && void this.start().catch(() => {}), restartMs);
    });
    const { done } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next();
    if (done === true) throw new Error(`${file} ended before its node was ready; its log is in ${this.#folder}`);
  }

  /** Ends the process as a crash does. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
}
