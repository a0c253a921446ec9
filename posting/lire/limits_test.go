package lire

import (
	"testing"

	"github.com/spratdb/sprat/posting"
)

func TestLimitsFor(t *testing.T) {
	for _, c := range []struct{ d, bits, bytes int }{
		{768, 1, 32 << 10}, {384, 2, 32 << 10}, {128, 4, 16 << 10}, {4096, 8, 4096},
		{384, 2, 200 << 10}, {384, 2, posting.MaxBytes}, {384, 2, 1 << 30}, {384, 2, 0},
	} {
		layout, err := posting.NewLayout(1, c.d, c.bits, 8)
		if err != nil {
			t.Fatal(err)
		}
		l := LimitsFor(&layout, c.bytes)
		if l.Target != max(1, layout.Capacity(min(c.bytes, posting.MaxBytes))) {
			t.Errorf("%+v: target %d", c, l.Target)
		}
		largest := min(c.bytes*2, posting.MaxBytes)
		if l.Split < l.Target || layout.Bytes(l.Split+1) <= largest || l.Split > 1 && layout.Bytes(l.Split) > largest {
			t.Errorf("%+v: target %d, split %d: %d bytes", c, l.Target, l.Split, layout.Bytes(l.Split))
		}
		if l.Merge < 1 || l.Fold < 1 || l.Target >= 6 && (l.Merge != l.Target/6 || 2*l.Merge > l.Split) {
			t.Errorf("%+v: %+v", c, l)
		}
	}
}

func TestDecide(t *testing.T) {
	l := Limits{Target: 120, Split: 180, Merge: 20, Fold: 15}
	cases := []struct {
		name  string
		shape Shape
		want  Action
	}{
		{"at rest", Shape{Extent: 100}, Keep},
		{"few changes", Shape{Extent: 100, Delta: 14}, Keep},
		{"many changes", Shape{Extent: 100, Delta: 15}, Fold},
		{"few changes, memory short", Shape{Extent: 100, Delta: 1, Pressed: true}, Fold},
		{"no changes, memory short", Shape{Extent: 100, Pressed: true}, Keep},
		{"a quarter dead", Shape{Extent: 100, Dead: 25}, Fold},
		{"less dead", Shape{Extent: 100, Dead: 24}, Keep},
		{"few, half of them dead", Shape{Extent: 28, Dead: 14, Only: true}, Keep},
		{"at the limit", Shape{Extent: 170, Delta: 10}, Keep},
		{"at the limit, changed", Shape{Extent: 160, Delta: 20}, Fold},
		{"above", Shape{Extent: 170, Delta: 11}, Split},
		{"above but for the dead", Shape{Extent: 170, Delta: 11, Dead: 1}, Keep},
		{"delta alone", Shape{Delta: 5000}, Split},
		{"small", Shape{Extent: 19}, Drain},
		{"at the lower limit", Shape{Extent: 20}, Keep},
		{"small and the only one", Shape{Extent: 19, Only: true}, Keep},
		{"small, the only one, changed", Shape{Delta: 19, Only: true}, Fold},
		{"draining", Shape{Extent: 100, Draining: true}, Drain},
		{"draining and grown", Shape{Extent: 500, Draining: true}, Drain},
		{"draining, now the only one", Shape{Extent: 100, Draining: true, Only: true}, Keep},
		{"dead", Shape{Extent: 50, Delta: 9, Dead: 59}, Drop},
		{"dead and draining", Shape{Extent: 50, Dead: 50, Draining: true}, Drop},
		{"dead and the only one", Shape{Extent: 50, Dead: 50, Only: true}, Drop},
		{"empty", Shape{}, Drop},
		{"more dead than there are", Shape{Extent: 3, Dead: 9}, Drop},
	}
	for _, c := range cases {
		if got := l.Decide(c.shape); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	if small := (Limits{Target: 120, Split: 180, Merge: 20, Fold: 30}).Decide(Shape{Extent: 100, Dead: 25}); small != Keep {
		t.Errorf("fewer dead than a fold is worth: %v", small)
	}
}

// TestUrgency: cuts before folds before the rest, and worse before better.
func TestUrgency(t *testing.T) {
	l := Limits{Target: 120, Split: 180, Merge: 20, Fold: 15}
	shapes := []Shape{
		{Extent: 400}, {Extent: 181}, {Extent: 60, Delta: 100}, {Extent: 60, Dead: 40}, {Extent: 60, Delta: 15},
		{Extent: 60}, {Extent: 5}, {},
	}
	for i, s := range shapes[1:] {
		before, this := l.Urgency(shapes[i]), l.Urgency(s)
		if this > before || i < 5 && this == before {
			t.Errorf("%+v has urgency %v, %+v before it %v", s, this, shapes[i], before)
		}
	}
	if l.Urgency(shapes[1]) <= 1 || l.Urgency(shapes[2]) >= 1 {
		t.Errorf("a cut has %v, a fold %v", l.Urgency(shapes[1]), l.Urgency(shapes[2]))
	}
}

func TestActionString(t *testing.T) {
	if Keep.String() != "keep" || Drop.String() != "drop" || Action(99).String() != "unknown" {
		t.Errorf("%v %v %v", Keep, Drop, Action(99))
	}
}
