package iopath

import "sync"

// Patch is bytes for a place in a file.
type Patch struct {
	Off  int64
	Data []byte
}

// WriteMany is WriteAt for each of the patches, which ascend and do not overlap, up
// to writers of them at one time; each blocks a thread. After an error any of them may be written, in part or
// whole. Data is not kept. The error is a *WriteError of the first that failed.
func (u *Updater) WriteMany(patches []Patch, writers int) error {
	if len(patches) == 0 {
		return nil
	}
	last := &patches[len(patches)-1]
	end := last.Off + int64(len(last.Data))
	return u.change(patches[0].Off, end-patches[0].Off, func() error {
		size, err := u.h.size()
		if err == nil && size < end {
			err = u.truncate(end) // once, so that no writer finds a last block of its own
		}
		if err != nil {
			return err
		}
		return u.writeGroups(u.groups(patches), writers)
	})
}

// groups cuts patches into groups that share no block. Those of a group are
// written one after the other: each reads the block that it shares.
func (u *Updater) groups(patches []Patch) (out [][]Patch) {
	first := 0
	for i := 1; i < len(patches); i++ {
		before := &patches[i-1]
		if u.down(patches[i].Off) >= u.up(before.Off+int64(len(before.Data))) {
			out, first = append(out, patches[first:i]), i
		}
	}
	return append(out, patches[first:])
}

// writeGroups writes groups side by side; one by one when Ops watches, so that
// what it sees has an order.
func (u *Updater) writeGroups(groups [][]Patch, writers int) error {
	workers := max(1, min(writers, len(groups)))
	if u.ops != nil {
		workers = 1
	}
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex // guards next and fail
		next int
		fail error
	)
	take := func() []Patch {
		mu.Lock()
		defer mu.Unlock()
		if next == len(groups) || fail != nil {
			return nil
		}
		next++
		return groups[next-1]
	}
	for range workers {
		wg.Go(func() {
			for g := take(); g != nil; g = take() {
				for i := range g {
					if _, err := u.write(g[i].Data, g[i].Off); err != nil {
						mu.Lock()
						if fail == nil {
							fail = err
						}
						mu.Unlock()
						return
					}
				}
			}
		})
	}
	wg.Wait()
	return fail
}
