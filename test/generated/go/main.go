// Prints src/kube/objects/kube-types.ts: the Go structs of the kinds that APIServer serves and of static pods.
package main

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"strings"

	authentication "k8s.io/api/authentication/v1"
	authorization "k8s.io/api/authorization/v1"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	_ "k8s.io/cri-api" // Its api.proto is the source of src/cri/cri-api.ts.
)

var roots = []any{
	core.Pod{}, core.Node{}, core.Namespace{}, core.Event{}, core.Binding{}, core.Service{},
	core.ConfigMap{}, core.Secret{}, core.ServiceAccount{}, authentication.TokenRequest{}, authentication.TokenReview{},
	coordination.Lease{}, policy.Eviction{}, authorization.SelfSubjectAccessReview{},
	meta.DeleteOptions{},
}

// structs maps the name of a struct to its fields, written as `json-name type`.
var structs = map[string]string{}

func main() {
	for _, root := range roots {
		add(reflect.TypeOf(root))
	}
	names := make([]string, 0, len(structs))
	for name := range structs {
		names = append(names, name)
	}
	slices.Sort(names)
	fmt.Printf("// Generated from k8s.io/api %s by `npm run generated -- --write`. Do not edit.\n", version("k8s.io/api"))
	fmt.Println()
	fmt.Println("/**")
	fmt.Println(" * The Go structs of the kinds that are served: their fields by JSON name. `?` marks a field that is left")
	fmt.Println(" * out when it is empty, `*` a pointer. `string:PodPhase` is a string with a Go type of its own.")
	fmt.Println(" */")
	fmt.Println("export const kubeTypes = {")
	for _, name := range names {
		key := name
		if strings.Contains(name, ".") {
			key = "'" + name + "'"
		}
		fmt.Printf("  %s: '%s',\n", key, structs[name])
	}
	fmt.Println("} as const;")
}

func version(module string) string {
	info, _ := debug.ReadBuildInfo()
	index := slices.IndexFunc(info.Deps, func(one *debug.Module) bool { return one.Path == module })
	return info.Deps[index].Version
}

func add(t reflect.Type) {
	name := t.Name()
	if _, isKnown := structs[name]; isKnown {
		return
	}
	structs[name] = "" // Ends the recursion of types that hold themselves.
	structs[name] = strings.Join(fields(t), "; ")
}

func fields(t reflect.Type) []string {
	var list []string
	for i := range t.NumField() {
		field := t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && field.Anonymous:
			list = append(list, fields(field.Type)...)
		case isOmittedWhenEmpty(field.Type, options):
			list = append(list, name+"? "+typeOf(field.Type))
		default:
			list = append(list, name+" "+typeOf(field.Type))
		}
	}
	return list
}

// isOmittedWhenEmpty: omitempty does nothing for a struct.
func isOmittedWhenEmpty(t reflect.Type, options string) bool {
	list := strings.Split(options, ",")
	return slices.Contains(list, "omitzero") || (slices.Contains(list, "omitempty") && t.Kind() != reflect.Struct)
}

func typeOf(t reflect.Type) string {
	switch t.Name() {
	case "Time", "MicroTime", "Quantity", "IntOrString":
		return t.Name()
	case "FieldsV1":
		return "any"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + typeOf(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + typeOf(t.Elem())
	case reflect.Map:
		return "map[string]" + typeOf(t.Elem())
	case reflect.Struct:
		add(t)
		return t.Name()
	case reflect.String:
		if t.Name() != "string" {
			return "string:" + t.Name()
		}
	}
	return t.Kind().String()
}
