package sprat

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spratdb/sprat/internal/catalog"
)

const (
	// MaxAttributeBytes is the largest value of an attribute.
	MaxAttributeBytes = 64 << 10
	// MaxAttributes is how many attributes a bucket or an index may have.
	MaxAttributes = 256
)

// BucketInfo describes a bucket.
type BucketInfo struct {
	Name    string
	Created time.Time
}

// Bucket describes a bucket. Errors: ErrInvalid, ErrNotFound, ErrClosed, and the
// volume's.
func (s *Store) Bucket(name string) (BucketInfo, error) {
	if err := checkName("bucket", name); err != nil {
		return BucketInfo{}, err
	}
	leave, err := s.enter()
	if err != nil {
		return BucketInfo{}, err
	}
	defer leave()
	row, err := s.bucket(name)
	return BucketInfo(row), publicError(err)
}

func (s *Store) bucket(name string) (catalog.Bucket, error) {
	row, err := s.catalog.Bucket(name)
	if errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("bucket %q: %w", name, ErrNotFound)
	}
	return row, err
}

// Created is when the index was made.
func (ix *Index) Created() time.Time { return ix.row.Created }

// Config is what the index was made with, defaults filled in.
func (ix *Index) Config() IndexConfig {
	r := &ix.row
	return IndexConfig{
		Dimension: r.Dimension, Metric: ix.metric, PostingBytes: r.PostingBytes, Copies: r.Copies, Bits: r.Bits,
		Seed: r.RotationSeed, NonFilterable: slices.Clone(r.NonFilterable),
	}
}

// Attributes returns the small values that are kept for a bucket ("bucket") or an
// index ("bucket/index"): what a service wants to know about it, like tags. The
// engine does not look into them; they are gone with their owner. Errors:
// ErrInvalid, ErrNotFound, ErrClosed, and the volume's.
func (s *Store) Attributes(scope string) (map[string][]byte, error) {
	bucket, index, err := splitScope(scope)
	if err != nil {
		return nil, err
	}
	leave, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer leave()
	s.writeMu.Lock() // no owner goes in between
	defer s.writeMu.Unlock()
	if err := s.owner(bucket, index); err != nil {
		return nil, publicError(err)
	}
	all, err := s.catalog.Attributes(bucket, index)
	return all, publicError(err)
}

// SetAttributes sets values that are kept for a bucket or an index, and removes
// those whose value is nil, all as one durable change. Names have 1 to 255 bytes and
// no zero byte. Errors: as for Attributes; nothing was changed then.
func (s *Store) SetAttributes(scope string, change map[string][]byte) error {
	bucket, index, err := splitScope(scope)
	if err != nil {
		return err
	}
	for name, value := range change {
		switch {
		case name == "" || len(name) > maxNameBytes || strings.Contains(name, "\x00"):
			return invalid("attribute", "a name of 1 to 255 bytes without a zero byte", "%.300q", name)
		case len(value) > MaxAttributeBytes:
			return invalid("attribute", "at most 64 KiB", "%d bytes for %q", len(value), name)
		}
	}
	return publicError(s.change(func(b *catalog.Batch) error {
		if err := s.owner(bucket, index); err != nil {
			return err
		}
		all, err := s.catalog.Attributes(bucket, index)
		if err != nil {
			return err
		}
		maps.Copy(all, change)
		maps.DeleteFunc(all, func(_ string, v []byte) bool { return v == nil })
		if len(all) > MaxAttributes {
			return invalid("attribute", "at most 256 of a bucket or index", "%d", len(all))
		}
		for name, value := range change {
			if value == nil {
				b.DeleteAttribute(bucket, index, name)
			} else {
				b.PutAttribute(bucket, index, name, value)
			}
		}
		return s.room(2*int64(b.Len()) + catalogReserve)
	}, func() {}))
}

// splitScope takes "bucket" or "bucket/index" apart.
func splitScope(scope string) (bucket, index string, err error) {
	bucket, index, within := strings.Cut(scope, "/")
	if err = checkName("bucket", bucket); err == nil && within {
		err = checkName("index", index)
	}
	return bucket, index, err
}

// owner fails when there is no such bucket or index.
func (s *Store) owner(bucket, index string) error {
	if index == "" {
		_, err := s.bucket(bucket)
		return err
	}
	_, err := s.catalog.Index(bucket, index)
	if errors.Is(err, catalog.ErrNotFound) {
		err = fmt.Errorf("index %q: %w", fullName(bucket, index), ErrNotFound)
	}
	return err
}
