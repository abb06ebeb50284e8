import {
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import type { Clock } from '../../shared/clock.ts';
import { makeDirectoriesSync } from '../../shared/make-directories.ts';
import { timeFromEpochMs } from '../../shared/time.ts';

/** A certificate with its chain, and its private key, as PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/**
 * The certificates of one kind: `PREFIX-TIME.pem`, each with its chain and its key, for their owner only, and the link
 * `PREFIX-current.pem`. A kubelet on this machine uses the same files. Source: client-go `certificate.NewFileStore`.
 */
export class CertificateStore {
  readonly currentPath: string;
  readonly #directory: string;
  readonly #prefix: string;
  readonly #clock: Pick<Clock, 'now'>;

  constructor(directory: string, prefix: string, clock: Pick<Clock, 'now'>) {
    this.#directory = resolve(directory);
    this.#prefix = prefix;
    this.#clock = clock;
    this.currentPath = this.#path('current');
  }

  /** Undefined if there is none. @throws Error if it cannot be read */
  current(): KeyPair | undefined {
    if (lstatSync(this.currentPath, { throwIfNoEntry: false }) === undefined) return undefined;
    const [, cert = '', key = ''] =
      /^(.*?)(-----BEGIN [A-Z ]*PRIVATE KEY-----.*)$/s.exec(readFileSync(this.currentPath, 'utf8')) ?? [];
    return { cert, key };
  }

  /** Makes it the current one; the previous one is kept, and remains the current one if this fails. @throws Error */
  update({ cert, key }: KeyPair): void {
    makeDirectoriesSync(this.#directory, 0o700);
    const path = this.#path(timeFromEpochMs(this.#clock.now()).slice(0, 19).replaceAll(/[T:]/g, '-'));
    // Replaces whatever has this name by a new file.
    rmSync(path, { force: true });
    const file = openSync(path, 'wx', 0o600);
    try {
      writeFileSync(file, `${cert.trimEnd()}\n${key}`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    const updated = this.#path('updated');
    rmSync(updated, { force: true });
    symlinkSync(path, updated);
    renameSync(updated, this.currentPath);
  }

  #path(qualifier: string): string {
    return join(this.#directory, `${this.#prefix}-${qualifier}.pem`);
  }
}
