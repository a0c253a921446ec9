// Command sprat is the vector search engine as one program: it builds indexes
// from files of vectors, queries and measures them, and checks and describes what
// lies on the volume.
//
//	sprat demo      build and query a real set of words in a temporary store
//	sprat build     make an index from a file of vectors
//	sprat query     run queries against an index and report recall and cost
//	sprat truth     find the exact nearest neighbours by scanning everything
//	sprat stats     describe a store and its indexes
//	sprat trace     run one query and tell in words what it did
//	sprat verify    read an index and check its invariants
//	sprat drop      remove an index
//	sprat snapshot  keep a copy of a store in a folder or an object store
//	sprat restore   make a store from a snapshot
//	sprat calibrate measure what the volume gives, and predict what queries get
//	sprat bench     experiments with tables and plots
//	sprat serve     serve a store over gRPC and the S3 Vectors API
//	sprat gateway   serve the S3 Vectors API in front of a remote engine
//	sprat plan      say what an index will need, and the cheapest volume for it
//
// `sprat COMMAND --help` describes the flags.
//
// # Conventions
//
// Results go to standard output, as text or, with --json, as exactly one JSON
// object. Progress, warnings and errors go to standard error; an error is one line
// that begins with "sprat:". Exit codes:
//
//	0  done
//	1  failed: the files, the store or the volume
//	2  bad usage: the command line asks for what cannot be
//	3  below expectation: verify found a fault, bench a budget exceeded
//
// An interrupt (SIGINT, SIGTERM) ends the work, removes what is temporary and
// exits with 1; a second one ends the process at once.
//
// # Files
//
// There is one file for each command, which only wires flags to the packages
// sprat and bench; what every command shares is in root.go (running), flags.go
// (kinds of values), store.go (opening a store), engine.go and connection.go (a store
// behind a server, --addr), dials.go (flags of a query), config.go (--config),
// output.go, memoryshares.go and progress.go.
//
// May import: root, bench, bench/scaling, fio, fio/plan, s3snapshot, internal/demodata,
// server/s3vectors, server/s3vectors/accesskeys, server/s3vectors/remote,
// server/grpc, server/grpc/client, server/grpc/certs, server/grpc/tokens, server/ops
package main
