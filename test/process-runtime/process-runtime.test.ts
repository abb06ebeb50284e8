import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect, Socket } from 'node:net';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NodeDirectory } from '../../src/process-runtime/node-directory.ts';
import { livingGroups } from '../examples/node-agent/run-agent.ts';
import { sh, shimPid, TestRuntime, whyNoShim } from './test-runtime.ts';

describe.skipIf(whyNoShim !== '')(`ProcessRuntime${whyNoShim}`, () => {
  let test: TestRuntime;
  beforeEach(async () => {
    test = await TestRuntime.start();
  });
  afterEach(() => test[Symbol.asyncDispose]());

  describe('how a container ends', () => {
    it.each([
      ['exit 0', { exitCode: 0, reason: 'Completed' }],
      ['exit 7', { exitCode: 7, reason: 'Error' }],
      ['kill -TERM $$$$', { exitCode: 143, reason: 'Error' }],
      ['kill -KILL $$$$', { exitCode: 137, reason: 'Error' }],
    ])('`%s` is reported', async (script, exit) => {
      const id = await test.run(sh(script));
      const status = await test.exited(id);
      expect(status).toMatchObject({ ...exit, name: 'c', attempt: 0, hash: 'hash' });
      expect(status.startedAtMs).toBeLessThanOrEqual(status.finishedAtMs!);
      expect(test.events).toEqual(['created sandbox', 'created container', 'started container', 'stopped container']);
    });

    it.each([
      ['from its file', 'echo oops >dev/termination-log; exit 1', 'File', 'oops\n'],
      [
        'from the file, which comes before the log',
        'echo a >dev/termination-log; echo b; exit 1',
        'FallbackToLogsOnError',
        'a\n',
      ],
      ['from the log', 'echo first; echo last >&2; exit 1', 'FallbackToLogsOnError', 'first\nlast\n'],
      ['not from the log if it has succeeded', 'echo fine', 'FallbackToLogsOnError', ''],
    ])('has its termination message %s', async (_, script, terminationMessagePolicy, message) => {
      expect(await test.exited(await test.run(sh(script, { terminationMessagePolicy })))).toMatchObject({ message });
    });

    it('kills child processes that outlive their parent', async () => {
      const id = await test.run(sh("trap '' TERM; sleep 3600 & exit 0"));
      await test.exited(id);
      await expect.poll(() => livingGroups([test.pid(id)])).toEqual([]);
    });

    it.each([
      [{ name: 'c', command: ['does-not-exist'] }, 'exec: "does-not-exist": executable file not found in $PATH'],
      [{ name: 'c', command: ['/'] }, 'EACCES'],
      [sh('exit 0', { workingDir: '/does/not/exist' }), 'chdir to cwd ("/does/not/exist"): no such file or directory'],
      [sh('exit 0', { workingDir: '/etc/passwd' }), 'exec: "sh": spawn ENOTDIR'],
    ])('%j cannot be started', async (container, message) => {
      const id = await test.create(container);
      await expect(test.runtime.startContainer(id)).rejects.toThrow(message);
      expect(await test.status(id)).toMatchObject({
        ...{ state: 'exited', exitCode: 128, reason: 'StartError' },
        startedAtMs: 0,
      });
    });

    it.each([
      ['too long', 'x'.repeat(200_000), 'exec: "sh": spawn E2BIG'],
      ['with a null byte, which is not quoted', 'secret\0', 'exec: "sh": invalid argument'],
    ])('a variable that is %s counts as an exit, so that there is a back-off', async (_, value, message) => {
      const id = await test.create(sh('exit 0', { env: [{ name: 'A', value }] }));
      await expect(test.runtime.startContainer(id)).rejects.toThrow(new Error(message));
      expect(await test.status(id)).toMatchObject({ state: 'exited', exitCode: 128, reason: 'StartError', message });
    });
  });

  describe('stopContainer', () => {
    it.each(['has not taken', 'has taken'])(
      'a container whose shim %s the request to start it has ended',
      async (when) => {
        const id = await test.create(sh('sleep 3600'));
        const starting = test.runtime.startContainer(id).catch(() => {});
        while (when === 'has taken' && existsSync(join(test.files(id), 'start'))) await setImmediate();
        await test.runtime.stopPodSandbox!(test.sandboxID);
        await starting;
        expect((await test.status(id))!.state).not.toBe('running');
        if (existsSync(join(test.files(id), 'started.json'))) expect(livingGroups([test.pid(id)])).toEqual([]);
        expect(shimPid(test.files(id))).toBeUndefined();
      },
    );

    it('signals the process group and resolves when it has ended', async () => {
      const id = await test.run(sh("trap 'exit 3' TERM; sleep 3600 & wait"));
      await test.runtime.stopContainer(id, 60);
      expect(await test.status(id)).toMatchObject({ state: 'exited', exitCode: 3 });
      expect(livingGroups([test.pid(id)])).toEqual([]);
      await test.runtime.stopContainer(id, 60);
    });

    it('sends the stopSignal of the container', async () => {
      const container = sh("trap 'exit 4' USR1; echo ready; while true; do sleep 0.05; done", {
        lifecycle: { stopSignal: 'SIGUSR1' },
      });
      const id = await test.run(container);
      await expect.poll(() => test.log()).toContain('ready');
      await test.runtime.stopContainer(id, 60);
      expect(await test.status(id)).toMatchObject({ exitCode: 4, stopSignal: 'SIGUSR1' });
    });

    it.each([0, 0.2])('kills after %d s', async (gracePeriodSeconds) => {
      const id = await test.run(sh("trap '' TERM; while true; do sleep 0.05; done"));
      await test.runtime.stopContainer(id, gracePeriodSeconds);
      expect(await test.status(id)).toMatchObject({ exitCode: 137, reason: 'Error' });
    });

    it('an aborted stopContainer leaves the container to the next call, which may have a shorter grace period', async () => {
      const id = await test.run(sh("trap '' TERM; while true; do sleep 0.05; done"));
      const controller = new AbortController();
      const stopping = test.runtime.stopContainer(id, 3600, { signal: controller.signal });
      controller.abort(new Error('shorter'));
      await expect(stopping).rejects.toThrow('shorter');
      expect(await test.status(id)).toMatchObject({ state: 'running' });
      await test.runtime.stopContainer(id, 0);
      expect(await test.status(id)).toMatchObject({ state: 'exited' });
    });
  });

  describe('the next agent', () => {
    it('finds a running container and stops it', async () => {
      const id = await test.run(sh('sleep 3600'));
      const before = await test.status(id);
      await test.restart();
      expect(await test.status(id)).toEqual(before);
      await test.runtime.stopContainer(id, 60);
      expect(await test.status(id)).toMatchObject({ exitCode: 143 });
    });

    it('reports the exit code of a container that ended without an agent', async () => {
      const id = await test.run(sh('while [ ! -e go ]; do sleep 0.05; done; exit 42'));
      await test.runtime.close();
      writeFileSync(join(test.files(id), 'root', 'go'), '');
      await expect.poll(() => existsSync(join(test.files(id), 'exit.json'))).toBe(true);
      await test.open();
      expect(await test.status(id)).toMatchObject({ state: 'exited', exitCode: 42, reason: 'Error' });
      expect(existsSync(test.directory.socket(id.replace('process://', '')))).toBe(false);
    });

    it('does not start a container whose start was requested but did not begin', async () => {
      const id = await test.create(sh('echo ran'));
      writeFileSync(join(test.files(id), 'start'), '');
      await test.restart();
      expect(await test.status(id)).toMatchObject({ state: 'created' });
      expect(existsSync(join(test.files(id), 'start'))).toBe(false);
    });

    it('removes a container that was only partly created', async () => {
      const id = await test.create(sh('echo ran'));
      const half = test.files(`${id}x`);
      mkdirSync(join(half, 'root'), { recursive: true });
      await test.restart();
      expect(existsSync(half)).toBe(false);
      expect(await test.status(id)).toBeDefined();
    });

    it('adopts a container whose start the killed agent did not observe', async () => {
      const id = await test.run(sh('sleep 3600'));
      const path = test.directory.socket(id.replace('process://', ''));
      const killed = new Socket().pause().connect(path);
      // The shim accepts connections in order: before this one is told, the first one was.
      const connectAndRead = async (): Promise<void> => {
        const socket = connect(path);
        await once(socket, 'data');
        socket.destroy();
      };
      await connectAndRead();
      killed.destroy(); // with unread data, so that the shim gets ECONNRESET
      for (let i = 0; i < 3; i++) await connectAndRead();
      await test.restart();
      expect(await test.status(id)).toMatchObject({ state: 'running' });
    });

    it.each([
      ['the configuration', (directory: string) => rmSync(join(directory, 'config.json'))],
      ['the directory', (directory: string) => rmSync(directory, { recursive: true })],
    ])('removes the socket of a container whose removal ended after %s', async (_what, remove) => {
      const id = await test.run(sh('sleep 3600'));
      process.kill(shimPid(test.files(id))!, 'SIGKILL'); // so that it does not remove its socket
      await test.exited(id);
      await test.runtime.close();
      remove(test.files(id));
      await test.open();
      expect(existsSync(test.files(id))).toBe(false);
      expect(readdirSync(test.directory.sockets).filter((name) => !name.includes('lock'))).toEqual([]);
    });

    it('removes the directory of a pod whose sandbox is already removed', async () => {
      const id = await test.run(sh('exit 0'));
      await test.exited(id);
      await test.runtime.removeContainer(id);
      await test.runtime.close();
      rmSync(test.directory.sandboxes('uid-1'), { recursive: true });
      await test.open();
      expect(test.filesLeft()).toEqual([]);
      expect(await test.runtime.listPods()).toEqual([]);
    });

    it('waits for a shim that is about to start the container', async () => {
      const id = await test.create(sh('sleep 3600'));
      const starting = test.runtime.startContainer(id);
      await expect.poll(() => existsSync(test.directory.socket(id.replace('process://', '')))).toBe(true);
      await test.restart();
      const { state } = (await test.status(id))!;
      // Either the shim had taken the request, or it never starts the container.
      expect(['created', 'running']).toContain(state);
      await starting.catch(() => {});
      expect(existsSync(join(test.files(id), 'started.json'))).toBe(state === 'running');
    });
  });

  describe('a shim that is killed', () => {
    it('a killed shim leaves no process of its container behind, and the container counts as killed', async () => {
      const id = await test.run(sh("trap '' TERM HUP; sleep 3600 & sleep 3600"));
      process.kill(shimPid(test.files(id))!, 'SIGKILL');
      const status = await test.exited(id);
      expect(status).toMatchObject({ exitCode: 137, reason: 'ContainerStatusUnknown' });
      await expect.poll(() => livingGroups([test.pid(id)])).toEqual([]);
      await test.restart();
      expect(await test.status(id)).toEqual(status);
    });

    it('a killed shim whose folder cannot be written does not end the agent', async () => {
      const id = await test.run(sh('sleep 3600'));
      const pid = shimPid(test.files(id))!;
      rmSync(test.files(id), { recursive: true });
      process.kill(pid, 'SIGKILL');
      expect(await test.exited(id)).toMatchObject({ exitCode: 137, reason: 'ContainerStatusUnknown' });
    });

    it('a shim that is killed while there is no agent is reported by the next one', async () => {
      const id = await test.run(sh('sleep 3600'));
      await test.runtime.close();
      process.kill(shimPid(test.files(id))!, 'SIGKILL');
      await expect.poll(() => livingGroups([test.pid(id)])).toEqual([]);
      await test.open();
      expect(await test.status(id)).toMatchObject({ state: 'exited', exitCode: 137, reason: 'ContainerStatusUnknown' });
    });

    it('no signal is sent to another process that reuses the PID of a killed shim', async () => {
      const id = await test.run(sh('exit 0'));
      await test.exited(id);
      const stranger = spawn('sleep', ['3600'], { detached: true, stdio: 'ignore' });
      await once(stranger, 'spawn');
      await test.runtime.close();
      rmSync(join(test.files(id), 'exit.json'));
      writeFileSync(join(test.files(id), 'started.json'), JSON.stringify({ pid: stranger.pid, startedAtMs: 1 }));
      await test.open();
      expect(await test.status(id)).toMatchObject({ state: 'exited', exitCode: 137 });
      await test.runtime.stopContainer(id, 0);
      await test.runtime.removeContainer(id);
      expect(livingGroups([stranger.pid!])).toEqual([stranger.pid]);
      stranger.kill('SIGKILL');
    });
  });

  describe('execSync', () => {
    it('a command has the environment and the working directory of the container', async () => {
      const id = await test.run(sh('sleep 3600', { env: [{ name: 'GREETING', value: 'hello' }] }));
      const result = await test.runtime.execSync(id, ['sh', '-c', 'echo $GREETING; pwd >&2; exit 5'], 10_000);
      expect(result).toEqual({ exitCode: 5, stdout: 'hello\n', stderr: `${join(test.files(id), 'root')}\n` });
    });

    it('a command can be run after a restart of the agent', async () => {
      const id = await test.run(sh('sleep 3600', { env: [{ name: 'GREETING', value: 'hello' }] }));
      await test.restart();
      expect(await test.runtime.execSync(id, ['sh', '-c', 'echo $GREETING'], 10_000)).toMatchObject({
        stdout: 'hello\n',
      });
    });

    it('a command is killed after its time-out', async () => {
      const id = await test.run(sh('sleep 3600'));
      const pidFile = join(test.files(id), 'root', 'pid');
      await expect(test.runtime.execSync(id, ['sh', '-c', 'echo $$ >pid; sleep 3600'], 200)).rejects.toThrow(
        'command timed out after 200 ms',
      );
      const pid = Number(readFileSync(pidFile, 'utf8'));
      await expect.poll(() => livingGroups([pid])).toEqual([]);
    });

    it('also if it leaves a process behind that keeps its output open', async () => {
      const id = await test.run(sh('sleep 3600'));
      await test.runtime.execSync(id, ['true'], 10_000);
      const pipes = () => process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap').length;
      const before = pipes();
      const script = `
        const child = require('node:child_process').spawn('sleep', ['3600'], { detached: true, stdio: 'inherit' });
        require('node:fs').writeFileSync('pid', String(child.pid));
        child.unref();`;
      const running = test.runtime.execSync(id, [process.execPath, '-e', script], 2000);
      await expect(running).rejects.toThrow('command timed out after 2000 ms');
      const pid = Number(readFileSync(join(test.files(id), 'root', 'pid'), 'utf8'));
      await expect.poll(pipes).toBe(before);
      expect(livingGroups([pid])).toEqual([pid]);
      process.kill(pid, 'SIGKILL');
    });

    it('a command ends with its container', async () => {
      const id = await test.run(sh('sleep 3600'));
      const running = test.runtime.execSync(id, ['sleep', '3600'], 3_600_000);
      await Promise.all([
        expect(running).rejects.toThrow('the container has exited'),
        test.runtime.stopContainer(id, 0),
      ]);
      await expect(test.runtime.execSync(id, ['true'], 1000)).rejects.toThrow('does not run');
    });

    it('a missing command is an error', async () => {
      const id = await test.run(sh('sleep 3600'));
      await expect(test.runtime.execSync(id, ['does-not-exist'], 10_000)).rejects.toThrow('ENOENT');
    });

    it('a command ends when the agent is killed', async () => {
      const id = await test.run(sh('sleep 3600'));
      const running = test.runtime.execSync(id, ['sh', '-c', 'echo $$ >pid; exec sleep 3600'], 3_600_000);
      running.catch(() => {});
      const pidFile = join(test.files(id), 'root', 'pid');
      await expect.poll(() => existsSync(pidFile) && readFileSync(pidFile, 'utf8') !== '').toBe(true);
      const pid = Number(readFileSync(pidFile, 'utf8'));
      expect(livingGroups([pid])).toEqual([pid]);
      // What the kernel does with the pipe to the guard when the agent is killed.
      await test.runtime.close();
      await expect.poll(() => livingGroups([pid])).toEqual([]);
      await test.open();
    });
  });

  describe('exec', () => {
    it('has the streams of the client, and the environment of the container', async () => {
      const id = await test.run(sh('sleep 3600', { env: [{ name: 'GREETING', value: 'hello' }] }));
      const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
      const outputs = [text(stdout), text(stderr)];
      stdin.end('from the client');
      const command = ['sh', '-c', 'echo $GREETING; cat; echo error >&2; exit 7'];
      const io = { tty: false, stdin, stdout, stderr, onResize: () => {} };
      expect(await test.runtime.exec!(id, command, io)).toBe(7);
      stdout.end();
      stderr.end();
      expect(await Promise.all(outputs)).toEqual(['hello\nfrom the client', 'error\n']);
    });

    it('needs no streams, and ends when the client is gone', async () => {
      const id = await test.run(sh('sleep 3600'));
      const client = new AbortController();
      const io = { tty: false, onResize: () => {} };
      const running = test.runtime.exec!(id, ['sh', '-c', 'echo ignored; exec sleep 3600'], io, client);
      client.abort(new Error('the client is gone'));
      await expect(running).rejects.toThrow('the client is gone');
    });
  });

  describe('attach', () => {
    /** A client of the container, and what it has received. */
    function attach(
      id: string,
      { signal, ...more }: { stdin?: PassThrough; tty?: boolean; signal?: AbortSignal } = {},
    ) {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()];
      let received = '';
      for (const output of [stdout, stderr]) output.on('data', (chunk) => (received += chunk as string));
      const io = { tty: false, stdout, stderr, onResize: () => {}, ...more };
      return { ended: test.runtime.attach!(id, io, { signal }), received: () => received, stdout };
    }
    const typed = sh('echo before; while read line; do echo "$line"; echo error >&2; done; exit 7', {
      ...{ stdin: true, stdinOnce: true },
    });

    it('has the output of the process from then on, and ends with the process', async () => {
      const id = await test.run(typed);
      await expect.poll(() => test.log()).toBe('before\n');
      const reader = attach(id);
      const stdin = new PassThrough();
      const writer = attach(id, { stdin });
      // Output reaches both clients only when both are attached.
      const repeat = (): string => {
        stdin.write('line\n');
        return reader.received();
      };
      await expect.poll(repeat).toContain('line\n');
      stdin.end('last line\n');
      await Promise.all([reader.ended, writer.ended]);
      expect(await test.exited(id)).toMatchObject({ exitCode: 7 });
      for (const { received } of [reader, writer]) {
        expect(received()).toMatch(/last line\n/);
        expect(received()).toMatch(/error\n/);
        expect(received()).not.toContain('before');
      }
    });

    it('ends when the client is gone, and the container continues', async () => {
      const id = await test.run(sh('sleep 3600'));
      const client = new AbortController();
      const { ended } = attach(id, client);
      client.abort(new Error('the client is gone'));
      await ended;
      expect(await test.status(id)).toMatchObject({ state: 'running' });
    });

    it('without `stdinOnce`, the input stays open for the next client', async () => {
      const id = await test.run({ ...typed, stdinOnce: false });
      for (const line of ['first', 'second']) {
        const [stdin, client] = [new PassThrough(), new AbortController()];
        const { ended } = attach(id, { stdin, signal: client.signal });
        stdin.end(`${line}\n`);
        await expect.poll(() => test.log()).toContain(`${line}\n`);
        client.abort();
        await ended;
      }
      expect(await test.status(id)).toMatchObject({ state: 'running' });
    });

    it('input that the process does not read is dropped when the process has closed it', async () => {
      const id = await test.run(sh('exec <&-; echo closed; sleep 3600', { stdin: true }));
      await expect.poll(() => test.log()).toBe('closed\n');
      const [stdin, client] = [new PassThrough(), new AbortController()];
      const { ended } = attach(id, { stdin, signal: client.signal });
      for (let i = 0; i < 20; i++) if (!stdin.write('x'.repeat(100_000))) await once(stdin, 'drain');
      client.abort();
      await ended;
    });

    it('a client that does not read cannot stop the container, and is told what was cut off', async () => {
      const go = 'while [ ! -e go ]; do sleep 0.05; done';
      const id = await test.run(sh(`${go}; head -c 40000000 /dev/zero; echo done; sleep 3600`));
      const slow = new AbortController();
      const { ended, stdout } = attach(id, slow);
      stdout.pause();
      ended.catch(() => {}); // it may be rejected before it is awaited
      writeFileSync(join(test.files(id), 'root', 'go'), '');
      await expect.poll(() => test.log()).toMatch(/done\n$/);
      stdout.resume();
      await expect(ended).rejects.toThrow('the output was cut off');
    });

    it('refuses what the process does not have', async () => {
      const id = await test.run(sh('sleep 3600'));
      await expect(attach(id, { stdin: new PassThrough() }).ended).rejects.toThrow(
        'the container has no stdin: its spec does not have `stdin: true`',
      );
      const noTerminal = 'processes have no terminal here: use neither -t nor `tty: true`';
      await expect(attach(id, { tty: true }).ended).rejects.toThrow(noTerminal);
      const io = { tty: true, onResize: () => {} };
      await expect(test.runtime.exec!(id, ['true'], io)).rejects.toThrow(noTerminal);
      await test.runtime.stopContainer(id, 0);
      await expect(attach(id).ended).rejects.toThrow('does not run');
    });
  });

  describe('logs', () => {
    it('logs are found by the ID of the container', async () => {
      const id = await test.run(sh('echo hello'));
      await test.exited(id);
      expect(await test.runtime.getContainerLog!(id)).toEqual({ path: test.logFile(), isRunning: false });
      expect(await test.runtime.getContainerLog!('process://unknown')).toBeUndefined();
    });

    it('logs are in the CRI format, in a file that only the user can read', async () => {
      await test.exited(await test.run(sh('echo out; echo err >&2; printf "no newline"')));
      const lines = readFileSync(test.logFile(), 'utf8').trimEnd().split('\n');
      const time = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d+Z';
      expect(lines).toHaveLength(3);
      expect(lines.find((line) => line.includes('err'))).toMatch(new RegExp(`^${time} stderr F err$`));
      expect(lines.find((line) => line.includes('out'))).toMatch(new RegExp(`^${time} stdout F out$`));
      expect(lines.find((line) => line.includes('no'))).toMatch(new RegExp(`^${time} stdout F no newline$`));
      expect(statSync(test.logFile()).mode & 0o777).toBe(0o600);
    });

    it('the log of a run is kept until the run is removed', async () => {
      const first = await test.run(sh('echo one'));
      await test.exited(first);
      await test.exited(await test.run(sh('echo two'), 1));
      expect([test.log(0), test.log(1)]).toEqual(['one\n', 'two\n']);
      await test.runtime.removeContainer(first);
      expect(existsSync(test.logFile(0))).toBe(false);
      expect(test.log(1)).toBe('two\n');
    });
  });

  describe('the environment', () => {
    it('a container inherits only PATH from the agent', async () => {
      process.env['AGENT_SECRET'] = 'hush';
      await test.exited(await test.run({ name: 'c', command: ['env'], env: [{ name: 'A.B', value: 'x' }] }));
      delete process.env['AGENT_SECRET'];
      const names = test
        .log()
        .trimEnd()
        .split('\n')
        .map((line) => line.split('=')[0]!);
      expect(names.toSorted((a, b) => a.localeCompare(b, 'en'))).toEqual(['A.B', 'HOME', 'HOSTNAME', 'PATH']);
    });

    it('the environment is in a file that only the user can read', async () => {
      const id = await test.create(sh('true', { env: [{ name: 'PASSWORD', value: 'hush' }] }));
      expect(statSync(join(test.files(id), 'env.json')).mode & 0o777).toBe(0o600);
      expect(readFileSync(join(test.files(id), 'config.json'), 'utf8')).not.toContain('hush');
    });
  });

  it.each([{ command: undefined }, { command: undefined, args: ['only', 'args'] }, { command: [] }])(
    'refuses %j, because there is no image that has a command',
    async (container) => {
      const creating = test.create({ name: 'c', ...container });
      await expect(creating).rejects.toThrow('the container has no command');
      await expect(creating).rejects.toMatchObject({ name: 'ContainerConfigError' });
    },
  );

  describe('volumes', () => {
    const volumes = [
      { name: 'data', emptyDir: {} },
      { name: 'pod', downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
      { name: 'host', hostPath: { path: '/no/such/folder' } },
    ];
    let withVolumes: TestRuntime;
    beforeEach(async () => {
      withVolumes = await TestRuntime.start({ volumes });
    });
    afterEach(() => withVolumes[Symbol.asyncDispose]());

    it('are links below the directory of the container, which its command and its environment can name', async () => {
      const volumeMounts = [
        { name: 'data', mountPath: '/data', subPath: 'sub' },
        { name: 'pod', mountPath: '/etc/../etc/pod' },
      ];
      const env = [{ name: 'WHERE', value: 'data' }];
      const container = sh('cat etc/pod/name >$(WHERE)/copy; cat data/copy', { volumeMounts, env });
      await withVolumes.exited(await withVolumes.run(container));
      expect(withVolumes.log()).toBe('web\n');
    });

    it.each([
      ['/data/inside', 'cannot be mounted inside of others'],
      ['/', 'cannot be mounted inside of others'],
      ['/host', 'the path /no/such/folder does not exist'],
    ])('cannot be linked at %s', async (mountPath, message) => {
      const volumeMounts = [
        { name: 'data', mountPath: '/data' },
        { name: mountPath === '/host' ? 'host' : 'pod', mountPath },
      ];
      const creating = withVolumes.create(sh('true', { volumeMounts }));
      await expect(creating).rejects.toThrow(message);
      await expect(creating).rejects.toMatchObject({ name: 'ContainerConfigError' });
    });
  });

  it('a resize is shown, also by the next agent', async () => {
    const id = await test.run(sh('sleep 3600'));
    const resources = { requests: { cpu: '200m' } };
    await test.runtime.updateContainerResources!(id, resources);
    expect(await test.status(id)).toMatchObject({ state: 'running', resources });
    await test.restart();
    expect(await test.status(id)).toMatchObject({ state: 'running', resources });
  });

  describe('sandboxes', () => {
    it('a sandbox has the addresses of the machine, unless the pod uses hostNetwork', async () => {
      const network = { ip: '192.0.2.1', additionalIPs: ['2001:db8::1'] };
      expect((await test.runtime.getPod('uid-1'))?.sandboxes).toMatchObject([{ ready: true, attempt: 0, network }]);
      const host = { metadata: { namespace: 'default', name: 'host', uid: 'uid-2' }, spec: { hostNetwork: true } };
      await test.runtime.runPodSandbox!({ pod: host, attempt: 0 });
      const [sandbox] = (await test.runtime.getPod('uid-2'))!.sandboxes!;
      expect(sandbox).toMatchObject({ hostNetwork: true });
      expect(sandbox).not.toHaveProperty('network');
    });

    it('a container that is being created while its sandbox is removed leaves no files', async () => {
      await Promise.all([
        expect(test.create(sh('true'))).rejects.toThrow(`sandbox ${test.sandboxID} has been removed`),
        test.runtime.removePodSandbox!(test.sandboxID),
      ]);
      expect(test.filesLeft()).toEqual([]);
    });

    it('a static pod that comes back while its sandbox is being removed keeps its new files', async () => {
      const logs = test.directory.logDirectory(test.pod.metadata);
      mkdirSync(logs);
      for (let i = 0; i < 1000; i++) writeFileSync(join(logs, String(i)), '');
      const removing = test.runtime.removePodSandbox!(test.sandboxID);
      while (existsSync(logs) && readdirSync(logs).length === 1000) await setImmediate();
      test.sandboxID = await test.runtime.runPodSandbox!({ pod: test.pod, attempt: 1 });
      const id = await test.create(sh('echo hello'));
      await removing;
      await test.runtime.startContainer(id);
      expect(await test.exited(id)).toMatchObject({ exitCode: 0 });
      await test.restart();
      expect(await test.status(id)).toMatchObject({ exitCode: 0 });
      expect(test.log()).toBe('hello\n');
    });

    it('a stopped sandbox has no processes, and a removed one leaves no files', async () => {
      const id = await test.run(sh('sleep 3600'));
      const pid = test.pid(id);
      await test.runtime.stopPodSandbox!(test.sandboxID);
      expect(livingGroups([pid])).toEqual([]);
      await test.restart();
      expect((await test.runtime.getPod('uid-1'))?.sandboxes).toMatchObject([{ ready: false }]);
      await test.runtime.removePodSandbox!(test.sandboxID);
      await test.runtime.removePodSandbox!(test.sandboxID);
      expect(await test.runtime.listPods()).toEqual([]);
      expect(test.filesLeft()).toEqual([]);
    });
  });
});

describe('NodeDirectory', () => {
  it('refuses a path that is too long for sockets, instead of truncating it', () => {
    expect(NodeDirectory.excessBytes(`/${'x'.repeat(100)}`)).toBe(13);
  });

  it.each(['..', 'a/b', '', '.'])(
    'refuses the name %j of a static pod, which would lead to another directory',
    (name) => {
      const directory = new NodeDirectory('/tmp/n');
      expect(() => directory.podDirectory(name)).toThrow('is not the name of a file');
      const pod = { metadata: { namespace: 'default', name: 'web', uid: 'uid-1' } };
      expect(() => directory.containerLogDirectory(pod, name)).toThrow('is not the name of a file');
    },
  );
});
