import { expect, it } from 'vitest';
import type { PreparedContainerFiles } from '../../src/cri/prepared-container-files.ts';
import { PodPreparation } from '../../src/cri/pod-preparation.ts';
import { podWith } from './pods.ts';

const files: PreparedContainerFiles = { nextRun: 0, terminationMessageMounts: [] };

/** The steps that were begun, in order; a failing one rejects. */
function prepare(spec: object, failing: readonly string[] = []) {
  const begun: string[] = [];
  const step = async <T>(name: string, result: T): Promise<T> => {
    begun.push(name);
    if (failing.includes(name)) throw new Error('failed');
    return result;
  };
  const preparation = new PodPreparation(podWith(spec), {
    imageRef: (image) => step(image, `ref of ${image}`),
    makeFiles: ({ name }) => step(name, files),
  });
  return { preparation, begun };
}

it('each image is looked up once, and the files of each container are made', () => {
  const containers = ['a', 'b'].map((name) => ({ name, image: 'app:1' }));
  expect(prepare({ containers }).begun).toEqual(['app:1', 'a', 'b']);
});

it('only the first init container is prepared: images may be removed before later ones are started', () => {
  const initContainers = ['a', 'b'].map((name) => ({ name, image: `${name}:1` }));
  expect(prepare({ initContainers }).begun).toEqual(['a:1', 'a']);
});

it('each result is returned once', async () => {
  const { preparation } = prepare({});
  expect([await preparation.takeImageRef('app:1'), await preparation.takeFiles('app')]).toEqual([
    'ref of app:1',
    files,
  ]);
  expect([await preparation.takeImageRef('app:1'), await preparation.takeFiles('app')]).toEqual([undefined, undefined]);
});

it('what has failed is undefined', async () => {
  const { preparation } = prepare({}, ['app:1', 'app']);
  expect([await preparation.takeImageRef('app:1'), await preparation.takeFiles('app')]).toEqual([undefined, undefined]);
});
