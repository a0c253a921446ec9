// Package sigv4 verifies requests signed with AWS Signature Version 4, as the AWS
// SDKs sign for services other than S3.
//
// # What is signed
//
//	string to sign  = "AWS4-HMAC-SHA256" \n time \n scope \n hex(sha256(canonical))
//	scope           = yyyymmdd/region/service/aws4_request
//	canonical       = method \n path \n query \n headers \n signed names \n payload hash
//	key             = HMAC chain over "AWS4"+secret, date, region, service, "aws4_request"
//	signature       = hex(HMAC(key, string to sign))
//
// Three things differ from S3. The path is the one on the wire, escaped once more:
// %3A becomes %253A; so the raw request target is what counts, never a decoded or
// cleaned path. The payload hash is that of the body: most clients do not send it in
// X-Amz-Content-Sha256, and where one does it must be true. There is no unsigned and
// no chunked payload. Signatures in the query string are not taken.
//
// # In two steps
//
// The body is part of what is signed and may be large. Begin therefore checks all
// that can be known from the head of a request: its form, scope, time and key, and
// the signature itself when the payload hash is in a header. Only then is it worth
// to read the body, whose hash Finish takes.
//
// # Secrets
//
// Signatures are compared in constant time, and no error, nor the text of one, holds
// a secret, a signature or what would help to make one.
//
// # Concurrency
//
// A Verifier is safe for concurrent use; a Pending belongs to one request.
//
// May import: nothing of sprat
package sigv4
