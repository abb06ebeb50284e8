import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createPodClient } from 'kubelet-status-manager/http';
import { APIServer, FakeClock } from 'kubelet-status-manager/testing';
import { runAPIServerCommand } from '../../src/api-server/command/api-server-command.ts';

const { signal } = new AbortController();
let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'command-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** A run of the command: its output so far, and how to end it. */
interface Run {
  readonly out: string[];
  readonly errors: string[];
  /** Resolves with the first line on stdout. */
  readonly started: Promise<string>;
  readonly ended: Promise<number>;
  signal(name: NodeJS.Signals): void;
  end(): void;
}

const clock = new FakeClock();

function run(...args: string[]): Run {
  const out: string[] = [];
  const errors: string[] = [];
  let listener = (_signal: NodeJS.Signals): void => {};
  let start: (line: string) => void;
  const started = new Promise<string>((resolve) => (start = resolve));
  const ended = runAPIServerCommand(args, {
    clock,
    onSignal: (callback) => (listener = callback),
    writeOut: (text) => {
      out.push(text);
      start(text.trim());
    },
    writeError: (text) => void errors.push(text),
  });
  const signal = (name: NodeJS.Signals): void => listener(name);
  return { out, errors, started, ended, signal, end: () => signal('SIGINT') };
}

/** Whether a client with this kubeconfig reaches the server: the pod is not there. */
async function reaches(kubeconfig: string): Promise<number | undefined> {
  const client = createPodClient(JSON.parse(readFileSync(kubeconfig, 'utf8')) as object);
  try {
    await client.getPod({ namespace: 'default', name: 'none' }, { signal });
    return 200;
  } catch (error) {
    return (error as { statusCode?: number }).statusCode;
  } finally {
    await client.transport.close();
  }
}

