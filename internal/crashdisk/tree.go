package crashdisk

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spratdb/sprat/iopath"
)

// node is a file or a directory, whatever it is called.
type node struct {
	content          // of a file
	dir     *dirPart // of a directory, nil in a file
	birth   *nameOp  // that gave a file its first name
}

// dirPart is what a directory holds.
type dirPart struct {
	live    map[string]*node // as the running program sees it
	ghosts  map[string]*node // what a name meant last: files are used after their name went
	durable map[string]*node
	pending []*nameOp // changes of live that are not in durable, in order
}

// nameOp is a change of names that takes place in whole or not at all. A rename
// has two effects, maybe in two directories.
type nameOp struct {
	effects []effect
	settled bool // durable
}

// effect sets one name; a nil child removes it.
type effect struct {
	dir   *dirPart
	name  string
	child *node
}

func newDir() *node {
	return &node{dir: &dirPart{
		live: make(map[string]*node), ghosts: make(map[string]*node), durable: make(map[string]*node),
	}}
}

// tree is the model of the file system below the Recorder's directory.
type tree struct {
	root *node
	dirs []*dirPart // all that ever were, in order of creation
}

// newTree is the tree of the beginning.
func newTree(base []file) (*tree, error) {
	t := &tree{root: newDir()}
	t.dirs = append(t.dirs, t.root.dir)
	for _, f := range base {
		parent, name, err := t.parent(f.path)
		if err != nil {
			return nil, err
		}
		n := &node{content: content{durable: f.data, shared: true}}
		if f.dir {
			n = t.newDir()
		}
		parent.live[name], parent.durable[name] = n, n
	}
	return t, nil
}

// replay is the tree after changes.
func replay(base []file, ops []iopath.Op) (*tree, error) {
	t, err := newTree(base)
	if err != nil {
		return nil, err
	}
	for i, op := range ops {
		if err := t.apply(op); err != nil {
			return nil, fmt.Errorf("crashdisk: change %d, %v: %w", i, op.Kind, err)
		}
	}
	return t, nil
}

func (t *tree) newDir() *node {
	n := newDir()
	t.dirs = append(t.dirs, n.dir)
	return n
}

// find returns what a path means, or meant last.
func (t *tree) find(path string) (*node, error) {
	n := t.root
	if path == "." {
		return n, nil
	}
	for name := range strings.SplitSeq(path, string(filepath.Separator)) {
		if n.dir == nil {
			return nil, fmt.Errorf("%w: %s is below a file", ErrUnseen, path)
		}
		next := n.dir.live[name]
		if next == nil {
			next = n.dir.ghosts[name]
		}
		if next == nil {
			return nil, fmt.Errorf("%w: %s", ErrUnseen, path)
		}
		n = next
	}
	return n, nil
}

// parent returns the directory of a path and the name in it.
func (t *tree) parent(path string) (*dirPart, string, error) {
	n, err := t.find(filepath.Dir(path))
	if err != nil {
		return nil, "", err
	}
	if n.dir == nil {
		return nil, "", fmt.Errorf("%w: %s is below a file", ErrUnseen, path)
	}
	return n.dir, filepath.Base(path), nil
}

// apply carries out one recorded change.
func (t *tree) apply(op iopath.Op) error {
	switch op.Kind {
	case iopath.OpCreate, iopath.OpMkdir:
		return t.create(op)
	case iopath.OpRemove:
		return t.remove(op.Path)
	case iopath.OpRename, iopath.OpLink:
		return t.rename(op)
	}
	n, err := t.find(op.Path)
	switch {
	case err != nil:
		return err
	case op.Kind == iopath.OpSyncDir:
		if n.dir == nil {
			return fmt.Errorf("%w: directory %s", ErrUnseen, op.Path)
		}
		for len(n.dir.pending) > 0 {
			n.dir.pending[0].settle()
		}
	case op.Kind == iopath.OpSync:
		n.sync()
		if n.birth != nil {
			n.birth.settle()
		}
	default:
		n.pending = append(n.pending, op)
	}
	return nil
}

// create makes a file or directory; a file that is there is emptied.
func (t *tree) create(op iopath.Op) error {
	if op.Path == "." {
		return nil
	}
	dir, name, err := t.parent(op.Path)
	if err != nil {
		return err
	}
	if old := dir.live[name]; old != nil {
		if op.Kind == iopath.OpCreate {
			old.pending = append(old.pending, iopath.Op{Kind: iopath.OpTruncate})
		}
		return nil
	}
	n := new(node)
	if op.Kind == iopath.OpMkdir {
		n = t.newDir()
	}
	born := do(effect{dir, name, n})
	if op.Kind == iopath.OpCreate {
		n.birth = born
	}
	return nil
}

// remove removes a name. One that nobody was seen to create is of no interest.
func (t *tree) remove(path string) error {
	dir, name, err := t.parent(path)
	if err != nil {
		return nil
	}
	if n := dir.live[name]; n != nil && (n.dir == nil || len(n.dir.live) == 0) {
		do(effect{dir, name, nil})
	}
	return nil
}

// rename moves a name, or gives a second one.
func (t *tree) rename(op iopath.Op) error {
	from, old, err := t.parent(op.Path)
	if err != nil {
		return err
	}
	to, name, err := t.parent(op.To)
	if err != nil {
		return err
	}
	n := from.live[old]
	switch {
	case n == nil:
		return fmt.Errorf("%w: %s", ErrUnseen, op.Path)
	case n == to.live[name]: // nothing happens when both are the same file
	case op.Kind == iopath.OpLink:
		do(effect{to, name, n})
	default:
		do(effect{from, old, nil}, effect{to, name, n})
	}
	return nil
}

// do makes a change of names in the running system.
func do(effects ...effect) *nameOp {
	op := &nameOp{effects: effects}
	for i, e := range effects {
		if old := e.dir.live[e.name]; old != nil {
			e.dir.ghosts[e.name] = old
		}
		delete(e.dir.live, e.name)
		if e.child != nil {
			e.dir.live[e.name] = e.child
		}
		if i == 0 || e.dir != effects[0].dir {
			e.dir.pending = append(e.dir.pending, op)
		}
	}
	return op
}

// settle makes a change of names durable, and before it those that concern the
// same names.
func (op *nameOp) settle() {
	if op.settled {
		return
	}
	op.settled = true // it must not be met again below
	for _, e := range op.effects {
		earlier := e.dir.pending[:slices.Index(e.dir.pending, op)]
		for _, before := range slices.Clone(earlier) {
			if before.names(e) {
				before.settle()
			}
		}
	}
	for _, e := range op.effects {
		e.apply()
	}
	for _, e := range op.effects {
		if i := slices.Index(e.dir.pending, op); i >= 0 {
			e.dir.pending = slices.Delete(e.dir.pending, i, i+1)
		}
	}
}

// names tells whether a change concerns the name of an effect.
func (op *nameOp) names(e effect) bool {
	return slices.ContainsFunc(op.effects, func(o effect) bool { return o.dir == e.dir && o.name == e.name })
}

// apply makes an effect durable.
func (e effect) apply() {
	delete(e.dir.durable, e.name)
	if e.child != nil {
		e.dir.durable[e.name] = e.child
	}
}
