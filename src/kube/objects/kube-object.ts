import type { KubeType } from './kube-decoder.ts';
import type { kubeTypes } from './kube-types.ts';
import type { ContainerRestartRule, Pod, ResourceRequirementsInput, Time } from './types.ts';

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

/** Types in JSON, where `bytes` are base64, and structs whose fields are known more precisely than in Go. */
interface OtherTypes {
  readonly bytes: string;
  readonly Quantity: string;
  readonly Time: Time;
  readonly ContainerRestartRule: ContainerRestartRule;
  readonly ResourceRequirements: ResourceRequirementsInput;
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

/** The spec of a pod with the fields that `PodSpec` leaves `unknown`. */
export function podSpecOf({ spec }: Pod): KubeObject<'PodSpec'> {
  return (spec ?? {}) as KubeObject<'PodSpec'>;
}
