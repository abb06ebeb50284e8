import type { ReadStream } from 'node:tty';
import type { Clock } from 'kubelet-status-manager';

/** What a terminal does for these keys, unless a program reads each key itself. */
const controlSignals: { readonly [key: string]: NodeJS.Signals } = {
  '\u0003': 'SIGINT',
  '\u001A': 'SIGTSTP',
  '\u001C': 'SIGQUIT',
};

/** Keys that the terminal has kept come with the first read. */
const ignoredMs = 100;

/**
 * Calls a function for each key that is typed from now on: those that were typed before, for example while the program was
 * compiled, are ignored. Ctrl-C, Ctrl-Z and Ctrl-\ keep their effect.
 * @param signalGroup sends a signal to the process group in the foreground, as the terminal does
 * @returns what ends it
 */
export function readKeys(
  terminal: Pick<ReadStream, 'setRawMode' | 'setEncoding' | 'on' | 'off' | 'resume' | 'pause'>,
  onKey: (key: string) => void,
  clock: Pick<Clock, 'monotonicMs'>,
  signalGroup = (signal: NodeJS.Signals): void => void process.kill(0, signal),
): () => void {
  const ignoredUntilMs = clock.monotonicMs() + ignoredMs;
  const read = (): void => void terminal.setRawMode(true);
  const handleData = (keys: string): void => {
    for (const key of keys) {
      const signal = controlSignals[key];
      if (signal === undefined) {
        if (clock.monotonicMs() >= ignoredUntilMs) onKey(key);
      } else {
        // The shell that is in the foreground after Ctrl-Z must find its terminal as it was.
        if (signal === 'SIGTSTP') terminal.setRawMode(false);
        signalGroup(signal);
      }
    }
  };
  terminal.setEncoding('utf8');
  terminal.on('data', handleData);
  terminal.resume();
  read();
  process.on('SIGCONT', read);
  return () => {
    process.off('SIGCONT', read);
    terminal.off('data', handleData);
    terminal.setRawMode(false);
    terminal.pause();
  };
}
