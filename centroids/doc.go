// Package centroids owns the centroids of an index: placing them over a sample
// (Train), holding them in memory (Set), finding those near a vector
// (Set.Nearest), choosing the postings that shall hold a vector (Set.Route), and
// their stored form (Set.AppendBinary, Decode).
//
// # Words
//
// D is the number of dimensions after rotation, a multiple of 8. A cell is what
// training assigns to one centroid; in the index that becomes a posting, and the
// centroid's id is the posting's. A row is the place of a centroid within one Set.
// A block is a run of rows, the unit that changed sets share. In a grouped set a
// block is a group: rows near one centre, and the centres are a small set of their
// own, the supers.
//
// Distances are squared Euclidean. Vectors and queries are rotated; a centroid is
// the mean of its cell and is not normalised, whatever the metric.
//
// # Promises
//
// A centroid IS its decoded 4- or 8-bit code (rq.CentroidCoder). Whoever encodes
// residuals, routes or measures takes Set.Decode, and a Set rebuilt from the parts
// that posting headers carry (Set.Code, Builder.AddCode) equals the one that wrote
// them.
//
// A Set never changes. Any number of goroutines may search it while others make
// new sets of it by Set.With; a Workspace, a Builder and an rq.Query belong to one
// goroutine at a time. Nearest and Route allocate nothing once their Workspace and
// result have grown.
//
// Up to 20,000 centroids every search looks at all of them, and differs from an
// exact one only by the rounding of the query (Set.Nearest). Above, a search scans
// the groups nearest to the query until more of them change next to nothing, and
// finds 0.99 of the n nearest or more.
//
// Train gives the same centroids for the same sample, configuration and seed on
// any machine and for any number of workers.
//
// May import: rq, rq/simd
package centroids
