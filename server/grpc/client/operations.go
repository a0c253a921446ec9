package client

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/wire"
)

// Progress is told of work that takes long; total is 0 while unknown. It may be nil.
type Progress func(step string, done, total int64)

func (p Progress) tell(m *spratv1.Progress) {
	if p != nil && m != nil {
		p(m.GetStep(), m.GetDone(), m.GetTotal())
	}
}

// errCutShort says that a stream ended without its last message.
var errCutShort = errors.New("the server ended the stream without a result")

// follow reads a stream to its end and returns its last message.
func follow[M interface {
	comparable
	GetProgress() *spratv1.Progress
}](next func() (M, error), progress Progress) (last M, err error) {
	for {
		m, err := next()
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return last, wire.Error(err)
		}
		progress.tell(m.GetProgress())
		last = m
	}
}

// Stats describes the store. Errors: those of the call.
func (c *Client) Stats(ctx context.Context) (sprat.StoreStats, error) {
	answer, err := c.operations.Stats(ctx, &spratv1.StatsRequest{})
	if err != nil {
		return sprat.StoreStats{}, wire.Error(err)
	}
	return wire.StoreStatsOf(answer.GetStats()), nil
}

// Verify checks an index, as sprat.Index.Verify does.
func (c *Client) Verify(ctx context.Context, bucket, index string, progress Progress) (*sprat.VerifyReport, error) {
	if err := checkNames(bucket, index); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.operations.Verify(ctx, &spratv1.VerifyRequest{Bucket: bucket, Index: index})
	if err != nil {
		return nil, wire.Error(err)
	}
	last, err := follow(stream.Recv, progress)
	switch {
	case err != nil:
		return nil, err
	case last.GetReport() == nil:
		return nil, errCutShort
	}
	return wire.VerifyReportOf(last.GetReport()), nil
}

// Repair puts an index right, as sprat.Store.Repair does.
func (c *Client) Repair(ctx context.Context, bucket, index string) (*sprat.RepairReport, error) {
	if err := checkNames(bucket, index); err != nil {
		return nil, err
	}
	answer, err := c.operations.Repair(ctx, &spratv1.RepairRequest{Bucket: bucket, Index: index})
	if err != nil {
		return nil, wire.Error(err)
	}
	return wire.RepairReportOf(answer.GetReport()), nil
}

// Compact compacts and erases, as sprat.Index.Compact does.
func (c *Client) Compact(ctx context.Context, bucket, index string, progress Progress) error {
	if err := checkNames(bucket, index); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.operations.Compact(ctx, &spratv1.CompactRequest{Bucket: bucket, Index: index})
	if err != nil {
		return wire.Error(err)
	}
	_, err = follow(stream.Recv, progress)
	return err
}

// Settle waits for the maintenance of an index, as sprat.Index.Settle does.
func (c *Client) Settle(ctx context.Context, bucket, index string) error {
	if err := checkNames(bucket, index); err != nil {
		return err
	}
	_, err := c.operations.Settle(ctx, &spratv1.SettleRequest{Bucket: bucket, Index: index})
	return wire.Error(err)
}

// snapshotMessage is a message of the three streams about snapshots.
type snapshotMessage interface {
	comparable
	GetProgress() *spratv1.Progress
	GetStats() *spratv1.SnapshotStats
}

// snapshot follows a stream about snapshots.
func snapshot[M any, P interface {
	*M
	snapshotMessage
}](ctx context.Context, begin func(context.Context) (grpc.ServerStreamingClient[M], error), o sprat.SnapshotOptions) (sprat.SnapshotStats, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := begin(ctx)
	if err != nil {
		return sprat.SnapshotStats{}, wire.Error(err)
	}
	last, err := follow(func() (P, error) {
		m, err := stream.Recv()
		return P(m), err
	}, func(_ string, done, total int64) {
		if o.Progress != nil {
			o.Progress(done, total)
		}
	})
	switch {
	case err != nil:
		return sprat.SnapshotStats{}, err
	case last.GetStats() == nil:
		return sprat.SnapshotStats{}, errCutShort
	}
	return wire.SnapshotStatsOf(last.GetStats()), nil
}

// Snapshot keeps all indexes in the server's target, as sprat.Store.Snapshot does.
// Errors also: ErrNoSnapshots.
func (c *Client) Snapshot(ctx context.Context, o sprat.SnapshotOptions) (sprat.SnapshotStats, error) {
	if err := checkTexts("label", o.Label); err != nil {
		return sprat.SnapshotStats{}, err
	}
	return snapshot(ctx, func(ctx context.Context) (grpc.ServerStreamingClient[spratv1.SnapshotResponse], error) {
		return c.operations.Snapshot(ctx, &spratv1.SnapshotRequest{Label: o.Label, Workers: wire.Int32(o.Workers)})
	}, o)
}

// Snapshots lists those of the server's target, the newest last, and says where that
// is. Errors also: ErrNoSnapshots.
func (c *Client) Snapshots(ctx context.Context) (target string, list []sprat.SnapshotInfo, err error) {
	answer, err := c.operations.ListSnapshots(ctx, &spratv1.ListSnapshotsRequest{})
	if err != nil {
		return "", nil, wire.Error(err)
	}
	for _, m := range answer.GetSnapshots() {
		list = append(list, wire.SnapshotInfoOf(m))
	}
	return answer.GetTarget(), list, nil
}

// VerifySnapshot checks every byte of a snapshot, the newest for the id "". Errors
// also: ErrNoSnapshots.
func (c *Client) VerifySnapshot(ctx context.Context, id string, o sprat.SnapshotOptions) (sprat.SnapshotStats, error) {
	if err := checkTexts("id", id); err != nil {
		return sprat.SnapshotStats{}, err
	}
	return snapshot(ctx, func(ctx context.Context) (grpc.ServerStreamingClient[spratv1.VerifySnapshotResponse], error) {
		return c.operations.VerifySnapshot(ctx, &spratv1.VerifySnapshotRequest{Id: id, Workers: wire.Int32(o.Workers)})
	}, o)
}

// PruneSnapshots removes all but the newest keep snapshots. Errors also:
// ErrNoSnapshots.
func (c *Client) PruneSnapshots(ctx context.Context, keep int, o sprat.SnapshotOptions) (sprat.SnapshotStats, error) {
	return snapshot(ctx, func(ctx context.Context) (grpc.ServerStreamingClient[spratv1.PruneSnapshotsResponse], error) {
		return c.operations.PruneSnapshots(ctx, &spratv1.PruneSnapshotsRequest{Keep: wire.Int32(keep), Workers: wire.Int32(o.Workers)})
	}, o)
}
