package bench

// MaxDim is the largest dimension that is read when [Options.MaxDim] is zero.
const MaxDim = 4096

// Reader streams the rows of one data set in their stored order. It is not safe for
// use by several goroutines at once.
type Reader interface {
	// Dim is the number of values in each vector, at least 1.
	Dim() int
	// Rows is the number of rows in the set, or -1 when that is not known before
	// all were read (JSON lines).
	Rows() int64
	// Next replaces the content of row by the next row, reusing its memory, and
	// returns io.EOF after the last one. After any other error the content of row
	// is undefined and only Close may be called.
	Next(row *Row) error
	// Close releases the file. Next must not be called afterwards.
	Close() error
}

// Row is one vector with what is known about it. The zero value is ready for
// [Reader.Next]. Its slices belong to the caller until the next call of Next with
// the same Row, which overwrites them.
type Row struct {
	// Vector holds Dim finite values.
	Vector []float32
	// Key is the row's own name; meaningful only when HasKey is set.
	Key string
	// Metadata is the text of one valid JSON object, or nil when there is none.
	Metadata []byte
	// HasKey tells whether the format and this row carry a key.
	HasKey bool

	meta []byte // memory for Metadata, kept from row to row
}

// grow makes r.Vector n long and clears everything else.
func (r *Row) grow(n int) {
	if cap(r.Vector) < n {
		r.Vector = make([]float32, n)
	}
	r.Vector = r.Vector[:n]
	r.Key, r.HasKey, r.Metadata = "", false, nil
}

// setMetadata copies raw, the text of an object.
func (r *Row) setMetadata(raw []byte) {
	r.meta = append(r.meta[:0], raw...)
	r.Metadata = r.meta
}

// Options tells [OpenOptions] what the file alone does not. The zero value is right
// for most files.
type Options struct {
	// Dataset is the HDF5 data set to read, e.g. "train" or "test"; default
	// "train".
	Dataset string
	// VectorColumn is the Parquet column of vectors; default the first list of
	// float or double named vector, embedding or emb, or else the only one.
	VectorColumn string
	// KeyColumn is the Parquet column of keys (text or integers); default key, or
	// else id, when there is such a column.
	KeyColumn string
	// MetadataColumn is the Parquet column of JSON objects as text; default
	// metadata, when there is such a column of text.
	MetadataColumn string
	// MaxDim is the largest dimension that is not refused; default 4096 values.
	MaxDim int
	// MaxLine is the longest line of JSON that is not refused; default 4 MiB.
	MaxLine int
}

// withDefaults returns a copy in which every zero that has a fixed default is
// replaced by it.
func (o Options) withDefaults() Options {
	if o.Dataset == "" {
		o.Dataset = "train"
	}
	if o.MaxDim <= 0 {
		o.MaxDim = MaxDim
	}
	if o.MaxLine <= 0 {
		o.MaxLine = 4 << 20
	}
	return o
}
