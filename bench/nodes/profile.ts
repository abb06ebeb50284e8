import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';

const session = new Session();

export async function beginProfile(): Promise<void> {
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.start');
}

/** Writes a file that the developer tools of Chrome open. */
export async function endProfile(file: string): Promise<void> {
  const { profile } = await session.post('Profiler.stop');
  session.disconnect();
  writeFileSync(file, JSON.stringify(profile));
}
