package iopath_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/spratdb/sprat/iopath"
)

// Write a file, make it durable, and read two pieces of it in one wave.
func Example() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	engine, err := iopath.Open(dir, iopath.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer engine.Close()

	path := filepath.Join(dir, "segment")
	if err := write(engine, path, "postings and records"); err != nil {
		log.Fatal(err)
	}
	file, err := engine.OpenFile(path)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()

	ctx := context.Background()
	batch := engine.NewBatch()
	defer batch.Release()
	batch.Read(file, 0, 8, 1)
	batch.Read(file, 13, 7, 2)
	if err := batch.Submit(ctx); err != nil {
		log.Fatal(err)
	}
	for batch.Pending() > 0 {
		c, err := batch.Next(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("read %d: %s, %v\n", c.Tag, c.Data, c.Err)
	}
	// Unordered output:
	// read 1: postings, <nil>
	// read 2: records, <nil>
}

// write makes a durable file: its content first, then its name.
func write(engine *iopath.Engine, path, content string) error {
	w, err := engine.Create(path)
	if err != nil {
		return err
	}
	if _, err := w.Write([]byte(content)); err != nil {
		_ = w.Close() // returns the same error
		return err
	}
	if err := w.Sync(); err != nil {
		_ = w.Close()
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return iopath.SyncDir(filepath.Dir(path))
}
