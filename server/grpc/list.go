package grpc

import (
	"context"

	"github.com/spratdb/sprat"
)

const (
	// defaultList is the library's default length of a page.
	defaultList = 1000
	// framing is more than what the names of a record's fields take in a message.
	framing = 32
)

// listBounded is Index.List whose page fits in a message of maxBytes: it asks for
// short pages that fit whatever they hold, and ends when the next might not.
func listBounded(ctx context.Context, ix *sprat.Index, o sprat.ListOptions, maxBytes int) (sprat.ListPage, error) {
	largest := sprat.MaxKeyBytes + framing
	if o.Vectors {
		largest += 4 * ix.Dimension()
	}
	if o.Metadata {
		largest += sprat.MaxMetadataBytes
	}
	half := maxBytes / 2
	wanted := o.Limit
	if wanted == 0 {
		wanted = defaultList
	}
	var page sprat.ListPage
	for held := 0; ; {
		o.Limit = wanted - len(page.Records)
		if wanted > 0 && wanted <= sprat.MaxListLimit { // the library refuses the rest
			o.Limit = min(o.Limit, max(1, half/largest))
		}
		next, err := ix.List(ctx, o)
		if err != nil {
			return sprat.ListPage{}, err
		}
		page.Records, page.Next = append(page.Records, next.Records...), next.Next
		for i := range next.Records {
			rec := &next.Records[i]
			held += len(rec.Key) + 4*len(rec.Vector) + len(rec.Metadata) + framing
		}
		if page.Next == "" || len(page.Records) >= wanted || held > half {
			return page, nil
		}
		o.Token = page.Next
	}
}
