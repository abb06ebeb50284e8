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
  const stopRequested = new Promise((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
  });
  const logger = pino({ level: options.logLevel }, destination({ dest: 2, sync: false }));
  const cleanUps = new CleanUps();
  try {
    await startAgent(options, { logger, cleanUps });
    await stopRequested;
    return 0;
  } catch (error) {
    process.stderr.write(`containerd-agent: ${error instanceof AgentError ? error.message : String(error)}\n`);
    return 1;
  } finally {
    await cleanUps.run(logger);
  }
}

process.exitCode = await main(process.argv.slice(2));
