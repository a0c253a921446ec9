package s3vectors

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/s3vectors/accesskeys"
	"github.com/spratdb/sprat/server/s3vectors/sigv4"
)

// Keys finds access keys; accesskeys.File and accesskeys.Static do.
type Keys interface {
	// Lookup returns the key of an id. It is safe for concurrent use.
	Lookup(id string) (accesskeys.Key, bool)
}

// Options configure a Handler. The zero value of a field means its default.
type Options struct {
	// Keys are the access keys of clients. Without them, only anonymous requests can
	// pass.
	Keys Keys
	// Anonymous is what a request without a signature may do. Default: nothing at all,
	// it is refused.
	Anonymous accesskeys.Role

	// Region is the Region in ARNs. Default us-east-1. Clients may sign for any Region,
	// unless StrictRegion is set.
	Region       string
	StrictRegion bool
	// Account is the account id in ARNs, 12 digits. Default 000000000000.
	Account string
	// Skew is how far clocks of clients may be off, up to 15 minutes. Default 5 minutes.
	Skew time.Duration
	// BasePath is a path before that of every route, like /vectors. Default none.
	BasePath string

	// StrictFilter refuses the filters that AWS refuses, those of several entries and
	// empty ones, which otherwise mean "and" and everything.
	StrictFilter bool
	// PlainEuclidean answers euclidean distances in place of their squares.
	PlainEuclidean bool
	// ShortFloats writes the fewest digits that name a float32. Default: the digits of
	// AWS, which name it as a float64.
	ShortFloats bool
	// AcceptKMS takes encryption by aws:kms and shows it, though nothing is encrypted
	// here. Default: it is refused.
	AcceptKMS bool

	// QueryPage is how many results an answer of QueryVectors has at most, up to the
	// default of 10,000; QueryBytes how large it is, about. Default 4 MiB.
	QueryPage  int
	QueryBytes int

	// BodyMemory bounds what requests in progress take for bodies, in bytes: four times
	// their length. Default 256 MiB, at least 128 MiB.
	BodyMemory int64
	// AnswerMemory bounds what answers in progress take, in bytes. Default 128 MiB, at
	// least 32 MiB.
	AnswerMemory int64
	// PageMemory bounds results of queries that wait for their next page, in bytes.
	// Default 32 MiB.
	PageMemory int64
	// Timeout is how long a request may wait and work, its body not counted. Default 60
	// seconds.
	Timeout time.Duration

	// Fallback serves what is not a route of S3 Vectors. Default: an error.
	Fallback http.Handler
	// Logger is told of faults, and at debug level of every request. Default: nothing.
	Logger *slog.Logger
	// Observe is told of every request that was served, after its answer.
	Observe func(Observation)
	// Now is the clock. Default time.Now.
	Now func() time.Time
}

// Observation is what there is to know of a served request.
type Observation struct {
	Operation string // "" when there is none
	Status    int    // of HTTP
	Code      string // of the error, "" for none
	Duration  time.Duration
	BodyBytes int64
}

// Handler serves the S3 Vectors API. New makes one.
type Handler struct {
	engine   Engine
	o        Options
	verifier *sigv4.Verifier
	policies policyCache
	pages    pageCache
	// Memory: see Options. Who holds a part of answers waits for nothing more, so that
	// holders of bodies that wait for answers get on.
	bodies, small, answers *semaphore.Weighted
	grace                  time.Duration // transferGrace but in tests
}

var (
	accountForm = regexp.MustCompile(`^[0-9]{12}$`)
	regionForm  = regexp.MustCompile(`^[a-z0-9-]{1,64}$`)
)

const (
	defaultBodyMemory   = 256 << 20
	minBodyMemory       = 128 << 20
	defaultAnswerMemory = 128 << 20
	minAnswerMemory     = 32 << 20
	defaultPageMemory   = 32 << 20
	defaultQueryBytes   = 4 << 20
	defaultTimeout      = time.Minute
	defaultSkew         = 5 * time.Minute
)

// New returns a handler over an engine. Errors say which option is wrong.
func New(engine Engine, o Options) (*Handler, error) {
	o.Region = cmp.Or(o.Region, "us-east-1")
	o.Account = cmp.Or(o.Account, "000000000000")
	o.Skew = cmp.Or(o.Skew, defaultSkew)
	o.QueryPage = cmp.Or(o.QueryPage, sprat.MaxK)
	o.QueryBytes = cmp.Or(o.QueryBytes, defaultQueryBytes)
	o.BodyMemory = cmp.Or(o.BodyMemory, defaultBodyMemory)
	o.AnswerMemory = cmp.Or(o.AnswerMemory, defaultAnswerMemory)
	o.PageMemory = cmp.Or(o.PageMemory, defaultPageMemory)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	if o.Keys == nil {
		o.Keys = accesskeys.Static{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if err := o.validate(); err != nil {
		return nil, err
	}
	h := &Handler{
		engine: engine, o: o, grace: transferGrace,
		bodies:  semaphore.NewWeighted(o.BodyMemory - smallShare),
		small:   semaphore.NewWeighted(smallShare),
		answers: semaphore.NewWeighted(o.AnswerMemory),
	}
	h.policies.init(engine, o.Now)
	h.pages.init(o.PageMemory, o.Now)
	h.verifier = &sigv4.Verifier{Service: "s3vectors", Skew: o.Skew, Now: o.Now, Lookup: h.lookup}
	if o.StrictRegion {
		h.verifier.Region = o.Region
	}
	return h, nil
}

func (o *Options) validate() error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("s3vectors: "+format, args...))
		}
	}
	if o.Anonymous != "" {
		_, err := accesskeys.ParseRole(string(o.Anonymous))
		check(err == nil, "anonymous: %v", err)
	}
	check(regionForm.MatchString(o.Region), "region %.80q: want letters a-z, digits and hyphens", o.Region)
	check(accountForm.MatchString(o.Account), "account %.80q: want 12 digits", o.Account)
	check(o.Skew > 0 && o.Skew <= sigv4.MaxSkew, "skew %v: want up to 15 minutes", o.Skew)
	check(o.BasePath == "" || strings.HasPrefix(o.BasePath, "/") && !strings.HasSuffix(o.BasePath, "/"),
		"base path %.80q: want one that starts with a slash and does not end with one", o.BasePath)
	check(o.QueryPage > 0 && o.QueryPage <= sprat.MaxK, "query page %d: want 1 to 10,000", o.QueryPage)
	check(o.QueryBytes > 0, "query bytes %d: want at least 1", o.QueryBytes)
	check(o.BodyMemory >= minBodyMemory, "body memory %d: want at least 128 MiB", o.BodyMemory)
	check(o.AnswerMemory >= minAnswerMemory, "answer memory %d: want at least 32 MiB", o.AnswerMemory)
	check(o.PageMemory > 0, "page memory %d: want at least 1", o.PageMemory)
	check(o.Timeout > 0, "timeout %v: want more than 0", o.Timeout)
	return errors.Join(errs...)
}

func (h *Handler) lookup(id string) (sigv4.Key, bool) {
	k, ok := h.o.Keys.Lookup(id)
	return sigv4.Key{Secret: k.Secret, SessionToken: k.SessionToken, Expires: k.Expires}, ok
}
