package s3snapshot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/logging"

	"github.com/spratdb/sprat/internal/archive"
)

// maxGrow bounds what is allocated on the word of a server.
const maxGrow = archive.MaxChunkBytes

// target is a bucket, or what is below a prefix in it.
type target struct {
	name    string // the URL
	bucket  string
	prefix  string // "" or ending in a slash
	client  *s3.Client
	retryer aws.Retryer
}

var _ archive.Creator = (*target)(nil)

// New returns the target that c describes. It finds credentials and lists the
// bucket once, so that what is wrong shows here. Errors are ErrConfig, wrapped,
// or those of the server; a bucket that does not exist is fs.ErrNotExist.
func New(ctx context.Context, c Config) (archive.Objects, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	t := &target{name: c.String(), bucket: c.Bucket, retryer: newRetryer(c)}
	if c.Prefix != "" {
		t.prefix = c.Prefix + "/"
	}
	settings, err := loadSettings(ctx, c, t.retryer)
	if err != nil {
		return nil, fmt.Errorf("settings for %s: %w", t, err)
	}
	t.client = s3.NewFromConfig(settings, func(o *s3.Options) {
		o.UsePathStyle = c.PathStyle
		if c.Endpoint != "" {
			o.BaseEndpoint = &c.Endpoint
		}
		// We give our own checksum with a Put and check what we get by its
		// SHA-256. What the SDK would add is not understood by every server.
		o.RequestChecksumCalculation = aws.RequestChecksumCalculationWhenRequired
		o.ResponseChecksumValidation = aws.ResponseChecksumValidationWhenRequired
	})
	if err := t.look(ctx); err != nil {
		return nil, err
	}
	return t, nil
}

func newRetryer(c Config) aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff = defaultAttempts, defaultMaxBackoff
		if c.Attempts > 0 {
			o.MaxAttempts = c.Attempts
		}
		if c.maxBackoff > 0 {
			o.MaxBackoff = c.maxBackoff
		}
		// The SDK takes an answer that breaks off for one that cannot be read.
		o.Retryables = append(o.Retryables, retry.IsErrorRetryableFunc(func(err error) aws.Ternary {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return aws.TrueTernary
			}
			return aws.UnknownTernary
		}))
	})
}

// loadSettings reads the environment and the shared configuration for what c
// leaves open. There are a region and credentials afterwards.
func loadSettings(ctx context.Context, c Config, retryer aws.Retryer) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithRetryer(func() aws.Retryer { return retryer }),
		config.WithLogger(logging.Nop{}), // it writes to stderr by itself
		config.WithHTTPClient(awshttp.NewBuildableClient().WithReadTimeout(stall)),
	}
	if c.Region != "" {
		options = append(options, config.WithRegion(c.Region))
	}
	if c.AccessKey != "" {
		options = append(options, config.WithCredentialsProvider(
			credentials.NewStaticCredentialsProvider(c.AccessKey, c.SecretKey, c.SessionToken)))
	}
	settings, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return aws.Config{}, err
	}
	if settings.Region == "" {
		if c.Endpoint == "" {
			return aws.Config{}, invalid("no region: put it into the URL or set AWS_REGION")
		}
		settings.Region = regionOfOthers
	}
	if _, err := settings.Credentials.Retrieve(ctx); err != nil {
		return aws.Config{}, fmt.Errorf("no credentials: %w", err)
	}
	return settings, nil
}

// look finds out whether the bucket can be used.
func (t *target) look(ctx context.Context) error {
	_, err := t.client.ListObjectsV2(ctx, &s3.ListObjectsV2Input{
		Bucket: &t.bucket, Prefix: &t.prefix, MaxKeys: aws.Int32(1)})
	if err == nil {
		return nil
	}
	if status, _ := answer(err); status == http.StatusNotFound {
		return fmt.Errorf("bucket of %s: %w", t, fs.ErrNotExist)
	}
	return t.failed(ctx, "list", "the bucket", err)
}

// String returns the URL of the target.
func (t *target) String() string { return t.name }

