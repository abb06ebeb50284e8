import { hostname } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from './duration.ts';
import type { LogsOptions } from './logs-command.ts';
import { defaultRootDirectory } from './root-directory.ts';

/** The options of an agent. */
export interface RunOptions {
  readonly kubeconfig?: string;
  /** The port of the agent's own API server; 0 selects a free one. */
  readonly port: number;
  readonly nodeName: string;
  readonly rootDirectory: string;
  /** Creates the demo's pods on another cluster, too. */
  readonly demo: boolean;
  /** YAML files, or directories of them, with the pods to create. Absent: the demo's pods, if the agent starts its own API server. */
  readonly manifests?: readonly string[];
  /** A directory with the manifests of static pods. Absent: the demo's, with the demo's pods. */
  readonly podManifestPath?: string;
  /** How long to run. Absent: until a signal arrives. */
  readonly forMs?: number;
  /** When the agent's own API server has an outage. Absent: only when the user presses a key. */
  readonly outageAfterMs?: number;
  /** How long an outage lasts. */
  readonly outageForMs: number;
  /** The port of the kubelet API, for `kubectl logs` and `exec`. Absent: none. */
  readonly kubeletPort?: number;
  /** The certificates that sign those of the API server's requests. Absent: only tokens are accepted. */
  readonly clientCaFile?: string;
  /** Leaves the containers to the next agent. */
  readonly leaveRunning: boolean;
  readonly logLevel: string;
}

/** The parsed command line. */
export type Options =
  | { readonly command: 'run'; readonly options: RunOptions }
  | { readonly command: 'logs'; readonly options: LogsOptions };

const defaultOutageMs = 20_000;

/** The process' exit codes; `--help` lists them. */
export const exitCodes = {
  success: 0,
  wrongEndState: 1,
  usage: 2,
  failure: 3,
  forced: 130,
} as const;

const exitCodesHelp = `
Exit codes:
  ${exitCodes.success}    the time of --for is over and every pod is in its expected end state,
       or Ctrl-C, SIGTERM or SIGHUP stopped the agent
  ${exitCodes.wrongEndState}    the time of --for is over and some pod is not in its expected end state,
       or a status was lost in an outage
  ${exitCodes.usage}    the command line is wrong
  ${exitCodes.failure}    the agent could not start or could not continue
  ${exitCodes.forced}  forced by a signal while the agent was stopping

A pod's expected end state is Deleted if its deletion was requested, otherwise the value of its annotation
node-agent.kubelet-status-manager.dev/expect (Running, Alternating, Succeeded, Failed, Restarted, Resized or Deleted),
otherwise Running under restartPolicy Always and Succeeded under the other policies.`;

