// Package scaling is the experiment of IOPS: how the rate of queries follows what a
// block volume is allowed, by how much each dial, engine and number of clients
// changes it, and whether it is what the cost of a query predicts.
//
// # What is measured
//
// [Run] goes through the settings of [Axes]: the volume (throttled by control
// groups, see internal/throttle, where that is allowed, else as it is), the engine,
// the number of clients, and the dials of a query. For each the page cache is
// dropped, clients ask in a closed loop, a warm-up is discarded, and the answers
// within a window are counted: queries that are under way at its ends belong to
// it only when they end in it. Each second a [Sample] is taken from /proc. What the
// volume gives is measured by random reads before the runs of each setting.
//
// # What is derived
//
// The [Prediction] of a run never uses what this run cost: reads, KiB and CPU of a
// query come from the run that is most like it, with other clients or on another
// volume. It is compared with the rate measured. Rates at 32 and 128 clients are
// compared, too ([Flat]).
//
// # What is kept
//
// Each finished run is a line of runs.jsonl in the folder for the results, synced
// before the next begins. A second Run with the same folder measures only what is
// missing; when the data or what all runs have in common is another, it refuses
// with an [*OtherError]. A line that a crash has torn is measured again, and so is
// one that was taken out by hand, because something else had disturbed the run.
//
// [Report] writes scaling.json (all figures), scaling.csv (a row a run), scaling.md
// (tables), scaling.html (tables and figures, one file that needs no network) and
// scaling.svg (its first figure).
//
// Figures of time are those of the process and its machine: run it alone.
//
// May import: root, bench, fio, iopath, internal/blockdev, internal/throttle,
// internal/realdata
package scaling
