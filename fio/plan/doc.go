// Package plan says what an index of a given size, recall and rate needs (memory,
// disk, operations and bytes of the volume, processors) and which volume setting
// of a price list reaches it for the least money.
//
// # What the figures rest on
//
//   - Bytes of memory and disk come from the engine's own layouts (packages
//     posting, rescore, rq) with its default parameters. A test holds them to what
//     was measured on the real sets.
//   - Reads, KiB and CPU of a query come from real sets (measured.json, taken from
//     bench/results/ann.json by this package's tests): the frontier of each set, at
//     the recall asked for, scaled to the number of vectors, then interpolated over
//     the dimension. How many reads a recall takes depends on the data more than on
//     its dimension, so the range over all sets is given beside the estimate, and
//     own measurements replace it (Request.Own).
//   - Prices and limits of volumes come from a price list, a small JSON file that
//     says its date and source. The default one is EBS.
//
// # Promises
//
// More queries per second, more recall or more vectors never need less of anything
// and never cost less. The setting given for a volume type is the cheapest of all
// that can be ordered and reach what is needed.
//
// # The price list
//
// One JSON object. Every field is required unless said otherwise; unknown,
// repeated and missing fields are refused, and errors name field and limit.
//
//	schema_version   1
//	name, source     text
//	date             day of the prices, 2006-01-02
//	currency         text, like USD
//	volumes          1-16 volume types:
//	  name           text, unique
//	  latency_ms     what a read takes when the volume is not busy
//	  gib            min, max, step, price (of a GiB-month)
//	  iops           min, max, step, per_gib (the most for one GiB, above min),
//	                 tiers: [{above, price (of an IOPS-month above it)}], ascending
//	  mibps          min, max, step, per_iops (the most for one IOPS),
//	                 included, price (of a MiB/s-month above included);
//	                 step 0: not ordered, it follows the IOPS
//
// Everything here is a pure function of its arguments and safe for concurrent use.
//
// May import: rq, posting, rescore
package plan
