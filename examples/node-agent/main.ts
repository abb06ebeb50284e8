import { CommanderError } from 'commander';
import { destination, multistream, pino } from 'pino';
import { AgentError } from './agent-error.ts';
import { CleanUps } from './clean-ups.ts';
import { LogTail } from './log-tail.ts';
import { readContainerLog } from './logs-command.ts';
import { exitCodes, type Options, parseOptions, type RunOptions } from './options.ts';
import { RootDirectory } from './root-directory.ts';
import { runAgent } from './run.ts';

const shownLogLines = 4;

// A terminal that cannot move its cursor gets the same output as a pipe.
const isTerminal = process.stdout.isTTY && process.env['TERM'] !== 'dumb';

/** Prints a message for people. When the output is piped, stdout is reserved for JSON, so it goes to stderr. */
function printMessage(text: string): void {
  (isTerminal ? process.stdout : process.stderr).write(`${text}\n`);
}

async function run(options: RunOptions): Promise<number> {
  const root = new RootDirectory(options.rootDirectory);
  process.once('exit', () => root.removeIfEmpty());
  // On a terminal, the screen shows only the table and the newest lines of the log.
  const logTail = new LogTail(shownLogLines);
  const logFile = destination({ dest: isTerminal ? root.agentLogFile : 2, sync: true, mode: 0o600 });
  const { logLevel: level } = options;
  const logger = pino(
    { level },
    multistream([logFile, ...(isTerminal ? [logTail] : [])].map((stream) => ({ level: 'trace', stream }))),
  );
  const cleanUps = new CleanUps();
  try {
    if (await runAgent(options, { root, logger, logTail, cleanUps, isTerminal, printMessage }))
      return exitCodes.success;
    printMessage(
      `Some pods are not in their expected end state, or a status was lost. The logs are kept in ${root.path}`,
    );
    return exitCodes.wrongEndState;
  } finally {
    await cleanUps.run(logger);
    root.removeIfEmpty();
  }
}

async function main(args: readonly string[]): Promise<number> {
  // The reader of `| head` may have gone.
  process.stdout.on('error', () => {});
  let parsed: Options;
  try {
    parsed = parseOptions(args);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? exitCodes.success : exitCodes.usage;
  }
  try {
    if (parsed.command === 'run') return await run(parsed.options);
    process.stdout.write(readContainerLog(parsed.options));
    return exitCodes.success;
  } catch (error) {
    process.stderr.write(`node-agent: ${error instanceof AgentError ? error.message : String(error)}\n`);
    return exitCodes.failure;
  }
}

process.exitCode = await main(process.argv.slice(2));
