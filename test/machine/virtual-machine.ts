import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { endProcess, isRunning } from '../support/node/processes.ts';
import { CommandError, runCommand } from '../support/run-command.ts';
import type { DiskImage } from './disk-image.ts';

export interface VirtualMachineOptions {
  readonly image: DiskImage;
  /** For its disk and its console's log. */
  readonly folder: string;
  readonly address: string;
  /** A network device of this machine; see `addTap`. */
  readonly tap: string;
  /** Uses the processor's virtualization, in place of emulation, which is five to ten times slower. */
  readonly kvm: boolean;
  readonly signal: AbortSignal;
}

/** With a second emulated processor, Linux 6.12 sometimes panics when it patches its own code. */
const emulation = ['-accel', 'tcg,tb-size=1024', '-cpu', 'max', '-smp', '1'];
const bootDeadlineMs = 300_000;

/** A machine with a disk of its own, whose root logs in by SSH. */
export class VirtualMachine {
  readonly #options: VirtualMachineOptions;
  #pid: number | undefined;

  static async start(options: VirtualMachineOptions): Promise<VirtualMachine> {
    const machine = new VirtualMachine(options);
    // Sparse, and without copying where the file system can share blocks.
    await runCommand('cp', ['--sparse=always', '--reflink=auto', options.image.disk, machine.#disk]);
    try {
      await machine.powerOn();
      return machine;
    } catch (error) {
      await machine.powerOff();
      throw error;
    }
  }

  private constructor(options: VirtualMachineOptions) {
    this.#options = options;
  }

  /** Resolves when root can log in. */
  async powerOn(): Promise<void> {
    const { image, folder, tap, kvm, signal } = this.#options;
    const log = openSync(join(folder, 'qemu.log'), 'a');
    const child = spawn(
      'qemu-system-x86_64',
      [
        ...(kvm ? ['-accel', 'kvm', '-cpu', 'host', '-smp', '2'] : emulation),
        ...['-m', '3G', '-display', 'none', '-monitor', 'none', '-no-reboot'],
        ...['-serial', `file:${join(folder, 'console.log')}`, '-kernel', image.kernel, '-initrd', image.initrd],
        ...['-append', 'root=/dev/vda rw console=ttyS0 quiet panic=-1'],
        ...['-drive', `file=${this.#disk},format=raw,if=virtio,cache=unsafe`],
        ...['-netdev', `tap,id=net,ifname=${tap},script=no,downscript=no`, '-device', 'virtio-net-pci,netdev=net'],
      ],
      { stdio: ['ignore', log, log], detached: true },
    );
    closeSync(log);
    child.on('error', () => {});
    this.#pid = child.pid;
    for (const startedAtMs = Date.now(); !(await this.#responds()); await sleep(1000)) {
      signal.throwIfAborted();
      if (this.#pid === undefined || !isRunning(this.#pid) || Date.now() > startedAtMs + bootDeadlineMs)
        throw new Error(`The machine did not come up: ${join(folder, 'qemu.log')}, ${join(folder, 'console.log')}`);
    }
  }

  /** Runs a script as root. Resolves with what it prints. @throws CommandError */
  run(script: string): Promise<string> {
    return this.#ssh(['bash', '-euo', 'pipefail', '-c', quoted(script)]);
  }

  /** Copies files to a folder of the machine. */
  async copy(files: readonly string[], folder: string): Promise<void> {
    const { address, signal } = this.#options;
    await runCommand('scp', ['-q', '-r', ...this.#sshOptions, ...files, `root@${address}:${folder}`], { signal });
  }

  /** Reboots it, as its administrator does. Resolves when root can log in again. */
  async reboot(): Promise<void> {
    await this.#shutDown('reboot');
    await this.powerOn();
  }

  /** Ends it without telling its systemd. `powerOn` starts it again. */
  async powerOff(): Promise<void> {
    if (this.#pid !== undefined) await endProcess(this.#pid, 'SIGKILL');
    this.#pid = undefined;
  }

  get #disk(): string {
    return join(this.#options.folder, 'root.img');
  }

  get #sshOptions(): string[] {
    return [
      ...['-i', this.#options.image.key, '-o', 'StrictHostKeyChecking=no', '-o', 'UserKnownHostsFile=/dev/null'],
      // A busy machine says nothing for a while.
      ...['-o', 'ConnectTimeout=60', '-o', 'LogLevel=ERROR'],
    ];
  }

  #ssh(command: readonly string[]): Promise<string> {
    const { address, signal } = this.#options;
    return runCommand('ssh', [...this.#sshOptions, `root@${address}`, ...command], { signal });
  }

  async #responds(): Promise<boolean> {
    return this.#ssh(['true']).then(
      () => true,
      () => false,
    );
  }

  /** With `-no-reboot`, a reboot ends the process, too. */
  async #shutDown(command: 'reboot' | 'poweroff'): Promise<void> {
    // The connection may end before the command does.
    await this.run(`systemctl ${command}`).catch((error: unknown) => {
      if (!(error instanceof CommandError)) throw error;
    });
    for (let waitedMs = 0; this.#pid !== undefined && isRunning(this.#pid); waitedMs += 200) {
      if (waitedMs > bootDeadlineMs) throw new Error(`The machine does not end after ${command}`);
      await sleep(200);
    }
    this.#pid = undefined;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A network device of this machine, which it shares with the virtual one. Resolves with what removes it. */
export async function addTap(name: string, address: string): Promise<() => Promise<void>> {
  const ip = (...args: string[]): Promise<string> => runCommand('ip', args);
  await ip('tuntap', 'add', 'dev', name, 'mode', 'tap');
  const remove = async (): Promise<void> => void (await ip('link', 'delete', name));
  try {
    await ip('address', 'add', address, 'dev', name);
    await ip('link', 'set', name, 'up');
  } catch (error) {
    await remove();
    throw error;
  }
  return remove;
}
