// Package policy parses and evaluates the policies of vector buckets, in the language
// of AWS resource policies.
//
// # Evaluation
//
// A statement applies to a request when its principal, action, resource and all of its
// conditions match. A Deny that applies decides; else an Allow that applies does; else
// the policy has nothing to say and what the caller may do by itself counts.
//
//	| element                     | matches                                                         |
//	|-----------------------------|-----------------------------------------------------------------|
//	| Principal "*", {"AWS": "*"} | everybody                                                       |
//	| {"AWS": ARN}                | the caller with that ARN                                        |
//	| {"AWS": account id or       | every caller of that account                                    |
//	|   arn:...:iam::account:root}|                                                                 |
//	| other kinds of Principal    | nobody                                                          |
//	| Action                      | names, * and ?, in any case                                     |
//	| Resource                    | ARNs, * and ?, variables                                        |
//	| Condition                   | see below                                                       |
//	| NotPrincipal, NotAction,    | what their counterparts do not                                  |
//	|   NotResource               |                                                                 |
//
// Public access is always blocked: no Allow applies to a caller that is anonymous, a
// Deny does.
//
// Condition operators: String, Numeric, Date, Bool, IpAddress, Arn and Null, each with
// the negations and IfExists that AWS has, and ForAllValues: and ForAnyValue:. The
// values of one key are alternatives; keys and operators must all hold. A key that the
// request does not have fails a condition, satisfies a negated one, and satisfies
// ForAllValues. Binary operators are refused.
//
// With "Version": "2012-10-17", ${name} in a Resource or in a condition on text stands
// for the value of a condition key, taken literally, and ${*}, ${?} and ${$} for the
// character itself. A variable without a value matches nothing.
//
// # Refused
//
// Parse refuses unknown elements and operators, elements that come twice, and values
// that no request could match by their form: what is not understood must not be
// stored as if it protected something.
//
// # Concurrency
//
// A Policy is immutable and safe for concurrent use.
//
// May import: server/s3vectors/floatjson
package policy
