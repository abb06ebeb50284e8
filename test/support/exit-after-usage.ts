import type { CommanderError } from 'commander';

/** For `exitOverride`: ends the process with 0 after --help, and with 2 after wrong usage; commander has printed either. */
export function exitAfterUsage({ exitCode }: CommanderError): never {
  process.exit(exitCode === 0 ? 0 : 2);
}
