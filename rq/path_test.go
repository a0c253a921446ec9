package rq

import (
	"os"
	"testing"

	"github.com/spratdb/sprat/rq/simd"
)

// TestForcedPath tells which path the tests of this package ran on. It reads the
// variable itself: the read at start is too early for the test cache to see, and
// would let a cached result of another path pass for this one.
func TestForcedPath(t *testing.T) {
	forced := os.Getenv("SPRAT_SIMD")
	t.Logf("SPRAT_SIMD=%q, path in use %q", forced, simd.Features())
	if forced == "generic" && simd.Features() != forced {
		t.Errorf("path %q in use, %q forced", simd.Features(), forced)
	}
}
