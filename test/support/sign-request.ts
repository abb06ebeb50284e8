import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const hasOpenSSL = spawnSync('openssl', ['version']).status === 0;

/** A certificate authority in a folder of its own: `ca.crt` and `ca.key`. */
export class TestAuthority implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), 'test-authority-'));

  constructor() {
    this.#openssl(
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=ca'],
      ...['-keyout', 'ca.key', '-out', 'ca.crt'],
    );
    writeFileSync(this.#file('index'), '');
    writeFileSync(this.#file('serial'), '01\n');
    const lines = ['[ca]', 'default_ca=c', '[c]', 'database=index', 'serial=serial', 'new_certs_dir=.'];
    lines.push('default_md=sha256', 'policy=p', 'copy_extensions=copy', 'unique_subject=no', 'x509_extensions=e');
    lines.push(
      '[p]',
      'commonName=supplied',
      'organizationName=optional',
      '[e]',
      'extendedKeyUsage=serverAuth,clientAuth',
    );
    writeFileSync(this.#file('config'), `${lines.join('\n')}\n`);
  }

  get certificateFile(): string {
    return this.#file('ca.crt');
  }

  /** Signs a request as the controller of the cluster does, for 100 minutes. */
  sign(pem: string, nowMs: number): string {
    writeFileSync(this.#file('csr'), pem);
    this.#openssl('req', '-in', 'csr', '-noout', '-verify');
    const time = (minutes: number): string =>
      new Date(nowMs + minutes * 60_000).toISOString().replace(/[-:T]|\.\d+/g, '');
    this.#openssl(
      ...['ca', '-batch', '-config', 'config', '-in', 'csr', '-cert', 'ca.crt', '-keyfile', 'ca.key', '-notext'],
      ...['-out', 'crt', '-startdate', time(0), '-enddate', time(100)],
    );
    return readFileSync(this.#file('crt'), 'utf8');
  }

  [Symbol.dispose](): void {
    if (existsSync(this.#folder)) rmSync(this.#folder, { recursive: true });
  }

  #file(name: string): string {
    return join(this.#folder, name);
  }

  #openssl(...args: string[]): void {
    const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8', cwd: this.#folder });
    if (status !== 0) throw new Error(stderr);
  }
}

/** Signs a request by an authority that nobody knows. */
export function signRequest(pem: string, nowMs: number): string {
  using authority = new TestAuthority();
  return authority.sign(pem, nowMs);
}
