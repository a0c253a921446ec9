// Package server is the folder of what sprat serves over a network; it has no code of
// its own.
//
//   - server/grpc: the gRPC API sprat.v1, its messages (server/grpc/proto) and a client
//     (server/grpc/client);
//   - server/s3vectors: the S3 Vectors API, over a store here or a server elsewhere;
//   - server/ops: health and metrics for operators.
//
// The packages use the engine through package sprat alone, so that each can be embedded
// beside it, and every door refuses the same input for the same reason.
//
// May import: nothing of sprat
package server
