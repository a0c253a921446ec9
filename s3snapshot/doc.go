// Package s3snapshot keeps snapshots in an S3-compatible object store: it turns
// a [Config], or a URL by way of [Parse], into a target for snapshots. It is a
// package of its own so that only programs that import it link the SDK.
//
// May import: internal/archive
//
// # What it promises
//
// A Put is whole and durable when it returns: one request, with the SHA-256 of
// the content for the server to check. Requests that fail for a reason that may
// pass are tried again, with growing pauses. A connection that delivers nothing
// for a minute counts as failed. An object that does not exist is fs.ErrNotExist;
// a bucket that does not exist is found out by [New]. No error and no text of
// this package holds the secret key or the session token.
//
// The lease of a writer is made by a conditional write (If-None-Match), where
// the server has those; elsewhere by a look and a write, between which another
// writer could slip.
//
// # Credentials
//
// Those of the Config, or where the SDK finds them: AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, the shared configuration files,
// the role of the container or machine. The region comes from the Config,
// AWS_REGION or the shared configuration; with an endpoint of its own it may be
// missing. They need s3:ListBucket, s3:GetObject, s3:PutObject and
// s3:DeleteObject below the prefix.
//
// # URLs
//
//	s3://bucket/prefix?region=eu-central-1
//	s3://bucket/prefix?endpoint=http://localhost:9000
//	s3://bucket?endpoint=https://s3.example.com&path-style=0
//
// A target is safe for concurrent use.
package s3snapshot
