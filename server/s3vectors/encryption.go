package s3vectors

import (
	"encoding/json"

	"github.com/spratdb/sprat/server/s3vectors/floatjson"
)

// encryption is an encryptionConfiguration. Nothing is encrypted here: the volume is
// what does that. What was asked for is kept and shown.
type encryption struct {
	SSEType   *string `json:"sseType,omitempty"`
	KMSKeyARN *string `json:"kmsKeyArn,omitempty"`
}

const (
	sseAES256 = "AES256"
	sseKMS    = "aws:kms"
)

func readEncryption(q *request, s *floatjson.Scanner) error {
	q.encryption = &encryption{}
	return s.Object(func(name []byte) error {
		switch string(name) {
		case "sseType":
			return optionalText(&q.encryption.SSEType, s)
		case "kmsKeyArn":
			return optionalText(&q.encryption.KMSKeyARN, s)
		}
		return nil
	})
}

// check adds the constraints that an encryption breaks.
func (e *encryption) check(out *violations) {
	if e == nil {
		return
	}
	if e.SSEType != nil {
		out.enum("/encryptionConfiguration/sseType", *e.SSEType, sseAES256, sseKMS)
	}
	out.optionalLength("/encryptionConfiguration/kmsKeyArn", e.KMSKeyARN, 1, 2048)
	if e.KMSKeyARN != nil && !kmsARNForm.MatchString(*e.KMSKeyARN) {
		out.pattern("/encryptionConfiguration/kmsKeyArn", kmsARNPattern)
	}
}

// sse is the type of encryption, with its default.
func (e *encryption) sse() string {
	if e == nil || e.SSEType == nil {
		return sseAES256
	}
	return *e.SSEType
}

// pairing checks that a key comes with the type that has keys, and only with it.
func (h *Handler) pairing(e *encryption) error {
	const path = "EncryptionConfiguration"
	switch {
	case e == nil:
		return nil
	case e.sse() == sseAES256 && e.KMSKeyARN != nil:
		return badInput(path, "kmsKeyArn must not be specified when sseType is AES256.")
	case e.sse() == sseKMS && e.KMSKeyARN == nil:
		return badInput(path, "kmsKeyArn must be specified when sseType is set to aws:kms")
	case e.sse() == sseKMS && !h.o.AcceptKMS:
		return badInput(path, "sseType aws:kms is not available: this service has no key management")
	}
	return nil
}

// encode is the form that is kept as an attribute and shown.
func (e *encryption) encode() []byte {
	if e == nil || e.sse() == sseAES256 {
		return []byte(`{"sseType":"AES256"}`)
	}
	b := floatjson.AppendString([]byte(`{"sseType":`), *e.SSEType)
	b = floatjson.AppendString(append(b, `,"kmsKeyArn":`...), *e.KMSKeyARN)
	return append(b, '}')
}

// encryptionOf returns what is kept, or the default.
func encryptionOf(attributes map[string][]byte) []byte {
	kept := attributes[attrEncryption]
	if !json.Valid(kept) {
		return (*encryption)(nil).encode()
	}
	return kept
}
