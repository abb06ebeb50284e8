import { hostname } from 'node:os';
import { isIP } from 'node:net';
import { Command, InvalidArgumentError, Option } from 'commander';
import { quantityValue } from 'kubelet-status-manager';
import type { NodeAgentOptions } from 'kubelet-status-manager/agent';

/** The command line. Names, meaning and defaults are those of the kubelet unless `--help` says otherwise. */
export interface ContainerdAgentOptions {
  /** Absent: the agent runs only static pods. */
  readonly kubeconfig?: string;
  readonly bootstrapKubeconfig?: string;
  /** Absent: true with `bootstrapKubeconfig`, otherwise false. */
  readonly rotateCertificates?: boolean;
  readonly hostnameOverride: string;
  readonly registerNode: boolean;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly registerWithTaints: readonly TaintOption[];
  /** Absent: the address of the default route's interface. */
  readonly nodeIp?: readonly string[];
  readonly maxPods: number;
  readonly containerRuntimeEndpoint: string;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly containerLogMaxSize: number;
  readonly containerLogMaxFiles: number;
  readonly serializeImagePulls: boolean;
  readonly imagePullCredentialsVerificationPolicy: NonNullable<
    NodeAgentOptions['imagePulls']
  >['imagePullCredentialsVerificationPolicy'];
  readonly preloadedImagesVerificationAllowlist: readonly string[];
  /** A file, or a folder of files. */
  readonly imageCredentialProviderConfig?: string;
  readonly imageCredentialProviderBinDir?: string;
  readonly imageGcHighThreshold: number;
  readonly imageGcLowThreshold: number;
  /** Thresholds by signal. */
  readonly evictionHard: Readonly<Record<string, string>>;
  readonly evictionSoft: Readonly<Record<string, string>>;
  /** Milliseconds, by signal. */
  readonly evictionSoftGracePeriod: Readonly<Record<string, number>>;
  readonly evictionMaxPodGracePeriod: number;
  /** Amounts by signal. */
  readonly evictionMinimumReclaim: Readonly<Record<string, string>>;
  /** Milliseconds. */
  readonly evictionPressureTransitionPeriod: number;
  readonly cgroupRoot: string;
  /** -1: no limit. */
  readonly podMaxPids: number;
  readonly podManifestPath?: string;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
  readonly resolvConf: string;
  readonly allowedUnsafeSysctls: readonly string[];
  readonly seccompDefault: boolean;
  /** The port of the kubelet's API; 0: none. */
  readonly port: number;
  readonly address: string;
  /** Absent: a self-signed certificate in `certDir`. */
  readonly tlsCertFile?: string;
  readonly tlsPrivateKeyFile?: string;
  readonly tlsCipherSuites?: readonly string[];
  readonly tlsMinVersion: 'VersionTLS12' | 'VersionTLS13';
  /** Of the certificates that the agent requests or creates. Absent: `pki` in the root directory. */
  readonly certDir?: string;
  readonly rotateServerCertificates: boolean;
  readonly clientCaFile?: string;
  readonly anonymousAuth: boolean;
  readonly authenticationTokenWebhook: boolean;
  readonly authorizationMode: 'Webhook' | 'AlwaysAllow';
  readonly healthzBindAddress: string;
  /** 0: health, metrics and status page are not served. */
  readonly healthzPort: number;
  readonly logLevel: string;
}

