import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createProcessRuntime, type ProcessRuntimeOptions } from 'kubelet-status-manager/process-runtime';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { livingGroups } from '../examples/node-agent/run-agent.ts';
import { sh, shimPid, TestRuntime, whyNoShim } from './test-runtime.ts';

describe.skipIf(whyNoShim !== '')(`the process runtime when something breaks${whyNoShim}`, () => {
  let test: TestRuntime;
  beforeEach(async () => {
    test = await TestRuntime.start();
  });
  afterEach(() => test[Symbol.asyncDispose]());

  const conditions = async (): Promise<unknown> => (await test.runtime.status!()).conditions;

  it('a shim that does not respond does not keep the next agent from starting', async () => {
    const id = await test.run(sh('sleep 3600'));
    const pid = shimPid(test.files(id))!;
    process.kill(pid, 'SIGSTOP');
    try {
      await test.restart();
      expect(await test.status(id)).toMatchObject({ state: 'running' });
    } finally {
      process.kill(pid, 'SIGCONT');
    }
  });

  it('a FIFO in place of the termination message does not keep a container from ending', async () => {
    const status = await test.exited(await test.run(sh('mkfifo dev/termination-log; exit 3')));
    expect(status).toMatchObject({ exitCode: 3, message: '' });
  });

  it('the termination message is the end of its file', async () => {
    const script = 'for i in 1 2 3 4 5; do printf %01000d $i; done >dev/termination-log; exit 3';
    const { message } = await test.exited(await test.run(sh(script)));
    expect(message).toHaveLength(4096);
    expect(message!.endsWith('5')).toBe(true);
  });

  it('a command never gets the environment of the agent, also if that of its container is gone', async () => {
    const id = await test.run(sh('sleep 3600'));
    rmSync(join(test.files(id), 'env.json'));
    await expect(test.runtime.execSync(id, ['env'], 10_000)).rejects.toThrow('has been deleted');
  });

  it('containers whose directory is deleted are killed, so that none runs twice; the log says why', async () => {
    const id = await test.run(sh('sleep 3600'));
    const pid = test.pid(id);
    rmSync(test.path, { recursive: true });
    const status = await test.exited(id);
    const message = 'The directory of the container was deleted, so its processes were killed';
    expect(status).toMatchObject({ exitCode: 137, reason: 'ContainerStatusUnknown', message });
    expect(livingGroups([pid])).toEqual([]);
    expect(test.logger.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', message, fields: expect.objectContaining({ pod: 'default/web' }) }),
    );
    // The next check of the agent makes the directories again, and a next runtime accepts them.
    expect(await conditions()).toMatchObject([{ status: true }, { status: true }]);
    expect(await test.exited(await test.run(sh('exit 0'), 1))).toMatchObject({ exitCode: 0 });
    await test.restart();
  });

  it('the runtime is not ready while its directory cannot be used, with the path', async () => {
    rmSync(test.directory.logs, { recursive: true });
    writeFileSync(test.directory.logs, '');
    expect(await conditions()).toMatchObject([
      { type: 'RuntimeReady', status: false, reason: 'NoRootDirectory', message: expect.stringContaining('/logs') },
      { type: 'NetworkReady', status: true },
    ]);
    rmSync(test.directory.logs);
    expect(await conditions()).toMatchObject([{ status: true }, { status: true }]);
  });

  it('a pod that asks for what processes cannot have waits, with the fields', async () => {
    const creating = test.create(sh('true', { securityContext: { runAsUser: 12_345, readOnlyRootFilesystem: true } }));
    await expect(creating).rejects.toMatchObject({
      name: 'ContainerConfigError',
      message: expect.stringMatching(/container c: securityContext\.runAsUser: .*readOnlyRootFilesystem: /),
    });
    expect(existsSync(test.directory.containers('uid-1'))).toBe(false);
  });
});

/** Only root can mount a disk that is small enough to become full. */
const whyNoDisk =
  process.platform === 'linux' && process.getuid?.() === 0 ? whyNoShim : ' (skipped: needs Linux and root)';

