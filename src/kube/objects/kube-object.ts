import { kubeTypes } from './kube-types.ts';
import type { CanonicalTime, Time } from '../../shared/time.ts';

export type KubeType = keyof typeof kubeTypes;

/** One field of a Go struct. */
export interface StructField {
  readonly name: string;
  /** It is left out when it is empty. */
  readonly isOptional: boolean;
  /** As in `kubeTypes`: `[]ContainerPort`. */
  readonly type: string;
}

/** The fields of a struct, from text such as `name? string; ports? []ContainerPort`. */
export function structFields(struct: KubeType): StructField[] {
  return kubeTypes[struct].split('; ').map((field) => {
    const [, name = '', mark, type = ''] = /^(\w+)(\??) (.+)$/.exec(field) ?? [];
    return { name, isOptional: mark === '?', type };
  });
}

/** Each field of `name string; ports? []ContainerPort`. */
type FieldsOf<Text> = Text extends `${infer Field}; ${infer Rest}` ? Field | FieldsOf<Rest> : Text;

/** `ports` of `ports? []ContainerPort`. */
type NameOf<Field> = Field extends `${infer Name} ${string}` ? (Name extends `${infer Bare}?` ? Bare : Name) : never;

/** The names of the fields of a struct. */
export type KubeFieldName<Struct extends KubeType> = NameOf<FieldsOf<(typeof kubeTypes)[Struct]>>;

interface Scalars {
  readonly string: string;
  readonly bool: boolean;
  readonly int32: number;
  readonly int64: number;
  readonly IntOrString: number | string;
}

/** Types in JSON, where `bytes` are base64. */
interface OtherTypes {
  readonly bytes: string;
  readonly Quantity: string;
  readonly Time: Time;
}

type ValueOf<Type> = Type extends `*${infer Value}`
  ? ValueOf<Value>
  : Type extends `[]${infer Element}`
    ? readonly ValueOf<Element>[]
    : Type extends `map[string]${infer Value}`
      ? { readonly [key: string]: ValueOf<Value> }
      : Type extends `string:${string}`
        ? string
        : Type extends keyof (Scalars & OtherTypes)
          ? (Scalars & OtherTypes)[Type]
          : Type extends KubeType
            ? KubeObject<Type>
            : unknown;

/** A scalar that Go never leaves out. */
type RequiredField = `${string} ${keyof Scalars | `string:${string}`}`;

type IsRequired<Field> = Field extends `${string}? ${string}` ? false : Field extends RequiredField ? true : false;

/**
 * An object of the API, as the API server or the validation of static pods has checked it: its fields are read without
 * checks. The type follows from the Go structs in `kubeTypes`.
 */
export type KubeObject<Struct extends KubeType> = {
  readonly [
    Field in FieldsOf<(typeof kubeTypes)[Struct]> as IsRequired<Field> extends true ? NameOf<Field> : never
  ]: Field extends `${string} ${infer Type}` ? ValueOf<Type> : never;
} & {
  readonly [Field in FieldsOf<(typeof kubeTypes)[Struct]> as IsRequired<Field> extends true ? never : NameOf<Field>]?:
    | (Field extends `${string} ${infer Type}` ? ValueOf<Type> : never)
    | undefined;
};

/** What Go writes for a field that it does not omit when it is empty. */
type CanonicalValueOf<Type> = Type extends 'Time'
  ? CanonicalTime
  : Type extends `*${infer Value}`
    ? CanonicalValueOf<Value> | null
    : Type extends `[]${infer Element}`
      ? readonly CanonicalValueOf<Element>[] | null
      : Type extends `map[string]${infer Value}`
        ? { readonly [key: string]: CanonicalValueOf<Value> } | null
        : Type extends KubeType
          ? CanonicalObject<Type>
          : ValueOf<Type>;

/** An object in the format that Go's typed structs would write: an empty field that Go omits is absent. */
export type CanonicalObject<Struct extends KubeType> = {
  readonly [
    Field in FieldsOf<(typeof kubeTypes)[Struct]> as Field extends `${string}? ${string}` ? never : NameOf<Field>
  ]: Field extends `${string} ${infer Type}` ? CanonicalValueOf<Type> : never;
} & {
  readonly [
    Field in FieldsOf<(typeof kubeTypes)[Struct]> as Field extends `${string}? ${string}` ? NameOf<Field> : never
  ]?: Field extends `${string}? *Time`
    ? CanonicalTime
    : Field extends `${string} ${infer Type}`
      ? NonNullable<CanonicalValueOf<Type>>
      : never;
};

/** The spec of a pod; empty if it has none. */
export function podSpecOf({ spec = {} }: { readonly spec?: KubeObject<'PodSpec'> | undefined }): KubeObject<'PodSpec'> {
  return spec;
}
