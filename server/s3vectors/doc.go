// Package s3vectors is an Amazon S3 Vectors endpoint: an http.Handler that speaks the
// HTTP API of that service, so that unchanged AWS clients (SDKs, CLI, IaC) work, over
// an Engine that keeps the vectors.
//
// # Use
//
//	h, err := s3vectors.New(s3vectors.Local(store), s3vectors.Options{Keys: keys})
//	server := s3vectors.NewServer(h, log)
//
// The handler may be embedded beside another S3 gateway: it serves only its own
// routes, POST /<Operation> and /tags/{arn}, and gives what is not its own to
// Options.Fallback. A client says which service it means in the credential scope of
// its signature, which decides where a path alone does not.
//
// # What is spoken
//
// The 19 operations of API version 2025-07-15: vector buckets, their policies, indexes,
// vectors, tags. QueryVectors takes topK up to 10,000 and pages what is too large for
// one answer (Options.QueryBytes). Index modes, text search and hybrid search are not
// there: their operations are unknown, a queryTexts is refused rather than ignored,
// queryMode is accepted because filters always come before the search, which is what
// ENHANCED means.
//
// Errors are JSON with a code in x-amzn-ErrorType, also those of signatures, routes,
// sizes and faults.
//
// # Order of a request
//
//  1. route;
//  2. signature, as far as the head of the request tells (package sigv4);
//  3. body, within the memory for bodies, at a least rate; then the whole signature;
//  4. JSON and types (SerializationException), then constraints (ValidationException);
//  5. rights: the bucket's policy (package policy), then the role of the access key
//     (package accesskeys);
//  6. the engine.
//
// # Condition keys
//
// Policies may use aws:ResourceTag/<tag>, aws:RequestTag/<tag>, aws:TagKeys,
// s3vectors:sseType and s3vectors:kmsKeyArn (of what is created), aws:username,
// aws:userid, aws:PrincipalArn, aws:PrincipalAccount, aws:PrincipalType,
// aws:ResourceAccount, aws:RequestedRegion, aws:SourceIp (of the connection),
// aws:SecureTransport (likewise), aws:UserAgent, aws:CurrentTime and aws:EpochTime. A
// request has no other.
//
// # Where this differs from AWS
//
//   - Components beyond 1e15 under euclidean, and vectors shorter than 1e-30 under
//     cosine, are refused: the engine does not hold them.
//   - Metadata whose text has more than 40 KiB, though AWS counts it as less (long lists
//     of long numbers), is refused as too large.
//   - A list of several records at fault names the first whose vector is, before those
//     whose metadata is.
//   - Names that the API cannot express, which the engine allows, are not shown.
//
// # Promises
//
// Memory is bounded: bodies in progress by Options.BodyMemory, answers by
// Options.AnswerMemory, pages of queries that wait to be fetched by Options.PageMemory;
// what does not fit waits, then gets a 503 that clients retry. A client that is slower
// than 128 KiB/s (after 10 s) is cut off with a 408.
//
// Vectors keep every bit of their float32. Numbers of metadata keep their text.
//
// No secret, signature, header or body is ever logged.
//
// Policies are cached for a second: a change through this handler is in force at once,
// one through another process within that time.
//
// # Concurrency
//
// A Handler is safe for concurrent use.
//
// May import: root, server/s3vectors/accesskeys, server/s3vectors/floatjson,
// server/s3vectors/policy, server/s3vectors/sigv4
package s3vectors
