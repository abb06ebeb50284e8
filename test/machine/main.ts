import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Argument, Command, InvalidArgumentError } from 'commander';
import { exitAfterUsage } from '../support/exit-after-usage.ts';
import { programsFolder } from '../kubernetes/programs.ts';
import { type ControlPlane, startControlPlane } from '../support/control-plane.ts';
import { archiveImages } from '../support/node/images.ts';
import { nodeName } from '../support/node/machine.ts';
import { Progress } from '../support/progress.ts';
import { makeDiskImage } from './disk-image.ts';
import { fromKubelet } from './parts/from-kubelet.ts';
import { fromReadme } from './parts/from-readme.ts';
import { isPartName, type PartName, partNames, parts, quickParts } from './parts/parts.ts';
import { recordReboot } from './parts/reboot.ts';
import { packagesOfReadme } from './readme-steps.ts';
import { missingRequirements } from './requirements.ts';
import { TestNode } from './test-node.ts';
import { addTap, VirtualMachine } from './virtual-machine.ts';

interface Options {
  readonly quick: boolean;
  readonly kvm: boolean;
  readonly keep: boolean;
  readonly record: boolean;
  readonly index: number;
}

const program = new Command('npm run machine --')
  .description(
    'Makes an empty Debian machine with systemd in QEMU a node, as the README of examples/containerd-agent says, and checks what other tests cannot: cgroups v2 with both drivers, AppArmor, killed services, reboots, a full disk.',
  )
  .addArgument(new Argument('[parts...]', `default: all of ${partNames.join(', ')}`).argParser(readPart))
  .option('--quick', `only ${quickParts.join(', ')}`, false)
  .option('--kvm', 'use /dev/kvm; emulation, the default, is five to ten times slower', false)
  .option('--record', 'run the real kubelet instead, and record how pods are after a reboot', false)
  .option('--keep', 'keep the folder with the logs; a run that fails always does', false)
  .option('--index <n>', 'keeps several runs apart: addresses and network devices', readIndex, 0)
  .addHelpText(
    'after',
    '\nExit code: 0 passed, 1 a part failed, 2 wrong usage or something is missing, 130 interrupted.',
  )
  .exitOverride(exitAfterUsage);

async function main(): Promise<number> {
  const options = program.parse().opts<Options>();
  const missing = missingRequirements();
  if (missing.length > 0) {
    process.stderr.write(`npm run machine cannot run here:\n${missing.map((line) => `- ${line}\n`).join('')}`);
    return 2;
  }
  const chosen = (program.processedArgs[0] ?? []) as PartName[];
  const names = chosen.length > 0 ? chosen : options.quick ? quickParts : partNames;
  const end = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.on(name, () => end.abort(new Error(`Interrupted by ${name}`)));
  const folder = await mkdtemp(join(tmpdir(), 'machine-'));
  let failed = 1;
  try {
    failed = await withNode(options, folder, end.signal, (node) =>
      options.record ? record(node) : runParts(node, names),
    );
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
  }
  if (failed === 0 && !options.keep) await rm(folder, { recursive: true, force: true });
  else process.stderr.write(`Logs are in ${folder}\n`);
  if (end.signal.aborted) return 130;
  return failed === 0 ? 0 : 1;
}

async function record(node: TestNode): Promise<number> {
  node.progress.begin('the kubelet, and a reboot');
  await fromKubelet(node);
  await recordReboot(node);
  return 0;
}

/** The node is made first; without it there is nothing to check. Resolves with how many parts have failed. */
async function runParts(node: TestNode, names: readonly PartName[]): Promise<number> {
  const { progress } = node;
  const report = (name: string, startedAtMs: number, failure = ''): void => {
    progress.end();
    const seconds = Math.round((Date.now() - startedAtMs) / 1000);
    process.stdout.write(`${failure === '' ? 'passed' : 'FAILED'}  ${name}, ${seconds} s${failure}\n`);
  };
  let failed = 0;
  for (const [name, run] of [['readme', fromReadme] as const, ...names.map((name) => [name, parts[name]] as const)]) {
    progress.begin(name);
    const startedAtMs = Date.now();
    try {
      await run(node);
      report(name, startedAtMs);
    } catch (error) {
      node.signal.throwIfAborted();
      report(name, startedAtMs, `: ${(error as Error).message}`);
      failed += 1;
      if (run === fromReadme) break;
      await node.administer('kubectl delete pods --all --force --grace-period=0');
    }
  }
  return failed;
}

/** Starts a control plane and an empty machine, and ends them afterwards. */
async function withNode(
  { kvm, index }: Options,
  folder: string,
  signal: AbortSignal,
  use: (node: TestNode) => Promise<number>,
): Promise<number> {
  const [address, gateway] = [`10.97.${index}.2`, `10.97.${index}.1`];
  const progress = new Progress();
  const tap = `test-vm${index}`;
  let removeTap: (() => Promise<void>) | undefined;
  let controlPlane: ControlPlane | undefined;
  let machine: VirtualMachine | undefined;
  try {
    progress.begin('image of the machine');
    const packages = [...packagesOfReadme(), 'apparmor'];
    const image = await makeDiskImage(
      { release: 'trixie', packages, address: `${address}/24`, gateway, hostname: nodeName },
      signal,
    );
    progress.begin('control plane and machine');
    removeTap = await addTap(tap, `${gateway}/24`);
    controlPlane = await startControlPlane({
      ...{ assets: programsFolder(), folder: join(folder, 'control-plane'), address: gateway, signal },
      apiServerFlags: [
        '--allow-privileged=true',
        '--kubelet-preferred-address-types=InternalIP',
        '--enable-bootstrap-token-auth',
      ],
      controllers: true,
      pki: true,
    });
    await writeFile(join(folder, 'admin.kubeconfig'), JSON.stringify(controlPlane.kubeConfig('admin')), {
      mode: 0o600,
    });
    machine = await VirtualMachine.start({ image, folder, address, tap, kvm, signal });
    const node = new TestNode({ name: nodeName, machine, controlPlane, folder, signal, progress });
    progress.begin('images of pods');
    await importImages(node);
    return await use(node);
  } finally {
    progress.end();
    await machine?.powerOff();
    await controlPlane?.stop();
    await removeTap?.();
  }
}

/** The machine reaches no registry. */
async function importImages({ machine, folder, signal }: TestNode): Promise<void> {
  const archive = await archiveImages(join(folder, 'images'), signal);
  await machine.copy([archive], '/root/');
  await machine.run(
    `ctr -n k8s.io images import /root/images.tar && rm /root/images.tar
     sandbox=$(containerd config dump | sed -n 's/.*sandbox_image = "\\(.*\\)"/\\1/p')
     ctr -n k8s.io images tag --force registry.k8s.io/pause:3.10.2 "$sandbox"
     # As if it had been pulled: it is not garbage.
     ctr -n k8s.io images label "$sandbox" io.cri-containerd.pinned=pinned`,
  );
}

function readPart(name: string, before: readonly PartName[] | undefined): PartName[] {
  if (!isPartName(name)) throw new InvalidArgumentError(`Expected one of ${partNames.join(', ')}.`);
  return [...(before ?? []), name];
}

function readIndex(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > 255) throw new InvalidArgumentError('Expected 0 to 255.');
  return value;
}

process.exitCode = await main();
