//go:build !giouring

package iopath

import (
	"testing"
	"unsafe"
)

// TestKernelLayout pins the sizes and offsets of <linux/io_uring.h>.
func TestKernelLayout(t *testing.T) {
	var (
		p setupParams
		s submission
		c completionEntry
		a eventsArg
		u filesUpdate
		b rsrcRegister
		m rsrcUpdate
	)
	for what, got := range map[string][2]uintptr{
		"io_uring_params":           {unsafe.Sizeof(p), 120},
		"io_uring_params.sq_off":    {unsafe.Offsetof(p.sq), 40},
		"io_uring_params.cq_off":    {unsafe.Offsetof(p.cq), 80},
		"io_uring_params.features":  {unsafe.Offsetof(p.features), 20},
		"io_sqring_offsets.array":   {unsafe.Offsetof(p.sq.array), 24},
		"io_cqring_offsets.cqes":    {unsafe.Offsetof(p.cq.cqes), 20},
		"io_uring_sqe":              {unsafe.Sizeof(s), 64},
		"io_uring_sqe.off":          {unsafe.Offsetof(s.off), 8},
		"io_uring_sqe.addr":         {unsafe.Offsetof(s.addr), 16},
		"io_uring_sqe.len":          {unsafe.Offsetof(s.len), 24},
		"io_uring_sqe.rw_flags":     {unsafe.Offsetof(s.opFlags), 28},
		"io_uring_sqe.buf_index":    {unsafe.Offsetof(s.bufIndex), 40},
		"io_uring_rsrc_register":    {unsafe.Sizeof(b), 32},
		"io_uring_rsrc_register.d":  {unsafe.Offsetof(b.data), 16},
		"io_uring_rsrc_update2":     {unsafe.Sizeof(m), 32},
		"io_uring_rsrc_update2.d":   {unsafe.Offsetof(m.data), 8},
		"io_uring_rsrc_update2.nr":  {unsafe.Offsetof(m.nr), 24},
		"io_uring_sqe.user_data":    {unsafe.Offsetof(s.userData), 32},
		"io_uring_cqe":              {unsafe.Sizeof(c), 16},
		"io_uring_cqe.res":          {unsafe.Offsetof(c.res), 8},
		"io_uring_getevents_arg":    {unsafe.Sizeof(a), 24},
		"io_uring_getevents_arg.ts": {unsafe.Offsetof(a.timespec), 16},
		"io_uring_files_update":     {unsafe.Sizeof(u), 16},
		"io_uring_files_update.fds": {unsafe.Offsetof(u.fds), 8},
		"__kernel_timespec":         {unsafe.Sizeof(timespec{}), 16},
	} {
		if got[0] != got[1] {
			t.Errorf("%s is at or has %d, want %d", what, got[0], got[1])
		}
	}
}
