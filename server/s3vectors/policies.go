package s3vectors

import (
	"context"
	"errors"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/spratdb/sprat"
	"github.com/spratdb/sprat/server/s3vectors/floatjson"
	"github.com/spratdb/sprat/server/s3vectors/policy"
)

// policyCache keeps the parsed policies of buckets for a moment, so that requests do
// not each read them.
type policyCache struct {
	engine Engine
	now    func() time.Time

	mu struct {
		sync.Mutex
		// changes counts what was forgotten: what was read before is not kept.
		changes uint64
		buckets map[string]cachedPolicy
	}
}

type cachedPolicy struct {
	policy *policy.Policy // nil for none
	until  time.Time
}

const (
	policyLife = time.Second
	// maxPolicies bounds the cache. It is emptied when it is full: buckets in use come
	// back at once.
	maxPolicies = 10_000
)

func (c *policyCache) init(engine Engine, now func() time.Time) {
	c.engine, c.now = engine, now
	c.mu.buckets = map[string]cachedPolicy{}
}

// get returns the policy of a bucket, nil when it has none or does not exist.
func (c *policyCache) get(ctx context.Context, bucket string) (*policy.Policy, error) {
	now := c.now()
	c.mu.Lock()
	hit, ok := c.mu.buckets[bucket]
	changes := c.mu.changes
	c.mu.Unlock()
	if ok && now.Before(hit.until) {
		return hit.policy, nil
	}
	attributes, err := c.engine.Attributes(ctx, bucket, "")
	if errors.Is(err, sprat.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var parsed *policy.Policy
	if text := attributes[attrPolicy]; text != nil {
		if parsed, err = policy.Parse(text); err != nil {
			return nil, err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.changes == changes {
		if len(c.mu.buckets) >= maxPolicies {
			clear(c.mu.buckets)
		}
		c.mu.buckets[bucket] = cachedPolicy{policy: parsed, until: now.Add(policyLife)}
	}
	return parsed, nil
}

// forget drops what is kept of a bucket, and what is being read now.
func (c *policyCache) forget(bucket string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mu.changes++
	delete(c.mu.buckets, bucket)
}

func checkPutPolicy(h *Handler, q *request, v *violations) {
	v.names(q)
	if q.policy == nil {
		v.missing("/policy")
	}
}

func (h *Handler) putPolicy(ctx context.Context, c *call) ([]byte, error) {
	text := []byte(*c.q.policy)
	if _, err := policy.Parse(text); err != nil {
		return nil, badInput("policy", "The policy is not valid: "+err.Error())
	}
	return emptyAnswer, h.setAttributes(ctx, c.q.target, map[string][]byte{attrPolicy: text})
}

func (h *Handler) getPolicy(ctx context.Context, c *call) ([]byte, error) {
	attributes, err := h.engine.Attributes(ctx, c.q.target.bucket, "")
	if err != nil {
		return nil, engineError(err, textBucketNotFound, false)
	}
	text := attributes[attrPolicy]
	if text == nil {
		return nil, notFound(textPolicyNotFound)
	}
	if !utf8.Valid(text) {
		return nil, internal(errors.New("the kept policy is no text"))
	}
	b := floatjson.AppendString([]byte(`{"policy":`), string(text))
	return append(b, '}'), nil
}

func (h *Handler) deletePolicy(ctx context.Context, c *call) ([]byte, error) {
	return emptyAnswer, h.setAttributes(ctx, c.q.target, map[string][]byte{attrPolicy: nil})
}

// policyOperations are those that a policy cannot take from an admin, so that nobody
// locks everybody out for good.
var policyOperations = map[string]bool{"PutVectorBucketPolicy": true, "GetVectorBucketPolicy": true, "DeleteVectorBucketPolicy": true}
