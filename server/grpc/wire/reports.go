package wire

import (
	"errors"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/spratdb/sprat"
	spratv1 "github.com/spratdb/sprat/server/grpc/proto"
)

// VerifyReport is the message of a report.
func VerifyReport(r *sprat.VerifyReport) *spratv1.VerifyReport {
	return &spratv1.VerifyReport{
		Index: r.Index, Postings: int64(r.Postings), Entries: r.Entries, Stale: r.Stale, Records: r.Records, Landed: r.Landed,
		Keys: r.Keys, FilterRows: r.FilterRows, Faults: r.Faults, Problems: r.Problems,
		NearestViolations: r.NearestViolations, CopiesMean: r.CopiesMean,
	}
}

// VerifyReportOf is the report of a message.
func VerifyReportOf(m *spratv1.VerifyReport) *sprat.VerifyReport {
	return &sprat.VerifyReport{
		Index: m.GetIndex(), Postings: int(m.GetPostings()), Entries: m.GetEntries(), Stale: m.GetStale(), Records: m.GetRecords(),
		Landed: m.GetLanded(), Keys: m.GetKeys(), FilterRows: m.GetFilterRows(), Faults: m.GetFaults(), Problems: m.GetProblems(),
		NearestViolations: m.GetNearestViolations(), CopiesMean: m.GetCopiesMean(),
	}
}

// RepairReport is the message of a report.
func RepairReport(r *sprat.RepairReport) *spratv1.RepairReport {
	return &spratv1.RepairReport{
		Index: r.Index, Dropped: int64(r.Dropped), Replaced: int64(r.Replaced), Lost: int64(r.Lost), LostKeys: r.LostKeys,
		Orphans: int64(r.Orphans), Fixed: r.Fixed,
	}
}

// RepairReportOf is the report of a message.
func RepairReportOf(m *spratv1.RepairReport) *sprat.RepairReport {
	return &sprat.RepairReport{
		Index: m.GetIndex(), Dropped: int(m.GetDropped()), Replaced: int(m.GetReplaced()), Lost: int(m.GetLost()),
		LostKeys: m.GetLostKeys(), Orphans: int(m.GetOrphans()), Fixed: m.GetFixed(),
	}
}

// SnapshotStats is the message of what was done with a snapshot.
func SnapshotStats(s *sprat.SnapshotStats) *spratv1.SnapshotStats {
	return &spratv1.SnapshotStats{
		Id: s.ID, Indexes: int64(s.Indexes), Vectors: s.Vectors, Broken: s.Broken, Elapsed: durationpb.New(s.Elapsed),
		Files: int64(s.Files), FilesUnchanged: int64(s.FilesUnchanged), Bytes: s.Bytes, ChunksNew: int64(s.ChunksNew),
		ChunksShared: int64(s.ChunksShared), BytesNew: s.BytesNew, ChunksRead: int64(s.ChunksRead), BytesRead: s.BytesRead,
		SnapshotsRemoved: int64(s.SnapshotsRemoved), ChunksRemoved: int64(s.ChunksRemoved),
	}
}

// SnapshotStatsOf is what was done with a snapshot, of a message.
func SnapshotStatsOf(m *spratv1.SnapshotStats) sprat.SnapshotStats {
	return sprat.SnapshotStats{
		ID: m.GetId(), Indexes: int(m.GetIndexes()), Vectors: m.GetVectors(), Broken: m.GetBroken(),
		Elapsed: m.GetElapsed().AsDuration(), Files: int(m.GetFiles()), FilesUnchanged: int(m.GetFilesUnchanged()),
		Bytes: m.GetBytes(), ChunksNew: int(m.GetChunksNew()), ChunksShared: int(m.GetChunksShared()), BytesNew: m.GetBytesNew(),
		ChunksRead: int(m.GetChunksRead()), BytesRead: m.GetBytesRead(), SnapshotsRemoved: int(m.GetSnapshotsRemoved()),
		ChunksRemoved: int(m.GetChunksRemoved()),
	}
}

// SnapshotInfo is the message of a snapshot in a list.
func SnapshotInfo(s *sprat.SnapshotInfo) *spratv1.SnapshotInfo {
	m := &spratv1.SnapshotInfo{
		Id: s.ID, Created: timestamppb.New(s.Created), Label: s.Label, Indexes: int64(s.Indexes), Vectors: s.Vectors,
		Files: int64(s.Files), Bytes: s.Bytes,
	}
	if s.Err != nil {
		m.Error = s.Err.Error()
	}
	return m
}

// SnapshotInfoOf is the snapshot of a message. Of its error only the text is left.
func SnapshotInfoOf(m *spratv1.SnapshotInfo) sprat.SnapshotInfo {
	s := sprat.SnapshotInfo{
		ID: m.GetId(), Created: m.GetCreated().AsTime(), Label: m.GetLabel(), Indexes: int(m.GetIndexes()), Vectors: m.GetVectors(),
		Files: int(m.GetFiles()), Bytes: m.GetBytes(),
	}
	if m.GetError() != "" {
		s.Err = errors.New(m.GetError())
	}
	return s
}