/** A taint of `--register-with-taints`. */
export interface TaintOption {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

const defaultEvictionHard =
  'memory.available<100Mi,nodefs.available<10%,nodefs.inodesFree<5%,imagefs.available<15%,imagefs.inodesFree<5%';

const help = `
Stopped with SIGTERM or SIGINT, the agent leaves the containers running; the next one, or a kubelet, adopts them.

Exit codes:
  0  a signal stopped the agent
  1  the agent could not start
  2  the command line is wrong`;

/** Throws a CommanderError for --help (exitCode 0) and for invalid options, after the text was printed. */
export function parseOptions(args: readonly string[]): ContainerdAgentOptions {
  return new Command('containerd-agent')
    .description('Turns a machine with containerd or CRI-O into a Kubernetes node.')
    .option('--kubeconfig <file>', 'the cluster to join; without it, only static pods run')
    .option(
      '--bootstrap-kubeconfig <file>',
      'credentials that request those of the node, if --kubeconfig names no file, or one whose certificate has expired',
    )
    .addOption(
      new Option(
        '--rotate-certificates [boolean]',
        "renew the node's client certificate (default: true with --bootstrap-kubeconfig)",
      ).argParser(readBoolean),
    )
    .addOption(
      new Option('--hostname-override <name>', 'name of the Node')
        .default(hostname().toLowerCase())
        .argParser(readNodeName),
    )
    .addOption(
      new Option('--register-node [boolean]', 'create and update the Node').default(true).argParser(readBoolean),
    )
    .addOption(
      new Option('--node-labels <key=value,…>', 'labels of a new Node').default({}, 'none').argParser(readLabels),
    )
    .addOption(
      new Option('--register-with-taints <key=value:effect,…>', 'taints of a new Node')
        .default([], 'none')
        .argParser(readTaints),
    )
    .addOption(
      new Option('--node-ip <addresses>', 'IP address of the node, or one of each family').argParser(readAddresses),
    )
    .addOption(
      new Option('--max-pods <number>', 'how many pods the node can run')
        .default(110)
        .argParser(readInteger(1, 100_000)),
    )
    .option(
      '--container-runtime-endpoint <endpoint>',
      'the socket of the container runtime',
      'unix:///run/containerd/containerd.sock',
    )
    .option('--root-dir <directory>', "volumes of the pods and the agent's state", '/var/lib/kubelet')
    .option('--pod-logs-dir <directory>', 'logs of the containers', '/var/log/pods')
    .addOption(
      new Option('--container-log-max-size <quantity>', 'size at which a log is rotated')
        .default(10 * 2 ** 20, '10Mi')
        .argParser(readBytes),
    )
    .addOption(
      new Option('--container-log-max-files <number>', 'log files of a container')
        .default(5)
        .argParser(readInteger(2, 1000)),
    )
    .addOption(
      new Option('--serialize-image-pulls [boolean]', 'pull one image after the other')
        .default(true)
        .argParser(readBoolean),
    )
    .addOption(
      new Option(
        '--image-pull-credentials-verification-policy <policy>',
        'which images that are present need the Secret they were pulled with',
      )
        .choices(['NeverVerify', 'NeverVerifyPreloadedImages', 'NeverVerifyAllowlistedImages', 'AlwaysVerify'])
        .default('NeverVerifyPreloadedImages'),
    )
    .addOption(
      new Option(
        '--preloaded-images-verification-allowlist <images>',
        'images that need no Secret with NeverVerifyAllowlistedImages; may end in /*',
      )
        .default([], 'none')
        .argParser((text: string) => text.split(',')),
    )
    .option(
      '--image-credential-provider-config <path>',
      'programs that get credentials for images: a file, or a folder of files (default: none)',
    )
    .option('--image-credential-provider-bin-dir <directory>', 'where these programs are')
    .addOption(
      new Option('--image-gc-high-threshold <percent>', 'disk usage at which unused images are removed; 100 for never')
        .default(85)
        .argParser(readInteger(0, 100)),
    )
    .addOption(
      new Option('--image-gc-low-threshold <percent>', 'disk usage at which the removal ends')
        .default(80)
        .argParser(readInteger(0, 100)),
    )
    .addOption(
      new Option('--eviction-hard <signal<amount,…>', 'when pods are evicted; "" for never')
        .default(readThresholds(defaultEvictionHard), defaultEvictionHard)
        .argParser(readThresholds),
    )
    .addOption(
      new Option('--eviction-soft <signal<amount,…>', 'when pods are evicted after a grace period')
        .default({}, 'never')
        .argParser(readThresholds),
    )
    .addOption(
      new Option('--eviction-soft-grace-period <signal=duration,…>', 'grace period of each soft threshold, like 1m30s')
        .default({}, 'none')
        .argParser((text) => readBySignal(text, readDuration)),
    )
    .addOption(
      new Option('--eviction-max-pod-grace-period <seconds>', 'longest grace period of pods at a soft threshold')
        .default(0)
        .argParser(readInteger(0, 86_400)),
    )
    .addOption(
      new Option('--eviction-minimum-reclaim <signal=amount,…>', 'how much more than a threshold must become available')
        .default({}, 'nothing')
        .argParser((text) => readBySignal(text, String)),
    )
    .addOption(
      new Option('--eviction-pressure-transition-period <duration>', 'how long the Node reports pressure after its end')
        .default(300_000, '5m')
        .argParser(readDuration),
    )
    .option(
      '--cgroup-root <cgroup>',
      'the cgroup of all pods; with the driver systemd, /kubepods is kubepods.slice; "" leaves cgroups to the runtime',
      '/kubepods',
    )
    .addOption(
      new Option('--pod-max-pids <number>', 'how many processes a pod may have; -1 for no limit')
        .default(-1)
        .argParser((text) => (text === '-1' ? -1 : readInteger(1, 4_194_304)(text))),
    )
    .option('--pod-manifest-path <directory>', 'manifests of static pods')
    .addOption(
      new Option('--cluster-dns <addresses>', "the cluster's DNS servers").default([], 'none').argParser(readAddresses),
    )
    .option('--cluster-domain <domain>', "domain of the cluster's Services", 'cluster.local')
    .option('--resolv-conf <file>', 'the node\'s resolver configuration; "" for none', '/etc/resolv.conf')
    .addOption(
      new Option('--allowed-unsafe-sysctls <names>', 'sysctls that pods may set; may end in .*')
        .default([], 'none')
        .argParser((text: string) => text.split(',')),
    )
    .addOption(
      new Option('--seccomp-default [boolean]', "containers without a seccomp profile get the runtime's")
        .default(false)
        .argParser(readBoolean),
    )
    .addOption(
      new Option('--port <number>', 'port of the kubelet API; 0 for none')
        .default(10_250)
        .argParser(readInteger(0, 65_535)),
    )
    .option('--address <address>', 'address of --port', '0.0.0.0')
    .option('--tls-cert-file <file>', 'certificate of the kubelet API (default: a self-signed one)')
    .option('--tls-private-key-file <file>', 'private key of --tls-cert-file')
    .addOption(
      new Option(
        '--tls-cipher-suites <names>',
        'of the kubelet API, for TLS 1.2 (default: those of Node.js)',
      ).argParser((text: string) => text.split(',')),
    )
    .addOption(
      new Option('--tls-min-version <version>', 'of the kubelet API')
        .choices(['VersionTLS12', 'VersionTLS13'])
        .default('VersionTLS12'),
    )
    .option('--cert-dir <directory>', 'where the certificates of the agent are kept (default: pki in --root-dir)')
    .addOption(
      new Option(
        '--rotate-server-certificates [boolean]',
        'request the certificate of the kubelet API from the cluster',
      )
        .default(false)
        .argParser(readBoolean),
    )
    .option('--client-ca-file <file>', "certificates that sign the kubelet API's client certificates (default: none)")
    .addOption(
      new Option('--anonymous-auth [boolean]', 'accept requests without credentials at the kubelet API')
        .default(false)
        .argParser(readBoolean),
    )
    .addOption(
      new Option('--authentication-token-webhook [boolean]', 'accept tokens of the cluster at the kubelet API')
        .default(true)
        .argParser(readBoolean),
    )
    .addOption(
      new Option('--authorization-mode <mode>', 'Webhook asks the API server what a user of the kubelet API may do')
        .choices(['Webhook', 'AlwaysAllow'])
        .default('Webhook'),
    )
    .addOption(
      new Option('--healthz-port <number>', 'port of /healthz, /readyz, /metrics and /statusz/; 0 for none')
        .default(10_248)
        .argParser(readInteger(0, 65_535)),
    )
    .option('--healthz-bind-address <address>', 'address of --healthz-port', '127.0.0.1')
    .addOption(
      new Option('--log-level <level>', 'how much to log')
        .choices(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    )
    .addHelpText('after', help)
    .allowExcessArguments(false)
    .showHelpAfterError('Try --help.')
    .exitOverride()
    .parse(args, { from: 'user' })
    .opts<ContainerdAgentOptions>();
}

function readInteger(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`Expected a number from ${min} to ${max}.`);
    return value;
  };
}

