import { rolldown } from 'rolldown';

/** Writes a program with its dependencies into one file, as docs/guides/production.md recommends, and returns its path. */
export async function bundle(input: string, file: string): Promise<string> {
  const build = await rolldown({ input, platform: 'node', logLevel: 'silent' });
  await build.write({ file, codeSplitting: false });
  return file;
}