// key returns the key of an object.
func (t *target) key(op, name string) (*string, error) {
	if !validName(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	return aws.String(t.prefix + name), nil
}

// Put writes an object in one request.
func (t *target) Put(ctx context.Context, name string, data []byte) error {
	return t.put(ctx, name, data, nil)
}

// Create is Put, or fs.ErrExist when the object exists.
func (t *target) Create(ctx context.Context, name string, data []byte) error {
	err := t.put(ctx, name, data, aws.String("*"))
	if status, code := answer(err); status != http.StatusNotImplemented && code != "NotImplemented" {
		return err
	}
	has, err := t.Has(ctx, name)
	if err != nil {
		return err
	}
	if has {
		return t.exists(name)
	}
	return t.put(ctx, name, data, nil)
}

func (t *target) exists(name string) error {
	return fmt.Errorf("create %s in %s: %w", name, t, fs.ErrExist)
}

func (t *target) put(ctx context.Context, name string, data []byte, ifNoneMatch *string) error {
	key, err := t.key("put", name)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	_, err = t.client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: &t.bucket, Key: key, Body: bytes.NewReader(data), IfNoneMatch: ifNoneMatch,
		ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(sum[:])),
	})
	if err != nil {
		return t.failed(ctx, "put", name, err)
	}
	return nil
}

// Get reads an object. The SDK tries requests again; an answer that breaks off in
// the middle is tried again here.
func (t *target) Get(ctx context.Context, name string) ([]byte, error) {
	key, err := t.key("get", name)
	if err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		output, err := t.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &t.bucket, Key: key})
		if err != nil {
			return nil, t.failed(ctx, "get", name, err)
		}
		data, err := readBody(output)
		if err == nil {
			return data, nil
		}
		if ctx.Err() != nil || attempt >= t.retryer.MaxAttempts() {
			return nil, t.failed(ctx, "get", name, errors.Join(ctx.Err(), err))
		}
		if err := t.pause(ctx, attempt, err); err != nil {
			return nil, t.failed(ctx, "get", name, err)
		}
	}
}

func readBody(output *s3.GetObjectOutput) ([]byte, error) {
	defer output.Body.Close()
	var b bytes.Buffer
	length := aws.ToInt64(output.ContentLength)
	b.Grow(int(min(max(length, 0), maxGrow)) + bytes.MinRead)
	if _, err := b.ReadFrom(output.Body); err != nil {
		return nil, err
	}
	if output.ContentLength != nil && int64(b.Len()) != length {
		return nil, fmt.Errorf("%d bytes of %d: %w", b.Len(), length, io.ErrUnexpectedEOF)
	}
	return b.Bytes(), nil
}

// pause waits before the next attempt.
func (t *target) pause(ctx context.Context, attempt int, cause error) error {
	delay, err := t.retryer.RetryDelay(attempt, cause)
	if err != nil {
		return errors.Join(cause, err)
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return errors.Join(ctx.Err(), cause)
	}
}

// Has asks for the head of an object.
func (t *target) Has(ctx context.Context, name string) (bool, error) {
	key, err := t.key("head", name)
	if err != nil {
		return false, err
	}
	_, err = t.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &t.bucket, Key: key})
	if err == nil {
		return true, nil
	}
	if err = t.failed(ctx, "look for", name, err); errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return false, err
}

// List returns the names with a prefix. Keys that are no names of objects, such
// as the markers of folders that other programs make, are left out.
func (t *target) List(ctx context.Context, prefix string) ([]string, error) {
	var names []string
	pages := s3.NewListObjectsV2Paginator(t.client, &s3.ListObjectsV2Input{
		Bucket: &t.bucket, Prefix: aws.String(t.prefix + prefix)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, t.failed(ctx, "list", prefix, err)
		}
		for _, object := range page.Contents {
			name, ok := strings.CutPrefix(aws.ToString(object.Key), t.prefix)
			if ok && validName(name) {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// Delete removes an object; the server says nothing when there is none.
func (t *target) Delete(ctx context.Context, name string) error {
	key, err := t.key("delete", name)
	if err != nil {
		return err
	}
	_, err = t.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &t.bucket, Key: key})
	if err == nil {
		return nil
	}
	if err = t.failed(ctx, "delete", name, err); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
