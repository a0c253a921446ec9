package s3vectors

import (
	"context"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/spratdb/sprat/server/s3vectors/accesskeys"
	"github.com/spratdb/sprat/server/s3vectors/policy"
)

// caller is who sent a request.
type caller struct {
	user      string // "" for anonymous
	role      accesskeys.Role
	arn       string
	anonymous bool
}

// reads and writes are the operations of the roles below admin.
var (
	reads = map[string]bool{
		"GetVectorBucket": true, "ListVectorBuckets": true, "GetVectorBucketPolicy": true, "GetIndex": true, "ListIndexes": true,
		"GetVectors": true, "ListVectors": true, "QueryVectors": true, "ListTagsForResource": true,
	}
	writes = map[string]bool{"PutVectors": true, "DeleteVectors": true}
)

// roleAllows says what a role may do by itself.
func roleAllows(role accesskeys.Role, operation string) bool {
	switch role {
	case accesskeys.Admin:
		return true
	case accesskeys.Write:
		return reads[operation] || writes[operation]
	case accesskeys.Read:
		return reads[operation]
	}
	return false
}

// allow checks that the caller may run an operation on a resource.
func (c *call) allow(ctx context.Context, operation string, on resource) error {
	h := c.h
	arn := "*"
	decision := policy.Silent
	if on.bucket != "" {
		arn = h.arn(on)
		p, err := h.policies.get(ctx, on.bucket)
		if err != nil {
			return engineError(err, on.missing(), false)
		}
		if p != nil {
			keys := &conditionKeys{ctx: ctx, call: c, on: on}
			decision = p.Decide(&policy.Request{
				Principal: policy.Principal{ARN: c.who.arn, Account: h.o.Account, Anonymous: c.who.anonymous},
				Action:    "s3vectors:" + operation, Resource: arn, Values: keys.values,
			})
			if keys.err != nil {
				return engineError(keys.err, on.missing(), false)
			}
		}
	}
	switch {
	case decision == policy.Denied && !(c.who.role == accesskeys.Admin && policyOperations[operation]):
		return c.deny(operation, arn, "with an explicit deny in a resource-based policy")
	case decision == policy.Allowed, roleAllows(c.who.role, operation):
		return nil
	}
	return c.deny(operation, arn, "because no identity-based policy allows the s3vectors:"+operation+" action")
}

func (c *call) deny(operation, arn, why string) error {
	who := c.who.arn
	if c.who.anonymous {
		who = "anonymous"
	}
	return denied("User: " + who + " is not authorized to perform: s3vectors:" + operation + " on resource: " + arn + " " + why)
}

// conditionKeys finds the values of condition keys when a policy asks for them.
type conditionKeys struct {
	ctx  context.Context
	call *call
	on   resource
	tags map[string]string // of the resource, once they were read
	err  error             // that stopped it: the decision counts for nothing then
}

// values is policy.Request.Values.
func (k *conditionKeys) values(key string) []string {
	c := k.call
	if tag, ok := strings.CutPrefix(key, "aws:resourcetag/"); ok {
		return tagValue(k.resourceTags(), tag)
	}
	if tag, ok := strings.CutPrefix(key, "aws:requesttag/"); ok {
		return tagValue(c.q.tags, tag)
	}
	one := func(text string) []string {
		if text == "" {
			return nil
		}
		return []string{text}
	}
	switch key {
	case "aws:tagkeys":
		if c.q.tagKeys != nil {
			return c.q.tagKeys
		}
		return sortedTags(c.q.tags)
	case "s3vectors:ssetype":
		if c.op.creates {
			return one(c.q.encryption.sse())
		}
	case "s3vectors:kmskeyarn":
		if c.op.creates && c.q.encryption != nil && c.q.encryption.KMSKeyARN != nil {
			return one(*c.q.encryption.KMSKeyARN)
		}
	case "aws:username", "aws:userid":
		return one(c.who.user)
	case "aws:principalarn":
		return one(c.who.arn)
	case "aws:principalaccount", "aws:resourceaccount":
		if key == "aws:resourceaccount" || !c.who.anonymous {
			return one(c.h.o.Account)
		}
	case "aws:principaltype":
		if c.who.anonymous {
			return one("Anonymous")
		}
		return one("User")
	case "aws:requestedregion":
		return one(c.h.o.Region)
	case "aws:sourceip":
		host, _, err := net.SplitHostPort(c.r.RemoteAddr)
		if err != nil {
			return nil
		}
		return one(host)
	case "aws:securetransport":
		return one(strconv.FormatBool(c.r.TLS != nil))
	case "aws:useragent":
		return one(c.r.UserAgent())
	case "aws:currenttime":
		return one(c.h.o.Now().UTC().Format(time.RFC3339))
	case "aws:epochtime":
		return one(strconv.FormatInt(c.h.o.Now().Unix(), 10))
	}
	return nil
}

// tagValue finds a tag; keys of conditions have no case.
func tagValue(tags map[string]string, key string) []string {
	for name, value := range tags {
		if strings.EqualFold(name, key) {
			return []string{value}
		}
	}
	return nil
}

// resourceTags reads the tags of what the request is about. What is not there has
// none.
func (k *conditionKeys) resourceTags() map[string]string {
	if k.tags == nil && k.err == nil {
		attributes, err := k.call.h.engine.Attributes(k.ctx, k.on.bucket, k.on.index)
		if err != nil && !isNotFound(err) {
			k.err = err
		}
		k.tags = tagsOf(attributes)
	}
	return k.tags
}
