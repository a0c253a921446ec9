package sprat

import (
	"context"
	"encoding/json"
	"math"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// depthEps are the bounds of the rescoring that the calibration tries. Below one
// sigma hardly a read is saved, while queries that come from elsewhere than the
// vectors lose recall (the demonstration's words: 0.958 at 0.75, 0.967 at 1, for
// 8.4 reads either way).
var depthEps = []float64{1, 1.25, 1.5, 2, 2.5, 3}

// measure runs the sample on the finished files to learn what each bound of the
// rescoring reads and keeps, then makes the presets.
func (c *calibration) measure(ctx context.Context, ix *Index, cal *calibrator) error {
	if !c.Fitted {
		return nil
	}
	const level = 0.97 // of the probing that the rescoring is measured behind
	odds := c.oddsFor(calibrationK, level)
	var found float64
	for i := len(depthEps) - 1; i >= 0; i-- {
		d, hits, err := c.measureDepth(ctx, ix, cal, odds, depthEps[i])
		if err != nil {
			return err
		}
		if found == 0 {
			found = max(hits, 1)
		}
		d.Kept = min(hits/found, 1)
		c.Depths = append([]rescoreDepth{d}, c.Depths...)
	}
	c.makePresets(ix.current.Load().set.Len())
	return nil
}

// measureDepth runs every sample query with one bound; hits counts the true
// neighbours in the answers.
func (c *calibration) measureDepth(ctx context.Context, ix *Index, cal *calibrator, odds, eps float64) (d rescoreDepth, hits float64, err error) {
	dim := ix.row.Dimension
	forced := &rules{probe: ix.current.Load().set.Len(), limit: maxRescored, firstWave: firstWave, odds: odds, eps: float32(eps)}
	var mu sync.Mutex // guards n, d and hits
	n := 0
	g, ctx := errgroup.WithContext(ctx)
	for part := range calibrationClients {
		g.Go(func() error {
			s := newSearcher(ix)
			s.forced, s.trial, s.cache = forced, c, nil // what is measured is cold
			for i := part; i < len(cal.rows); i += calibrationClients {
				if cal.best[i].n < calibrationK {
					continue
				}
				// The query itself is in the index, so one more is asked for.
				s.begin(cal.raw[i*dim:(i+1)*dim], calibrationK+1, &QueryOptions{})
				err := s.search(newClock(ctx, time.Time{}))
				found := cal.countHits(s, i)
				s.end() // clears what was found
				if lasting(err) {
					continue // what cannot be read is noted, and the others tell enough
				}
				if err != nil {
					return err
				}
				mu.Lock()
				n++
				d.Reads += float64(s.work.RefineReads + s.work.RecordReads)
				hits += found
				mu.Unlock()
			}
			return nil
		})
	}
	err = g.Wait()
	d.Eps, d.Reads = eps, d.Reads/float64(max(n, 1))
	return d, hits, err
}

// calibrationClients is how many sample queries run at once.
const calibrationClients = 8

// countHits counts the exact candidates that are among the true neighbours of
// sample query i, by distance.
func (c *calibrator) countHits(s *searcher, i int) float64 {
	self := c.slotOf(c.rows[i])
	limit := float64(c.best[i].dist[calibrationK-1])
	hits := 0
	for k := range s.rows {
		r := &s.rows[k]
		if r.slot != self && float64(s.engineDistance(r.distance)) <= limit+1e-4*math.Abs(limit) {
			hits++
		}
	}
	return float64(min(hits, calibrationK))
}

func (b *build) keepCalibration(c *calibration) (err error) {
	b.row.Calibration, err = json.Marshal(c)
	return err
}
