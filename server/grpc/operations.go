package grpc

import (
	"context"

	"google.golang.org/grpc"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
	"github.com/spratdb/sprat/server/grpc/wire"
)

type operationsService struct {
	spratv1.UnimplementedOperationsServer
	s *Server
}

func (o *operationsService) Stats(context.Context, *spratv1.StatsRequest) (*spratv1.StatsResponse, error) {
	stats, err := o.s.store.Stats()
	if err != nil {
		return nil, err
	}
	return &spratv1.StatsResponse{Stats: wire.StoreStats(&stats)}, nil
}

func (o *operationsService) Verify(r *spratv1.VerifyRequest, stream grpc.ServerStreamingServer[spratv1.VerifyResponse]) error {
	ix, err := o.s.store.Index(r.GetBucket(), r.GetIndex())
	if err != nil {
		return err
	}
	told := newReporter(func(p *spratv1.Progress) error { return stream.Send(&spratv1.VerifyResponse{Progress: p}) })
	report, err := ix.Verify(stream.Context(), told.report)
	if err != nil {
		return err
	}
	return stream.Send(&spratv1.VerifyResponse{Report: wire.VerifyReport(report)})
}

func (o *operationsService) Repair(ctx context.Context, r *spratv1.RepairRequest) (*spratv1.RepairResponse, error) {
	report, err := o.s.store.Repair(ctx, r.GetBucket(), r.GetIndex())
	if err != nil {
		return nil, err
	}
	return &spratv1.RepairResponse{Report: wire.RepairReport(report)}, nil
}

func (o *operationsService) Compact(r *spratv1.CompactRequest, stream grpc.ServerStreamingServer[spratv1.CompactResponse]) error {
	ix, err := o.s.store.Index(r.GetBucket(), r.GetIndex())
	if err != nil {
		return err
	}
	told := newReporter(func(p *spratv1.Progress) error { return stream.Send(&spratv1.CompactResponse{Progress: p}) })
	return ix.Compact(stream.Context(), told.report)
}

func (o *operationsService) Settle(ctx context.Context, r *spratv1.SettleRequest) (*spratv1.SettleResponse, error) {
	ix, err := o.s.store.Index(r.GetBucket(), r.GetIndex())
	if err != nil {
		return nil, err
	}
	if err := ix.Settle(ctx); err != nil {
		return nil, err
	}
	return &spratv1.SettleResponse{}, nil
}

// target is where snapshots go.
func (o *operationsService) target() (sprat.SnapshotTarget, error) {
	if o.s.o.Snapshots == nil {
		return nil, wire.ErrNoSnapshots
	}
	return o.s.o.Snapshots, nil
}

func (o *operationsService) Snapshot(r *spratv1.SnapshotRequest, stream grpc.ServerStreamingServer[spratv1.SnapshotResponse]) error {
	to, err := o.target()
	if err != nil {
		return err
	}
	told := newReporter(func(p *spratv1.Progress) error { return stream.Send(&spratv1.SnapshotResponse{Progress: p}) })
	stats, err := o.s.store.Snapshot(stream.Context(), to, sprat.SnapshotOptions{
		Label: r.GetLabel(), Workers: int(r.GetWorkers()), Progress: told.step("snapshot")})
	if err != nil {
		return err
	}
	return stream.Send(&spratv1.SnapshotResponse{Stats: wire.SnapshotStats(&stats)})
}

func (o *operationsService) ListSnapshots(ctx context.Context, _ *spratv1.ListSnapshotsRequest) (*spratv1.ListSnapshotsResponse, error) {
	in, err := o.target()
	if err != nil {
		return nil, err
	}
	list, err := sprat.ListSnapshots(ctx, in)
	if err != nil {
		return nil, err
	}
	answer := &spratv1.ListSnapshotsResponse{Target: in.String()}
	for i := range list {
		answer.Snapshots = append(answer.Snapshots, wire.SnapshotInfo(&list[i]))
	}
	return answer, nil
}

func (o *operationsService) VerifySnapshot(r *spratv1.VerifySnapshotRequest, stream grpc.ServerStreamingServer[spratv1.VerifySnapshotResponse]) error {
	in, err := o.target()
	if err != nil {
		return err
	}
	told := newReporter(func(p *spratv1.Progress) error { return stream.Send(&spratv1.VerifySnapshotResponse{Progress: p}) })
	stats, err := sprat.VerifySnapshot(stream.Context(), in, r.GetId(), sprat.SnapshotOptions{
		Workers: int(r.GetWorkers()), Progress: told.step("verify")})
	if err != nil {
		return err
	}
	return stream.Send(&spratv1.VerifySnapshotResponse{Stats: wire.SnapshotStats(&stats)})
}

func (o *operationsService) PruneSnapshots(r *spratv1.PruneSnapshotsRequest, stream grpc.ServerStreamingServer[spratv1.PruneSnapshotsResponse]) error {
	in, err := o.target()
	if err != nil {
		return err
	}
	told := newReporter(func(p *spratv1.Progress) error { return stream.Send(&spratv1.PruneSnapshotsResponse{Progress: p}) })
	stats, err := sprat.PruneSnapshots(stream.Context(), in, int(r.GetKeep()), sprat.SnapshotOptions{
		Workers: int(r.GetWorkers()), Progress: told.step("prune")})
	if err != nil {
		return err
	}
	return stream.Send(&spratv1.PruneSnapshotsResponse{Stats: wire.SnapshotStats(&stats)})
}
