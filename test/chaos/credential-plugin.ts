import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Random } from './random.ts';

/** How an exec credential plugin behaves: its token is valid, wrong, late, or missing. */
export const pluginModes = ['rotate', 'wrong', 'hang', 'fail'] as const;
export type PluginMode = (typeof pluginModes)[number];

const lifetimeMs = 3_000;

/**
 * An exec credential plugin for an agent, whose credential expires after a few seconds. It is a shell
 * script, because that starts faster than Node.js, and it reads its behaviour from files.
 */
export class CredentialPlugin {
  readonly #dir: string;
  readonly #token: string;
  #timer: NodeJS.Timeout | undefined;
  #mode: PluginMode = 'rotate';

  constructor(dir: string, token: string) {
    this.#dir = dir;
    this.#token = token;
    mkdirSync(dir, { recursive: true });
  }

  /** The `exec` field of a kubeconfig's user. */
  get exec(): object {
    const script = [
      `cd '${this.#dir}' || exit 1`,
      'read -r mode <mode',
      'case "$mode" in hang) sleep 60 ;; fail) echo "no credential available" >&2; exit 1 ;; esac',
      'cat credential.json',
    ].join('\n');
    return {
      apiVersion: 'client.authentication.k8s.io/v1',
      command: 'sh',
      args: ['-c', script],
      interactiveMode: 'Never',
    };
  }

  start(): void {
    this.set('rotate');
    this.#timer = setInterval(() => this.#write(), lifetimeMs / 3);
  }

  /** @returns the behaviour from now on */
  change(random: Random): PluginMode {
    this.set(random.pick(pluginModes));
    return this.#mode;
  }

  set(mode: PluginMode): void {
    this.#mode = mode;
    this.#write();
  }

  stop(): void {
    clearInterval(this.#timer);
    rmSync(this.#dir, { recursive: true, force: true });
  }

  #write(): void {
    const credential = {
      apiVersion: 'client.authentication.k8s.io/v1',
      kind: 'ExecCredential',
      status: {
        token: this.#mode === 'wrong' ? 'expired-elsewhere' : this.#token,
        expirationTimestamp: new Date(Date.now() + lifetimeMs).toISOString().replace(/\.\d+Z/, 'Z'),
      },
    };
    this.#replace('credential.json', JSON.stringify(credential));
    this.#replace('mode', `${this.#mode}\n`);
  }

  #replace(name: string, text: string): void {
    const temporary = path.join(this.#dir, `.${name}`);
    writeFileSync(temporary, text, { mode: 0o600 });
    renameSync(temporary, path.join(this.#dir, name));
  }
}
