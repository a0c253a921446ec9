package accesskeys

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// checkEvery is how long a change of the file may go unnoticed.
const checkEvery = time.Second

// File is a file of keys that is read again when it has changed.
type File struct {
	path string
	log  *slog.Logger
	now  func() time.Time

	keys atomic.Pointer[Static]
	next atomic.Int64 // when to look at the file again, in nanoseconds

	mu   sync.Mutex  // held while the file is looked at
	seen os.FileInfo // of the file as it was read last
	told string      // what was reported last
}

// Open reads a file of keys. log may be nil. Errors: those of the file system, and of
// Parse.
func Open(path string, log *slog.Logger) (*File, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &File{path: path, log: log, now: time.Now}
	if err := f.load(); err != nil {
		return nil, err
	}
	if f.seen.Mode().Perm()&0o077 != 0 {
		log.Warn("others may read the access keys: chmod 600", "file", path)
	}
	f.next.Store(f.now().Add(checkEvery).UnixNano())
	return f, nil
}

// load reads the file.
func (f *File) load() error {
	file, err := os.Open(f.path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	f.seen = info // also when it is bad: it is not read again until it changes
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s: not a regular file", f.path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return err
	}
	if len(text) > maxFile {
		return fmt.Errorf("%s: more than 4 MiB", f.path)
	}
	keys, err := Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.keys.Store(&keys)
	return nil
}

// Lookup finds a key in the file as it was within the last second.
func (f *File) Lookup(id string) (Key, bool) {
	if f.now().UnixNano() >= f.next.Load() {
		f.refresh()
	}
	return f.keys.Load().Lookup(id)
}

// refresh looks whether the file has changed. Who comes while another does so goes on
// with what is known.
func (f *File) refresh() {
	if !f.mu.TryLock() {
		return
	}
	defer f.mu.Unlock()
	defer func() { f.next.Store(f.now().Add(checkEvery).UnixNano()) }()
	info, err := os.Stat(f.path)
	if err == nil && os.SameFile(info, f.seen) && info.ModTime().Equal(f.seen.ModTime()) && info.Size() == f.seen.Size() {
		return
	}
	if err == nil {
		err = f.load()
	}
	if err == nil {
		f.told = ""
		f.log.Info("access keys reloaded", "file", f.path, "keys", len(*f.keys.Load()))
		return
	}
	if text := err.Error(); text != f.told {
		f.told = text
		f.log.Error("the file of access keys cannot be used; the keys before stay in force", "err", err)
	}
}

// Generate writes a file with one new admin key, that only its owner may read, unless
// there is a file already. It tells whether it wrote one.
func Generate(path string) (bool, error) {
	if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	var id [15]byte
	var secret [30]byte
	if _, err := rand.Read(id[:]); err != nil {
		return false, err
	}
	if _, err := rand.Read(secret[:]); err != nil {
		return false, err
	}
	text := fmt.Sprintf("# Access keys of the S3 Vectors service, in the form of an AWS credentials file.\n"+
		"[admin]\naws_access_key_id = SPRAT%s\naws_secret_access_key = %s\nrole = admin\n",
		base32.StdEncoding.EncodeToString(id[:]), base64.RawURLEncoding.EncodeToString(secret[:]))
	// Under another name first: a file that is there is whole.
	tmp, err := os.CreateTemp(filepath.Dir(path), ".keys-*") // mode 0600
	if err != nil {
		return false, err
	}
	_, err = tmp.WriteString(text)
	if err == nil {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Link(tmp.Name(), path) // fails when another was faster
	}
	err = errors.Join(err, os.Remove(tmp.Name()))
	return err == nil, err
}
