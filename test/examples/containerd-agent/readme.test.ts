import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { parseOptions } from '../../../examples/containerd-agent/options.ts';
import { readKubeconfig } from '../../../examples/node-agent/read-kubeconfig.ts';

const read = (name: string): string =>
  readFileSync(new URL(`../../../examples/containerd-agent/${name}`, import.meta.url), 'utf8');
const readme = read('README.md');
const service = read('containerd-agent.service');
const blocks = (language: string): string[] =>
  [...readme.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, text]) => text!);

/** The lines between `<<END` and `END`. */
const hereDocument = (contains: string): string =>
  blocks('sh')
    .map((text) => /<<END\n(.*?)\nEND$/ms.exec(text)?.[1] ?? '')
    .find((text) => text.includes(contains))!;

describe('examples/containerd-agent', () => {
  it('has the options that its README and its unit name', () => {
    // Those of other programs: apt-get, node, npm, systemctl, kubectl.
    const others = new Set([
      '--no-install-recommends',
      '--max-semi-space-size',
      '--initial-old-space-size',
      '--heap-growing-percent',
      '--gc-memory-reducer-start-delay-ms',
      '--always-sparkplug',
      '--now',
      '--help',
      '--package',
      '--raw',
      '--minify',
      '--image',
      '--overrides',
    ]);
    const options = readFileSync(new URL('../../../examples/containerd-agent/options.ts', import.meta.url), 'utf8');
    const named = [...`${readme}${service}`.matchAll(/(?<![-\w])--[a-z][-a-z]+/g)].map(([flag]) => flag);
    const missing = named.filter((flag) => !others.has(flag) && !options.includes(`${flag} `));
    expect(named.length).toBeGreaterThan(8);
    expect(missing).toEqual([]);
  });

  it('starts with the command line of its unit', () => {
    const command = /^ExecStart=(.*?[^\\])$/ms.exec(service)![1]!.split(/[\s\\]+/);
    const main = command.indexOf('/opt/containerd-agent/main.mjs');
    const [node, ...nodeOptions] = command.slice(0, main);
    expect(node).toBe('/usr/bin/node');
    execFileSync(process.execPath, [...nodeOptions, '--version']);
    const options = parseOptions(command.slice(main + 1).filter((arg) => arg !== '$AGENT_ARGS'));
    expect(options).toMatchObject({
      kubeconfig: '/etc/kubernetes/kubelet.conf',
      clientCaFile: '/etc/kubernetes/pki/ca.crt',
      podManifestPath: '/etc/kubernetes/manifests',
    });
    expect(readme).toContain(`cat >${options.kubeconfig} `);
  });

  it('has a README whose kubeconfig can be read', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'readme-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const file = join(folder, 'kubelet.conf');
    writeFileSync(file, hereDocument('kind: Config'));
    const { kubeConfig } = await readKubeconfig(file);
    expect(kubeConfig.users).toEqual([
      { name: 'node', user: { 'client-certificate': 'pki/node.crt', 'client-key': 'pki/node.key' } },
    ]);
  });

  it('has a README whose request for a certificate is that of a node', () => {
    expect(parse(hereDocument('CertificateSigningRequest'))).toMatchObject({
      apiVersion: 'certificates.k8s.io/v1',
      spec: { signerName: 'kubernetes.io/kube-apiserver-client-kubelet', usages: ['digital signature', 'client auth'] },
    });
  });

  it('has a README whose network is valid JSON, and whose commands a shell can read', () => {
    expect(JSON.parse(blocks('json')[0]!)).toMatchObject({ plugins: [{ type: 'bridge' }, { type: 'portmap' }] });
    for (const commands of blocks('sh')) execFileSync('sh', ['-n'], { input: commands });
    expect(blocks('sh').length).toBeGreaterThanOrEqual(6);
  });
});
