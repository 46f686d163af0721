package serve

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"
)

// badJSON returns the problem with JSON of the client that cannot be read, where at is
// the path of the value that it is. Errors of encoding/json name types of Go.
func badJSON(err error, at string) *problem {
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return wrong(http.StatusBadRequest, at, "invalid_json", "%snot JSON: %v", prefixed(at), err)
	}
	if kind.Field != "" && at != "" {
		at += "."
	}
	at += kind.Field
	got, _, _ := strings.Cut(kind.Value, " ") // of a number, its digits follow
	return wrong(http.StatusBadRequest, at, "invalid_type", "%sgot JSON of type %s, want %s", prefixed(at), got, wantOf(kind.Type))
}

// prefixed returns a path as the beginning of a message; nothing if it is the whole event.
func prefixed(at string) string {
	if at == "" {
		return "The event: "
	}
	return at + ": "
}

// wantOf names the JSON that a type of Go is read from.
func wantOf(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	}
	return "an object"
}

// span spells a duration without the units that are 0: 5m, not 5m0s.
func span(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// list spells the values that a parameter takes: 1, 2 or 3.
func list[T any](values []T) string {
	var b strings.Builder
	for i, v := range values {
		switch i {
		case 0:
		case len(values) - 1:
			b.WriteString(" or ")
		default:
			b.WriteString(", ")
		}
		fmt.Fprint(&b, v)
	}
	return b.String()
}