function readBytes(text: string): number {
  const bytes = quantityValue(text);
  if (bytes === undefined || bytes <= 0) throw new InvalidArgumentError('Expected a quantity above 0, like 10Mi.');
  return bytes;
}

function readBoolean(text: string): boolean {
  if (text !== 'true' && text !== 'false') throw new InvalidArgumentError('Expected true or false.');
  return text === 'true';
}

/** A Node's name is a DNS subdomain, and as the label `kubernetes.io/hostname` at most 63 characters long. */
function readNodeName(text: string): string {
  if (text.length <= 63 && text.split('.').every((part) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(part))) return text;
  throw new InvalidArgumentError('Expected lower-case letters, digits, "-" and ".", at most 63 characters.');
}

function readAddresses(text: string): string[] {
  const addresses = text.split(',');
  const invalid = addresses.find((address) => isIP(address) === 0);
  if (invalid !== undefined) throw new InvalidArgumentError(`"${invalid}" is not an IP address.`);
  return addresses;
}

function readLabels(text: string): Record<string, string> {
  const labels: Record<string, string> = {};
  for (const label of text.split(',').filter(Boolean)) {
    const [, key, value] = /^([^=]+)=(.*)$/.exec(label) ?? [];
    if (key === undefined) throw new InvalidArgumentError(`Expected key=value, got "${label}".`);
    labels[key] = value!;
  }
  return labels;
}