describe('kubelet-status-manager-apiserver', () => {
  it('prints the path of a kubeconfig for its owner only, and removes it at the end', async () => {
    const { started, ended, end, errors } = run('--port', '0');
    const kubeconfig = await started;
    expect(statSync(kubeconfig).mode & 0o777).toBe(0o600);
    expect(await reaches(kubeconfig)).toBe(404);
    expect(errors.join('')).toMatch(/^Listening at https:\/\/127\.0\.0\.1:\d+\. End it with Ctrl-C\.\n/);
    end();
    expect(await ended).toBe(0);
    expect(existsSync(kubeconfig)).toBe(false);
  });

  it('writes the kubeconfigs of the admin and of nodes to the given file, and keeps them', async () => {
    const file = join(directory, 'config');
    const { started, ended, end } = run('--kubeconfig', file, '--node', 'node-a', '--node', 'node-b', '--no-tls');
    expect(await started).toBe(file);
    expect(await reaches(file)).toBe(404);
    // The node authorizer refuses what it does not know.
    expect([await reaches(`${file}.node-a`), await reaches(`${file}.node-b`)]).toEqual([403, 403]);
    end();
    expect(await ended).toBe(0);
    expect(statSync(`${file}.node-b`).mode & 0o777).toBe(0o600);
  });

  it('--help', async () => {
    const { ended, out } = run('--help');
    expect(await ended).toBe(0);
    expect(out.join('')).toContain('Usage: kubelet-status-manager-apiserver [options]');
  });

  it.each([
    [['--prot', '0'], '--prot'],
    [['surplus'], 'surplus'],
    [['--port', '70000'], '--port: expected an integer between 0 and 65535, got "70000"'],
    [['--port', 'x'], '--port'],
    [['--node', '../x'], '--node'],
    [['--node', 'a', '--'], '--: expected a program'],
  ])('%j ends with 2 and names the argument', async (args, expected) => {
    const { ended, out, errors } = run(...args);
    expect(await ended).toBe(2);
    expect(errors.join('')).toContain(expected);
    expect(out).toEqual([]);
  });

  it('exits with 1 if the port is taken or the kubeconfig cannot be written', async () => {
    const other = await APIServer.start();
    const taken = run('--port', new URL(other.url).port);
    expect(await taken.ended).toBe(1);
    expect(taken.errors.join('')).toMatch(/EADDRINUSE.*; choose another --port, or leave it out for a free one/);
    await other.close();
    const unwritable = run('--kubeconfig', join(directory, 'none', 'config'));
    expect(await unwritable.ended).toBe(1);
    expect(unwritable.errors.join('')).toContain('ENOENT');
    expect([...taken.out, ...unwritable.out]).toEqual([]);
  });

  const { bin } = JSON.parse(readFileSync('package.json', 'utf8')) as { bin: Record<string, string> };
  const main = fileURLToPath(new URL(`../../${bin['kubelet-status-manager-apiserver']}`, import.meta.url));

  it.skipIf(!existsSync(main))('as a process (skipped before `npm run build`): Ctrl-C ends it with 0', async () => {
    const child = spawn(process.execPath, [main, '--port', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const kubeconfig = line.toString().trim();
    expect(await reaches(kubeconfig)).toBe(404);
    child.kill('SIGINT');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(existsSync(kubeconfig)).toBe(false);
  });
});

/** A program for the command that runs this JavaScript, with `file(name)` for paths of the test's directory. */
function program(code: string): string[] {
  const prelude = `const fs = require('node:fs'); const file = (name) => ${JSON.stringify(directory)} + '/' + name;`;
  return ['--', process.execPath, '-e', prelude + code];
}

function written(name: string): string | undefined {
  const file = join(directory, name);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

describe('kubelet-status-manager-apiserver with a program', () => {
  it('starts it when the server is up, with the kubeconfig of the admin, and exits with its exit code', async () => {
    const { ended, out, errors } = run(
      '--no-tls',
      ...program(`
        const { clusters, users } = JSON.parse(fs.readFileSync(process.env.KUBECONFIG, 'utf8'));
        const headers = { authorization: 'Bearer ' + users[0].user.token };
        fetch(clusters[0].cluster.server + '/api/v1/nodes', { headers }).then(({ status }) => {
          fs.writeFileSync(file('status'), String(status));
          process.exit(7);
        });`),
    );
    expect(await ended).toBe(7);
    expect(written('status')).toBe('200');
    expect(out).toEqual([]);
    expect(errors.join('')).toMatch(/^Running .* with KUBECONFIG=\/.*kubeconfig \(admin\)$/m);
  });

  it('passes it the kubeconfig of the first node, and logs that', async () => {
    const config = join(directory, 'config');
    const { ended, errors } = run(
      ...['--kubeconfig', config, '--node', 'node-a', '--node', 'node-b'],
      ...program(`fs.writeFileSync(file('env'), process.env.KUBECONFIG)`),
    );
    expect(await ended).toBe(0);
    expect(written('env')).toBe(`${config}.node-a`);
    expect(errors.join('')).toContain(`KUBECONFIG=${config}.node-a (node-a)`);
  });

  it('forwards each signal, but only once if npm repeats it', async () => {
    const { ended, signal } = run(
      ...program(`
        let interrupts = 0;
        const note = () => fs.writeFileSync(file('interrupts'), String(interrupts));
        process.on('SIGINT', () => { interrupts++; note(); });
        process.on('SIGTERM', () => process.exit(40 + interrupts));
        setInterval(() => {}, 1000);
        note();`),
    );
    await expect.poll(() => written('interrupts'), { timeout: 10_000 }).toBe('0');
    signal('SIGINT');
    signal('SIGINT');
    await expect.poll(() => written('interrupts'), { timeout: 10_000 }).toBe('1');
    clock.advance(1_000);
    signal('SIGINT');
    await expect.poll(() => written('interrupts'), { timeout: 10_000 }).toBe('2');
    signal('SIGTERM');
    expect(await ended).toBe(42);
  });

  it('exits like a shell if a signal ends the program or it cannot be started', async () => {
    expect(await run(...program(`process.kill(process.pid, 'SIGKILL')`)).ended).toBe(128 + 9);
    const missing = run('--', 'no-such-program');
    expect(await missing.ended).toBe(127);
    expect(missing.errors.join('')).toContain('Cannot run no-such-program');
  });

  it('does not start it after a signal', async () => {
    const { ended, signal } = run(...program(`fs.writeFileSync(file('ran'), '')`));
    signal('SIGTERM');
    expect(await ended).toBe(0);
    expect(written('ran')).toBeUndefined();
  });
});