it.skipIf(whyNoDisk !== '')(
  `on a full disk, the end of a container is recorded, and its pod can be removed, which makes room${whyNoDisk}`,
  async () => {
    const disk = mkdtempSync(join(tmpdir(), 'full-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', disk]);
    try {
      const test = await TestRuntime.start({}, disk);
      try {
        const id = await test.run(sh('while [ ! -e go ]; do sleep 0.1; done; exit 3'));
        expect(() => {
          for (let i = 0; ; i++) writeFileSync(join(test.path, `fill-${i}`), 'x'.repeat(4096));
        }).toThrow('ENOSPC');
        // An empty file needs no block.
        writeFileSync(join(test.files(id), 'root', 'go'), '');
        expect(await test.exited(id)).toMatchObject({ exitCode: 3, reason: 'Error' });
        await test.runtime.stopPodSandbox!(test.sandboxID);
        expect(await test.runtime.getPod('uid-1')).toMatchObject({ sandboxes: [{ ready: false }] });
        await test.runtime.removeContainer(id);
        await test.runtime.removePodSandbox!(test.sandboxID);
        expect(test.filesLeft()).toEqual([]);
      } finally {
        await test[Symbol.asyncDispose]();
      }
    } finally {
      // Lazily: the shim may still be about to end.
      execFileSync('umount', ['-l', disk]);
      rmSync(disk, { recursive: true });
    }
  },
);

describe.skipIf(whyNoShim !== '')(`createProcessRuntime${whyNoShim}`, () => {
  let path: string;
  beforeEach(() => {
    path = mkdtempSync(join(tmpdir(), 'rt-'));
  });
  afterEach(() => rmSync(path, { recursive: true }));

  const helper: ProcessRuntimeOptions['helper'] = {
    generateRunContainerOptions: async () => ({ command: [], args: [], envs: [], mounts: [] }),
    generatePodHostName: () => 'web',
    lookupRuntimeHandler: async (name) => name,
  };
  const open = (options: object = {}) =>
    createProcessRuntime({ rootDirectory: path, hostIPs: ['192.0.2.1'], helper, ...options });

  it.each<[string, object]>([
    ['rootDirectory', { rootDirectory: 'relative' }],
    ['rootDirectory', { rootDirectory: `/${'x'.repeat(100)}` }],
    ['hostIPs', { hostIPs: [] }],
    ['hostIPs', { hostIPs: ['localhost'] }],
    ['helper', { helper: {} }],
    ['clock', { clock: {} }],
    ['other', { other: 1 }],
  ])('an error names `%s`: %j', async (field, options) => {
    await expect(open(options)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      message: expect.stringContaining(field),
    });
  });

  it('only one runtime at a time uses a directory', async () => {
    const first = await open();
    await expect(open()).rejects.toThrow('is in use by process');
    await first.close();
    await (await open()).close();
  });

  it('what another program has in the directory is never removed', async () => {
    const file = join(path, 'logs', 'my_old_notes');
    mkdirSync(join(path, 'logs'));
    writeFileSync(file, 'precious');
    await expect(open()).rejects.toMatchObject({ code: 'INVALID_OPTION', path: 'rootDirectory' });
    expect(readFileSync(file, 'utf8')).toBe('precious');
  });

  it('volumes, which may be mounts, are never removed with their pod', async () => {
    const first = await open();
    const id = await first.runPodSandbox!({ pod: podOf({}), attempt: 0 });
    const file = join(path, 'pods', 'uid-1', 'volumes', 'mounted');
    mkdirSync(join(path, 'pods', 'uid-1', 'volumes'));
    writeFileSync(file, 'precious');
    await first.removePodSandbox!(id);
    await first.close();
    await (await open()).close();
    expect(existsSync(file)).toBe(true);
  });

  it('a pod with a RuntimeClass runs if its handler is `process`', async () => {
    const runtime = await open({
      helper: {
        ...helper,
        generateRunContainerOptions: async () => ({ command: ['true'], args: [], envs: [], mounts: [] }),
      },
    });
    for (const [runtimeClassName, expected] of [
      ['process', /^process:/],
      ['gvisor', /its handler is not process/],
    ] as const) {
      const pod = podOf({ runtimeClassName });
      const sandboxID = await runtime.runPodSandbox!({ pod, attempt: 0 });
      const creating = runtime.createContainer({ pod, container: sh('true'), attempt: 0, hash: '', sandboxID });
      expect(await creating.catch((error: Error) => error.message)).toMatch(expected);
    }
    await runtime.close();
  });

  it('sockets, logs and environments are for the user only', async () => {
    const runtime = await open();
    await runtime.close();
    const modes = execFileSync('ls', ['-l', path], { encoding: 'utf8' });
    expect(modes.match(/^drwx------/gm)).toHaveLength(3);
    expect(modes).toMatch(/^-rw-------.*process-runtime\.json$/m);
  });
});

function podOf(spec: object) {
  return { metadata: { namespace: 'default', name: 'web', uid: 'uid-1' }, spec };
}
