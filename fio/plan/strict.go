package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// shape is what an object of a price list has: its fields, and of those that are
// objects or lists of objects, theirs.
type shape map[string]shape

var pricesShape = shape{
	"schema_version": nil, "name": nil, "date": nil, "source": nil, "currency": nil,
	"volumes": {
		"name": nil, "latency_ms": nil,
		"gib": {"min": nil, "max": nil, "step": nil, "price": nil},
		"iops": {"min": nil, "max": nil, "step": nil, "per_gib": nil,
			"tiers": {"above": nil, "price": nil}},
		"mibps": {"min": nil, "max": nil, "step": nil, "per_iops": nil, "included": nil, "price": nil},
	},
}

// checkNames refuses what encoding/json lets pass in silence: fields that are
// missing (a price of 0 must be said), that come twice, or whose case is another.
func checkNames(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	if err := checkValue(dec, pricesShape, ""); err != nil {
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return fmt.Errorf("%w: the file ends early", ErrPrices)
		}
		return err
	}
	return nil
}

// checkValue reads one value. Lists add nothing to the path but their index.
func checkValue(dec *json.Decoder, s shape, path string) error {
	token, err := dec.Token()
	if err != nil {
		return wrapSyntax(err)
	}
	switch token {
	case json.Delim('{'):
		return checkObject(dec, s, path)
	case json.Delim('['):
		for i := 0; dec.More(); i++ {
			if err := checkValue(dec, s, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
		_, err = dec.Token()
		return wrapSyntax(err)
	case nil:
		return badPrice(strings.TrimPrefix(path, "."), "a value", "null")
	}
	return nil
}

func checkObject(dec *json.Decoder, s shape, path string) error {
	missing := maps.Clone(s)
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return wrapSyntax(err)
		}
		name, _ := token.(string)
		at := strings.TrimPrefix(path+"."+name, ".")
		inner, known := s[name]
		if _, first := missing[name]; known && !first {
			return badPrice(at, "the field once", "it twice")
		} else if !known {
			return badPrice(at, "one of the fields "+strings.Join(slices.Sorted(maps.Keys(s)), ", "), "an unknown one")
		}
		delete(missing, name)
		if err := checkValue(dec, inner, "."+at); err != nil {
			return err
		}
	}
	if _, err := dec.Token(); err != nil {
		return wrapSyntax(err)
	}
	for _, name := range slices.Sorted(maps.Keys(missing)) {
		return badPrice(strings.TrimPrefix(path+"."+name, "."), "a value", "none")
	}
	return nil
}

// wrapSyntax leaves the ends of the text to checkNames.
func wrapSyntax(err error) error {
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF {
		return err
	}
	return fmt.Errorf("%w: %w", ErrPrices, err)
}
