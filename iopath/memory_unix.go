//go:build unix

package iopath

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapMemory returns n zero bytes of anonymous memory off the Go heap, aligned
// to align. Both are multiples of the page size. Huge pages are asked for.
func mapMemory(n, align int) ([]byte, error) {
	// The system aligns to pages only: take more and give the ends back.
	size := uintptr(n + align)
	p, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return nil, err
	}
	head := -uintptr(p) & uintptr(align-1)
	mem := unsafe.Add(p, head)
	// Parts of a mapping of ours: these calls cannot fail but for want of kernel
	// memory, and then cost address space only.
	if head > 0 {
		_ = unix.MunmapPtr(p, head)
	}
	if tail := uintptr(align) - head; tail > 0 {
		_ = unix.MunmapPtr(unsafe.Add(mem, n), tail)
	}
	b := unsafe.Slice((*byte)(mem), n)
	adviseHuge(b)
	return b, nil
}

// unmapMemory gives back what mapMemory returned, which cannot fail.
func unmapMemory(mem []byte) {
	_ = unix.MunmapPtr(unsafe.Pointer(unsafe.SliceData(mem)), uintptr(len(mem)))
}
