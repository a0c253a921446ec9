package iopath

import "golang.org/x/sys/unix"

// adviseHuge asks for huge pages, which a system may have switched off.
func adviseHuge(mem []byte) { _ = unix.Madvise(mem, unix.MADV_HUGEPAGE) }
