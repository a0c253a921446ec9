package cow

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestAgainstSlices: every version of an array keeps what it held, whatever is
// done to later ones.
func TestAgainstSlices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 100).Draw(t, "n")
		a := Default(n, func(i int) int { return -i })
		model := make([]int, n)
		for i := range model {
			model[i] = -i
		}
		arrays, models := []Array[int]{a}, [][]int{model}
		for range rapid.IntRange(1, 20).Draw(t, "versions") {
			from := rapid.IntRange(0, len(arrays)-1).Draw(t, "from")
			e, m := arrays[from].Edit(), slices.Clone(models[from])
			for range rapid.IntRange(0, 8).Draw(t, "changes") {
				if rapid.IntRange(0, 3).Draw(t, "kind") == 0 {
					size := rapid.IntRange(0, 150).Draw(t, "size")
					e.Resize(size)
					for len(m) < size {
						m = append(m, 0)
					}
					m = m[:size]
					continue
				}
				i, x := rapid.IntRange(0, 150).Draw(t, "i"), rapid.Int().Draw(t, "x")
				*e.Ref(i) = x
				for len(m) <= i {
					m = append(m, 0)
				}
				m[i] = x
			}
			arrays, models = append(arrays, e.Done()), append(models, m)
		}
		for v := range arrays {
			if arrays[v].Len() != len(models[v]) {
				t.Fatalf("version %d has %d elements, want %d", v, arrays[v].Len(), len(models[v]))
			}
			for i, want := range models[v] {
				if got := arrays[v].At(i); got != want {
					t.Fatalf("version %d element %d is %d, want %d", v, i, got, want)
				}
			}
		}
	})
}

// TestUnsetElementsTakeNoMemory: a default is not stored.
func TestUnsetElementsTakeNoMemory(t *testing.T) {
	a := Default(1<<20, func(int) [4]uint64 { return [4]uint64{1} })
	if got := a.MemoryBytes(); got > 8<<20/chunkLen {
		t.Fatalf("%d bytes", got)
	}
	e := a.Edit()
	e.Ref(12345)[0] = 7
	if b := e.Done(); b.At(12345)[0] != 7 || b.At(12346)[0] != 1 || a.At(12345)[0] != 1 {
		t.Fatal("default lost")
	}
}