/** Throws a CommanderError for --help (exitCode 0) and for invalid options, after the text was printed. */
export function parseOptions(args: readonly string[]): Options {
  let result: Options | undefined;
  const command = new Command('node-agent')
    .description(
      'A small Kubernetes node agent that runs the containers of its pods as local processes.\n' +
        'Without --kubeconfig it starts its own API server in memory and creates demo pods there.',
    )
    .addOption(
      new Option(
        '--kubeconfig <file>',
        'join the cluster of this kubeconfig and run only pods annotated kubelet-status-manager.dev/run: process',
      ),
    )
    .addOption(
      new Option('--port <port>', "port of the agent's own API server; 0 selects a free one")
        .default(0)
        .argParser(readPort)
        .conflicts('kubeconfig'),
    )
    .addOption(nodeNameOption())
    .addOption(rootDirOption())
    .addOption(new Option('--demo', "create the demo's pods on the cluster of --kubeconfig, too").default(false))
    .addOption(
      new Option('--manifests <path...>', 'YAML files, or directories of them, with pods to create on this node'),
    )
    .addOption(
      new Option('--pod-manifest-path <directory>', 'manifests of static pods; changes have effect immediately'),
    )
    .addOption(new Option('--for <duration>', 'stop after this time, for example 20s or 1m30s').argParser(readDuration))
    .addOption(
      new Option('--outage-after <duration>', "stop the agent's own API server after this time, as the key o does")
        .argParser(readDuration)
        .conflicts('kubeconfig'),
    )
    .addOption(
      new Option('--outage-for <duration>', 'how long the API server is away')
        .argParser(readDuration)
        .default(defaultOutageMs, '20s'),
    )
    .addOption(
      new Option(
        '--kubelet-port <port>',
        'serve kubectl logs and exec of the cluster of --kubeconfig; 0 selects a port',
      )
        .argParser(readPort)
        .conflicts('port'),
    )
    .option('--client-ca-file <file>', "certificates that sign the API server's certificate for --kubelet-port")
    .addOption(new Option('--leave-running', 'leave the containers running for the next agent').default(false))
    .addOption(
      new Option('--log-level <level>', 'how much to log')
        .choices(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
        .default('warn'),
    )
    .addHelpText('after', exitCodesHelp)
    .allowExcessArguments(false)
    .showHelpAfterError('Try --help.')
    .exitOverride()
    .enablePositionalOptions()
    .action(({ for: forMs, outageAfter: outageAfterMs, outageFor: outageForMs, rootDir, ...rest }: RunFlags) => {
      const rootDirectory = rootDir ?? defaultRootDirectory(rest.nodeName);
      const times = { ...(forMs !== undefined && { forMs }), ...(outageAfterMs !== undefined && { outageAfterMs }) };
      result = { command: 'run', options: { ...rest, rootDirectory, outageForMs, ...times } };
    });
  command
    .command('logs')
    .description('Prints the output of a container.')
    .argument('<pod>', 'name of the pod, or its namespace/name as the table shows it')
    .option('-c, --container <name>', 'name of the container, if the pod has several')
    .option('-n, --namespace <name>', 'namespace of the pod', 'default')
    .option('-p, --previous', 'the run before the last one', false)
    .addOption(nodeNameOption())
    .addOption(rootDirOption())
    .exitOverride()
    .action((name: string, { nodeName, rootDir, ...rest }: LogsFlags) => {
      const [pod = '', namespace = rest.namespace] = name.split('/', 2).toReversed();
      const rootDirectory = rootDir ?? defaultRootDirectory(nodeName);
      result = { command: 'logs', options: { ...rest, pod, namespace, rootDirectory } };
    });
  command.parse(args, { from: 'user' });
  return result!;
}

type RunFlags = Omit<RunOptions, 'forMs' | 'outageAfterMs' | 'outageForMs' | 'rootDirectory'> & {
  readonly for?: number;
  readonly outageAfter?: number;
  readonly outageFor: number;
  readonly rootDir?: string;
};
type LogsFlags = Omit<LogsOptions, 'pod' | 'rootDirectory'> & { readonly nodeName: string; readonly rootDir?: string };

function nodeNameOption(): Option {
  return new Option('--node-name <name>', 'name of the Node').default(defaultNodeName()).argParser(readNodeName);
}

function rootDirOption(): Option {
  return new Option(
    '--root-dir <directory>',
    'where the agent keeps its files (default: ~/.node-agent/<name of the Node>)',
  );
}

function readDuration(text: string): number {
  const durationMs = parseDuration(text);
  if (!durationMs) throw new InvalidArgumentError('Expected a time above zero such as 20s, 1m30s or 500ms.');
  if (durationMs > 86_400_000) throw new InvalidArgumentError('Expected at most 24h.');
  return durationMs;
}

function readPort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('Expected a number from 0 to 65535.');
  return port;
}

/** A Node's name is a DNS subdomain, and as the label `kubernetes.io/hostname` at most 63 characters long. */
function readNodeName(text: string): string {
  if (text.length <= 63 && text.split('.').every((part) => /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(part))) return text;
  throw new InvalidArgumentError(
    'Expected lower-case letters, digits, "-" and ".", beginning and ending with a letter or digit, at most 63 characters.',
  );
}

export function defaultNodeName(): string {
  const host = hostname()
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter(Boolean)
    .join('-')
    .slice(0, 40)
    .replace(/-$/, '');
  return host === '' ? 'node-agent' : `node-agent-${host}`;
}
