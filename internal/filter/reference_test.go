package filter

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"pgregory.net/rapid"
)

// The reference evaluates filters and documents as encoding/json decodes them, by
// the words of the specification and with no regard for speed. It takes filters that
// Parse accepts.

func referenceMatch(filter, doc map[string]any) bool {
	for name, operand := range filter {
		if !referenceEntry(name, operand, doc) {
			return false
		}
	}
	return true
}

func referenceEntry(name string, operand any, doc map[string]any) bool {
	branch := func(f any) bool { return referenceMatch(f.(map[string]any), doc) }
	switch name {
	case "$and":
		return !slices.ContainsFunc(operand.([]any), func(f any) bool { return !branch(f) })
	case "$or":
		return slices.ContainsFunc(operand.([]any), branch)
	}
	value, there := doc[name]
	ops, ok := operand.(map[string]any)
	if !ok {
		ops = map[string]any{"$eq": operand}
	}
	for op, operand := range ops {
		if !referenceOp(op, operand, value, there) {
			return false
		}
	}
	return true
}

func referenceOp(op string, operand, value any, there bool) bool {
	elements, isList := value.([]any)
	if !isList && there {
		elements = []any{value}
	}
	equal := func(a, b any) bool {
		switch a.(type) {
		case string, float64, bool:
			return a == b
		}
		return false
	}
	anyEquals := func(want any) bool {
		return slices.ContainsFunc(elements, func(have any) bool { return equal(have, want) })
	}
	switch op {
	case "$eq":
		return anyEquals(operand)
	case "$ne":
		return !anyEquals(operand)
	case "$in":
		return slices.ContainsFunc(operand.([]any), anyEquals)
	case "$nin":
		return !slices.ContainsFunc(operand.([]any), anyEquals)
	case "$exists":
		return there == operand.(bool)
	case "$startsWith":
		return slices.ContainsFunc(elements, func(have any) bool {
			s, ok := have.(string)
			return ok && strings.HasPrefix(s, operand.(string))
		})
	}
	v, ok := value.(float64)
	bound := operand.(float64)
	return ok && map[string]bool{"$gt": v > bound, "$gte": v >= bound, "$lt": v < bound, "$lte": v <= bound}[op]
}

// The generators draw from few names and values, so that filters often match.

var (
	someNames   = []string{"", "a", "b", "a.b", "é", "a\"b", "$x", "\U0001f600", "tag", "tags"}
	someStrings = []string{"", "a", "ab", "abc", "A", "é", "e\u0301", "\n", "\\", "\U0001f600", "1", "true", "\ufffd", "ab\x00c", "zz"}
	someNumbers = []float64{0, 1, -1, 1.5, 1e300, -1e-300, 9007199254740993, 3, 0.1, 123456789012345, 1234567890123456}
)

func drawScalar(rt *rapid.T) any {
	switch rapid.IntRange(0, 2).Draw(rt, "kind") {
	case 0:
		return rapid.SampledFrom(someStrings).Draw(rt, "string")
	case 1:
		return rapid.SampledFrom(someNumbers).Draw(rt, "number")
	}
	return rapid.Bool().Draw(rt, "bool")
}

func drawScalars(rt *rapid.T, least int) []any {
	return rapid.SliceOfN(rapid.Custom(drawScalar), least, 8).Draw(rt, "scalars")
}

// drawValue is any JSON value, those that ParseDocument refuses too.
func drawValue(rt *rapid.T) any {
	switch rapid.IntRange(0, 7).Draw(rt, "shape") {
	case 0:
		return nil
	case 1:
		return map[string]any{"a": drawScalar(rt), "b": []any{drawScalar(rt)}}
	case 2:
		return []any{drawScalar(rt), nil, []any{drawScalar(rt)}, map[string]any{}}
	case 3, 4:
		return drawScalars(rt, 0)
	}
	return drawScalar(rt)
}

func drawDocument(rt *rapid.T) map[string]any {
	doc := map[string]any{}
	for range rapid.IntRange(0, 6).Draw(rt, "fields") {
		doc[rapid.SampledFrom(someNames).Draw(rt, "name")] = drawValue(rt)
	}
	return doc
}

func drawOps(rt *rapid.T) any {
	if rapid.Bool().Draw(rt, "short") {
		return drawScalar(rt)
	}
	ops := map[string]any{}
	for range rapid.IntRange(1, 3).Draw(rt, "ops") {
		switch op := rapid.SampledFrom(opNames[Eq:]).Draw(rt, "op"); op {
		case "$eq", "$ne":
			ops[op] = drawScalar(rt)
		case "$in", "$nin":
			ops[op] = drawScalars(rt, 1)
		case "$exists":
			ops[op] = rapid.Bool().Draw(rt, "exists")
		case "$startsWith":
			ops[op] = rapid.SampledFrom(someStrings).Draw(rt, "prefix")
		default:
			ops[op] = rapid.SampledFrom(someNumbers).Draw(rt, "bound")
		}
	}
	return ops
}

func drawFilter(rt *rapid.T, depth int) map[string]any {
	filter := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(rt, "entries") {
		if depth < 3 && rapid.IntRange(0, 3).Draw(rt, "join") == 0 {
			var branches []any
			for range rapid.IntRange(1, 3).Draw(rt, "branches") {
				branches = append(branches, drawFilter(rt, depth+1))
			}
			filter[rapid.SampledFrom([]string{"$and", "$or"}).Draw(rt, "joint")] = branches
			continue
		}
		name := rapid.SampledFrom(someNames).Draw(rt, "name")
		if strings.HasPrefix(name, "$") {
			name = "b"
		}
		filter[name] = drawOps(rt)
	}
	return filter
}

// drawText writes a value as JSON in one of the many ways to write it: with spaces,
// and with characters as escapes.
func drawText(rt *rapid.T, v any) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r"}).Draw(rt, "space") }
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, k := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, space()+drawText(rt, k)+space()+":"+drawText(rt, v[k]))
		}
		return space() + "{" + strings.Join(parts, ",") + space() + "}" + space()
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, drawText(rt, e))
		}
		return space() + "[" + strings.Join(parts, ",") + space() + "]" + space()
	case string:
		return space() + drawString(rt, v) + space()
	}
	text, _ := json.Marshal(v)
	return space() + string(text) + space()
}

func drawString(rt *rapid.T, s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		plain, _ := json.Marshal(string(r))
		switch {
		case rapid.IntRange(0, 2).Draw(rt, "escape") > 0:
			b.Write(plain[1 : len(plain)-1])
		case r == '/' || r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		default:
			b.WriteString(hexEscapes(r))
		}
	}
	b.WriteByte('"')
	return b.String()
}
