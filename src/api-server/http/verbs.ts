/** The request attributes of a method and a path. Source: `RequestInfoFactory`. */
export type Verb = 'get' | 'list' | 'watch' | 'create' | 'update' | 'patch' | 'delete' | 'deletecollection';

/** The verb of each HTTP method that is allowed. */
export interface Verbs {
  readonly [method: string]: Verb;
}
