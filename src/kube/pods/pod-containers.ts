interface ContainerLists<Container> {
  readonly initContainers?: readonly Container[] | undefined;
  readonly containers?: readonly Container[] | undefined;
  readonly ephemeralContainers?: readonly Container[] | undefined;
}

/** The init containers and the regular containers of a spec. */
export function containersOf<Container>(spec: ContainerLists<Container> = {}): Container[] {
  return [...(spec.initContainers ?? []), ...(spec.containers ?? [])];
}

/** The containers of a spec of all three kinds. */
export function allContainersOf<Container>(spec: ContainerLists<Container> = {}): Container[] {
  return [...containersOf(spec), ...(spec.ephemeralContainers ?? [])];
}
