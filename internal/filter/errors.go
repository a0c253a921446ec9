package filter

import "errors"

var (
	// ErrSyntax says that a text is no JSON, or holds invalid UTF-8 or half of a
	// surrogate pair. S3 Vectors answers a SerializationException.
	ErrSyntax = errors.New("malformed JSON")
	// ErrFilter is matched by every *FilterError.
	ErrFilter = errors.New("filter refused")
	// ErrDocument is matched by every *DocumentError.
	ErrDocument = errors.New("metadata refused")
)

// The messages of S3 Vectors, word for word.
const (
	InvalidFilter   = "Invalid filter"
	NonFilterable   = "Invalid use of non-filterable metadata in filter"
	BadValue        = "Metadata values must be strings, numbers, booleans, or arrays"
	BadElement      = "Metadata array values must be strings or numbers"
	EmptyArray      = "Empty arrays are not allowed in metadata"
	TooManyKeys     = "Metadata object must have at most 50 keys"
	TooMuchFilter   = "Filterable metadata must have at most 2048 bytes"
	TooMuchMetadata = "Metadata object must have at most 40960 bytes"
)

// Messages for what S3 Vectors is not known to have one for.
const (
	NotAnObject      = "Metadata must be an object"
	DuplicateKey     = "Metadata keys must be unique"
	NumberOutOfRange = "Metadata numbers must be finite"
)

// FilterError says why a filter is refused. It matches ErrFilter.
type FilterError struct {
	Message string // InvalidFilter or NonFilterable
	Path    string // where in the filter, like $and[1].price.$gt; "" is the whole
	Reason  string // in words
}

// Error is the message, the place and the reason.
func (e *FilterError) Error() string {
	text := e.Message + ": "
	if e.Path != "" {
		text += e.Path + ": "
	}
	return text + e.Reason
}

// Unwrap returns ErrFilter.
func (e *FilterError) Unwrap() error { return ErrFilter }

// DocumentError says why a document is refused. It matches ErrDocument.
type DocumentError struct {
	Message string // one of the messages about metadata
	Key     string // the field at fault, "" when it is the whole document
	Size    int    // what was counted, where a count or size is too large
}

// Error is the message.
func (e *DocumentError) Error() string { return e.Message }

// Unwrap returns ErrDocument.
func (e *DocumentError) Unwrap() error { return ErrDocument }