function readThresholds(text: string): Record<string, string> {
  const thresholds: Record<string, string> = {};
  for (const threshold of text.split(',').filter(Boolean)) {
    const [, signal, amount] = /^([\w.]+)<(.+)$/.exec(threshold) ?? [];
    if (signal === undefined) throw new InvalidArgumentError(`Expected signal<amount, got "${threshold}".`);
    thresholds[signal] = amount!;
  }
  return thresholds;
}

function readBySignal<Value>(text: string, readValue: (text: string) => Value): Record<string, Value> {
  const values: Record<string, Value> = {};
  for (const entry of text.split(',').filter(Boolean)) {
    const [, signal, value] = /^([\w.]+)=(.+)$/.exec(entry) ?? [];
    if (signal === undefined) throw new InvalidArgumentError(`Expected signal=value, got "${entry}".`);
    values[signal] = readValue(value!);
  }
  return values;
}

/** Milliseconds. Source: Go `time.ParseDuration`, without units below milliseconds. */
function readDuration(text: string): number {
  const unitMs: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };
  if (text === '0') return 0;
  if (!/^(\d+(\.\d+)?(h|ms|m|s))+$/.test(text))
    throw new InvalidArgumentError(`Expected a duration like 1m30s, got "${text}".`);
  const [, ...units] = text.split(/[\d.]+/);
  const amounts = text.split(/[a-z]+/);
  return units.reduce((ms, unit, i) => ms + Number(amounts[i]) * unitMs[unit]!, 0);
}

function readTaints(text: string): TaintOption[] {
  return text
    .split(',')
    .filter(Boolean)
    .map((taint) => {
      const [, key, value, effect] =
        /^([^=:]+)(?:=([^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/.exec(taint) ?? [];
      if (key === undefined) throw new InvalidArgumentError(`Expected key=value:effect, got "${taint}".`);
      return { key, ...(value && { value }), effect: effect! };
    });
}
