//go:build !giouring

package iopath

// The part of <linux/io_uring.h> that is used here. golang.org/x/sys/unix has
// the numbers of the system calls but neither structs nor constants. The sizes
// and offsets are checked by a test.

// setupParams is struct io_uring_params: filled in by both sides of
// io_uring_setup.
type setupParams struct {
	sqEntries, cqEntries      uint32
	flags                     uint32
	sqThreadCPU, sqThreadIdle uint32
	features                  uint32
	wqFD                      uint32
	_                         [3]uint32
	sq                        sqOffsets
	cq                        cqOffsets
}

// sqOffsets is struct io_sqring_offsets: where in the mapping things stand.
type sqOffsets struct {
	head, tail, ringMask, ringEntries, flags, dropped, array uint32
	_                                                        uint32
	userAddr                                                 uint64
}

// cqOffsets is struct io_cqring_offsets.
type cqOffsets struct {
	head, tail, ringMask, ringEntries, overflow, cqes, flags uint32
	_                                                        uint32
	userAddr                                                 uint64
}

// submission is struct io_uring_sqe.
type submission struct {
	opcode   uint8
	flags    uint8
	ioprio   uint16
	fd       int32
	off      uint64
	addr     uint64
	len      uint32
	opFlags  uint32 // rw_flags, poll32_events, ... by opcode
	userData uint64
	bufIndex uint16
	_        uint16
	_        int32
	_        [2]uint64
}

// completionEntry is struct io_uring_cqe.
type completionEntry struct {
	userData uint64
	res      int32
	flags    uint32
}

// filesUpdate is struct io_uring_files_update.
type filesUpdate struct {
	offset uint32
	_      uint32
	fds    uint64 // pointer to int32
}

// rsrcRegister is struct io_uring_rsrc_register.
type rsrcRegister struct {
	nr, flags  uint32
	_          uint64
	data, tags uint64
}

// rsrcUpdate is struct io_uring_rsrc_update2.
type rsrcUpdate struct {
	offset uint32
	_      uint32
	data   uint64 // pointer to struct iovec
	tags   uint64
	nr     uint32
	_      uint32
}

// eventsArg is struct io_uring_getevents_arg: the last argument of
// io_uring_enter with enterExtArg.
type eventsArg struct {
	sigmask   uint64
	sigmaskSz uint32
	_         uint32
	timespec  uint64 // pointer to timespec
}

// timespec is struct __kernel_timespec.
type timespec struct {
	sec, nsec int64
}

const (
	opReadFixed = 4  // IORING_OP_READ_FIXED, since 5.1
	opPollAdd   = 6  // IORING_OP_POLL_ADD, lasting watches since 5.13
	opRead      = 22 // IORING_OP_READ, since 5.6

	sqeFixedFile = 1 << 0 // IOSQE_FIXED_FILE
	pollMulti    = 1 << 0 // IORING_POLL_ADD_MULTI
	cqeMore      = 1 << 1 // IORING_CQE_F_MORE

	setupCQSize       = 1 << 3  // IORING_SETUP_CQSIZE
	setupSubmitAll    = 1 << 7  // IORING_SETUP_SUBMIT_ALL, since 5.18
	setupCoopTaskrun  = 1 << 8  // IORING_SETUP_COOP_TASKRUN, since 5.19
	setupSingleIssuer = 1 << 12 // IORING_SETUP_SINGLE_ISSUER, since 6.0
	setupDeferTaskrun = 1 << 13 // IORING_SETUP_DEFER_TASKRUN, since 6.1

	featRsrcTags = 1 << 10 // IORING_FEAT_RSRC_TAGS, since 5.13, which tells its age

	enterGetEvents = 1 << 0 // IORING_ENTER_GETEVENTS
	enterExtArg    = 1 << 3 // IORING_ENTER_EXT_ARG, since 5.11

	registerFiles         = 2  // IORING_REGISTER_FILES
	registerFilesUpdate   = 6  // IORING_REGISTER_FILES_UPDATE
	registerBuffers2      = 15 // IORING_REGISTER_BUFFERS2, since 5.13
	registerBuffersUpdate = 16 // IORING_REGISTER_BUFFERS_UPDATE, since 5.13

	rsrcRegisterSparse = 1 << 0 // IORING_RSRC_REGISTER_SPARSE, since 5.19

	offSQRing = 0
	offSQEs   = 0x10000000
)
