#!/usr/bin/env node
import { CommanderError } from 'commander';
import { destination, pino } from 'pino';
import { AgentError } from '../node-agent/agent-error.ts';
import { CleanUps } from '../node-agent/clean-ups.ts';
import { type ContainerdAgentOptions, parseOptions } from './options.ts';
import { startAgent } from './start-agent.ts';

async function main(args: readonly string[]): Promise<number> {
  let options: ContainerdAgentOptions;
  try {
    options = parseOptions(args);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
  const stopRequested = new Promise<undefined>((resolve) => {
    process.once('SIGTERM', () => resolve(undefined));
    process.once('SIGINT', () => resolve(undefined));
  });
  const logger = pino({ level: options.logLevel }, destination({ dest: 2, sync: false }));
  const cleanUps = new CleanUps();
  try {
    const { failed } = await startAgent(options, { logger, cleanUps });
    const error = await Promise.race([stopRequested, failed]);
    if (error !== undefined) throw AgentError.from(error, '--hostname-override');
    return 0;
  } catch (error) {
    process.stderr.write(`containerd-agent: ${error instanceof AgentError ? error.message : String(error)}\n`);
    return 1;
  } finally {
    await cleanUps.run(logger);
  }
}

process.exitCode = await main(process.argv.slice(2));
