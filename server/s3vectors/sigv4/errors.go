package sigv4

// Reason is why a request is refused.
type Reason int

// The reasons. The names of AWS for them are the caller's to give.
const (
	Missing      Reason = iota + 1 // no signature in the headers
	Incomplete                     // an Authorization header that cannot be understood
	UnknownKey                     // no such access key, or not with this session token
	Expired                        // the credentials have expired
	BadSignature                   // wrong signature, scope or time
)

// Error says why a request is refused.
type Error struct {
	Reason  Reason
	Message string // fit for the client
}

// Error is the message.
func (e *Error) Error() string { return e.Message }

func refuse(r Reason, message string) *Error { return &Error{Reason: r, Message: message} }
