import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A line of the agent's log. */
export interface LogEntry {
  readonly level: number;
  readonly msg: string;
  readonly reason?: string;
}

const warn = 40;

/** The log of the agent, which all its processes append to. */
export class AgentLog {
  readonly #file: string;

  constructor(agentFolder: string) {
    this.#file = join(agentFolder, 'agent.log');
  }

  /** Where the log ends now, for `entriesSince`. */
  get length(): number {
    return this.#read().length;
  }

  /** Warnings and errors. A process that was killed may have left half a line. */
  warningsSince(length: number): LogEntry[] {
    return this.entriesSince(length).filter(({ level }) => level >= warn);
  }

  entriesSince(length: number): LogEntry[] {
    return this.#read()
      .subarray(length)
      .toString()
      .split('\n')
      .flatMap((line) => {
        try {
          return [JSON.parse(line) as LogEntry];
        } catch {
          return line === '' ? [] : [{ level: warn, msg: line }];
        }
      });
  }

  #read(): Buffer {
    try {
      return readFileSync(this.#file);
    } catch {
      return Buffer.alloc(0);
    }
  }
}
