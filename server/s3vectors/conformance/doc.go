// Package conformance runs real AWS clients against a live S3 Vectors server: boto3
// (clients/boto3_client.py), the AWS CLI (clients/cli_client.py) and the SDK for
// JavaScript (clients/js_client.cjs). What they do with the Go SDK is tested beside the
// handler. The package has no code of its own, only a test that serves a store on
// loopback and starts the scripts.
//
// It takes a minute, of which the CLI has most, and runs only when it is asked for:
//
//	SPRAT_CLIENTS installed: those clients that are there; required: all, or it fails
//	SPRAT_PYTHON  a Python with boto3 (default python3)
//	SPRAT_AWS     the AWS CLI (default aws)
//	SPRAT_NODE    Node.js (default node), which finds @aws-sdk/client-s3vectors by NODE_PATH
//
// The server of the test also takes POST /_fault {"status", "code", "times"}, which
// makes the next requests fail in that way.
//
// May import: nothing of sprat
package conformance
