package s3vectors

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/s3vectors/floatjson"
)

// Limits of lists.
const (
	maxPut    = 500
	maxGet    = 100
	maxDelete = 500
)

// vector is a vector of a request.
type vector struct {
	values []float32 // no more than sprat.MaxDimension
	count  int       // of values that were given
	form   unionForm
}

// unionForm says what an object that must hold exactly "float32" holds.
type unionForm byte

const (
	unionEmpty unionForm = iota
	unionFine
	unionOther // another member, or more than one
)

// read reads {"float32": [...]}. hint is how many values are likely.
func (v *vector) read(s *floatjson.Scanner, hint int) error {
	v.form = unionEmpty
	return s.Object(func(name []byte) (err error) {
		switch {
		case string(name) == "__type" || s.TakeNull():
			return nil
		case string(name) != "float32" || v.form != unionEmpty:
			v.form = unionOther
			return nil
		}
		v.form = unionFine
		v.values, v.count, err = s.Float32s(make([]float32, 0, hint), sprat.MaxDimension)
		return err
	})
}

// check adds what is wrong with the form of a vector.
func (v *vector) check(out *violations, path string) {
	switch {
	case v == nil:
		out.missing(path)
	case v.form != unionFine:
		out.add(path, "Value", "have exactly one member set")
	}
}

// Reasons why a vector does not fit an index.
const (
	reasonNotFinite = "vector contains NaNs or Infs"
	reasonZero      = "cosine distance does not support vectors with zero norm"
)

// reason says why a vector does not fit an index, "" when it does.
func (v *vector) reason(ix *IndexInfo) string {
	if v.count != ix.Dimension {
		return fmt.Sprintf("vector must have length %d, but has length %d", ix.Dimension, v.count)
	}
	norm := 0.0
	for _, x := range v.values {
		if x-x != 0 { // NaN or infinite
			return reasonNotFinite
		}
		norm += float64(x) * float64(x)
	}
	switch {
	case ix.Metric == sprat.Cosine && norm < 1e-60: // as short as the engine takes
		return reasonZero
	case ix.Metric != sprat.Cosine && norm > sprat.MaxMagnitude*sprat.MaxMagnitude && v.tooLong():
		return fmt.Sprintf("vector has components of magnitude above %g", float64(sprat.MaxMagnitude))
	}
	return ""
}

// tooLong says that a component is beyond what the engine holds under metrics of
// length.
func (v *vector) tooLong() bool {
	for _, x := range v.values {
		if math.Abs(float64(x)) > sprat.MaxMagnitude {
			return true
		}
	}
	return false
}

// vectorList is the member "vectors".
type vectorList struct {
	given bool
	list  []putVector // no more than maxPut
	count int
}

type putVector struct {
	key      *string
	data     *vector
	metadata []byte // compact JSON; nil for none
}

func readVectors(q *request, s *floatjson.Scanner) error {
	v := &q.vectors
	*v = vectorList{given: true}
	hint := 0
	return s.Array(func(i int) error {
		v.count++
		if i >= maxPut {
			return nil
		}
		var p putVector
		err := s.Object(func(name []byte) error {
			switch string(name) {
			case "key":
				return optionalText(&p.key, s)
			case "data":
				if s.TakeNull() {
					return nil
				}
				p.data = &vector{}
				err := p.data.read(s, hint)
				hint = len(p.data.values)
				return err
			case "metadata":
				var err error
				p.metadata, err = s.AppendCompact(nil)
				return err
			}
			return nil
		})
		v.list = append(v.list, p)
		return err
	})
}

func optionalText(at **string, s *floatjson.Scanner) error {
	*at = nil
	if s.TakeNull() {
		return nil
	}
	text, err := s.String()
	*at = &text
	return err
}

// check adds what is wrong with the list.
func (v *vectorList) check(out *violations) {
	if !v.given {
		out.missing("/vectors")
		return
	}
	out.length("/vectors", v.count, 1, maxPut)
	for i := range v.list {
		path := "/vectors/" + strconv.Itoa(i)
		if key := v.list[i].key; key == nil {
			out.missing(path + "/key")
		} else {
			out.length(path+"/key", utf8.RuneCountInString(*key), 1, sprat.MaxKeyBytes)
		}
		v.list[i].data.check(out, path+"/data")
	}
}

// records checks the vectors against the index, and returns them as records.
func (v *vectorList) records(ix *IndexInfo) ([]sprat.Record, error) {
	records := make([]sprat.Record, len(v.list))
	seen := make(map[string]struct{}, len(v.list))
	for i := range v.list {
		p := &v.list[i]
		path := "vectors[" + strconv.Itoa(i) + "]"
		if len(*p.key) > sprat.MaxKeyBytes {
			return nil, badInput(path, textKeyBytes)
		}
		if _, twice := seen[*p.key]; twice {
			return nil, badInput("vectors", textDuplicateKeys)
		}
		seen[*p.key] = struct{}{}
		if why := p.data.reason(ix); why != "" {
			return nil, badRecord(*p.key, path, why)
		}
		records[i] = sprat.Record{Key: *p.key, Vector: p.data.values, Metadata: p.metadata}
	}
	return records, nil
}

// badRecord is the error about one record.
func badRecord(key, path, why string) *apiError {
	return badField("Invalid record for key '"+key+"': "+why, path, why)
}

// keyList is the member "keys".
type keyList struct {
	given bool
	list  []*string // no more than maxDelete
	count int
}

func readKeys(q *request, s *floatjson.Scanner) error {
	k := &q.keys
	*k = keyList{given: true}
	return s.Array(func(i int) error {
		k.count++
		if i >= maxDelete {
			return nil
		}
		var key *string
		err := optionalText(&key, s)
		k.list = append(k.list, key)
		return err
	})
}

func (k *keyList) check(out *violations, most int) {
	if !k.given {
		out.missing("/keys")
		return
	}
	out.length("/keys", k.count, 1, most)
	for i, key := range k.list {
		path := "/keys/" + strconv.Itoa(i)
		if key == nil {
			out.missing(path)
		} else {
			out.length(path, utf8.RuneCountInString(*key), 1, sprat.MaxKeyBytes)
		}
	}
}

// unique returns the keys, each once, in their order.
func (k *keyList) unique() ([]string, error) {
	keys := make([]string, 0, len(k.list))
	seen := make(map[string]struct{}, len(k.list))
	for i, key := range k.list {
		if len(*key) > sprat.MaxKeyBytes {
			return nil, badInput("keys["+strconv.Itoa(i)+"]", textKeyBytes)
		}
		if _, twice := seen[*key]; !twice {
			seen[*key] = struct{}{}
			keys = append(keys, *key)
		}
	}
	return keys, nil
}

// readQueryVector reads the member "queryVector".
func readQueryVector(q *request, s *floatjson.Scanner) error {
	q.query = &vector{}
	return q.query.read(s, 0)
}

// readFilter keeps the member "filter" in compact form.
func readFilter(q *request, s *floatjson.Scanner) (err error) {
	q.filter, err = s.AppendCompact(nil)
	return err
}
