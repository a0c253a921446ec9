// Package accesskeys owns the access keys that clients of the S3 Vectors adapter sign
// with: the file that holds them, reloaded while it is in use, and what each key may
// do.
//
// # The file
//
// The form is that of the AWS credentials file, so that one file can serve server and
// clients. A section is a user:
//
//	[alice]
//	aws_access_key_id     = AKIAIOSFODNN7EXAMPLE
//	aws_secret_access_key = ...
//	role                  = write
//
//	| name                  |          | meaning                                            |
//	|-----------------------|----------|----------------------------------------------------|
//	| aws_access_key_id     | required | 3 to 128 letters, digits and _ - . / + =           |
//	| aws_secret_access_key | required | 8 to 256 printable characters                      |
//	| role                  |          | admin (default), write, read or none; see Role     |
//	| aws_session_token     |          | must come with every request                       |
//	| expires               |          | RFC 3339 time from which on the key is refused     |
//
// Lines that start with # or ; are comments. Other names, as AWS tools write them, are
// left alone.
//
// A change of the file is in force within a second; a file that cannot be read or
// parsed changes nothing and is reported once. Nothing of what it holds but names of
// users and numbers of lines is ever in an error or a log.
//
// # Concurrency
//
// A File is safe for concurrent use.
//
// May import: nothing of sprat
package accesskeys
