import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { APIServer } from '../index.ts';

/** ended: by a signal. failed: it could not start. usage: the arguments are wrong. */
const exitCodes = { ended: 0, failed: 1, usage: 2 } as const;

const usage = `Usage: kubelet-status-manager-apiserver [options]

Starts an API server in memory, for tests and for trying things out. Prints the path of a kubeconfig
on stdout when it listens, everything else on stderr, and runs until Ctrl-C or SIGTERM.

Options:
  --port <number>      port on 127.0.0.1; 0, the default, takes a free one
  --kubeconfig <file>  where to write the admin's kubeconfig; default: a file that is removed at the end
  --node <name>        adds a node's own user, with a kubeconfig in <file>.<name>; may be repeated
  --no-tls             plain HTTP, to which kubectl sends no token
  --help               prints this

Exit codes: 0 after Ctrl-C or SIGTERM, 1 when it could not start, 2 for wrong arguments.
`;

/** What the command has to do with the process that it runs in. */
export interface CommandEnvironment {
  /** Ends the server. */
  readonly end: Promise<void>;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
}

interface Options {
  readonly port: number;
  readonly kubeconfig: string | undefined;
  readonly nodes: readonly string[];
  readonly tls: boolean;
}

/** Runs the server until `end`; resolves with the exit code when nothing of it is left. */
export async function runAPIServerCommand(args: readonly string[], environment: CommandEnvironment): Promise<number> {
  const { end, writeOut, writeError } = environment;
  let options: Options | 'help';
  try {
    options = parseOptions(args);
  } catch (error) {
    writeError(`${(error as Error).message}\nTry --help.\n`);
    return exitCodes.usage;
  }
  if (options === 'help') {
    writeOut(usage);
    return exitCodes.ended;
  }
  const { port, tls, nodes } = options;
  let server: APIServer | undefined;
  let directory: string | undefined;
  try {
    server = await APIServer.start({ port, tls, nodeUsers: nodes });
    directory = options.kubeconfig === undefined ? mkdtempSync(join(tmpdir(), 'api-server-')) : undefined;
    const file = options.kubeconfig ?? join(directory!, 'kubeconfig');
    writeSecret(file, server.kubeconfigYaml());
    for (const node of nodes) writeSecret(`${file}.${node}`, server.kubeconfigYaml(node));
    writeOut(`${file}\n`);
    writeError(`Listening at ${server.url}. End it with Ctrl-C.\n  kubectl --kubeconfig ${file} get pods -A\n`);
    await end;
    return exitCodes.ended;
  } catch (error) {
    writeError(`${(error as Error).message}\n`);
    return exitCodes.failed;
  } finally {
    await server?.close();
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  }
}

/** @throws Error that says which argument is wrong */
function parseOptions(args: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...args],
    options: {
      port: { type: 'string', default: '0' },
      kubeconfig: { type: 'string' },
      node: { type: 'string', multiple: true, default: [] },
      'no-tls': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535)
    throw new Error(`--port: expected an integer between 0 and 65535, got ${JSON.stringify(values.port)}`);
  const badNode = values.node.find((node) => !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(node));
  if (badNode !== undefined) throw new Error(`--node: expected the name of a Node, got ${JSON.stringify(badNode)}`);
  return { port, kubeconfig: values.kubeconfig, nodes: values.node, tls: !values['no-tls'] };
}

/** For its owner only, even where the file was there before. */
function writeSecret(file: string, text: string): void {
  writeFileSync(file, text, { mode: 0o600 });
  chmodSync(file, 0o600);
}
