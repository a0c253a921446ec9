package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/spratdb/sprat"
	sprpc "github.com/spratdb/sprat/server/grpc"
	"github.com/spratdb/sprat/server/grpc/client"
	"github.com/spratdb/sprat/server/s3vectors"
	"github.com/spratdb/sprat/server/s3vectors/accesskeys"
	"github.com/spratdb/sprat/server/s3vectors/remote"
)

const secret = "secret/of+conformance"

// faults makes requests fail before the handler sees them.
type faults struct {
	handler http.Handler

	mu   sync.Mutex
	next struct {
		Status int
		Code   string
		Times  int
	}
	seen int // requests since the fault was set
}

func (f *faults) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case r.Method == http.MethodPost && r.URL.Path == "/_fault":
		f.seen = 0
		if err := json.NewDecoder(r.Body).Decode(&f.next); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	case r.URL.Path == "/_fault":
		fmt.Fprint(w, f.seen)
	case f.next.Times > 0:
		f.next.Times--
		f.seen++
		w.Header().Set("X-Amzn-ErrorType", f.next.Code)
		w.WriteHeader(f.next.Status)
		fmt.Fprintf(w, `{"message":"made to fail"}`)
	default:
		f.seen++
		f.mu.Unlock()
		defer f.mu.Lock()
		f.handler.ServeHTTP(w, r)
	}
}

// engine returns a new store as an engine, behind gRPC when it is to be remote.
func engine(t *testing.T, distant bool) s3vectors.Engine {
	t.Helper()
	store, err := sprat.Open(t.TempDir(), sprat.Options{MemoryLimit: 256 << 20, IOEngine: "pread"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { store.Close() })
	if !distant {
		return s3vectors.Local(store)
	}
	server, err := sprpc.New(store, sprpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Drain(context.Background()) })
	c, err := client.New(listener.Addr().String(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return remote.New(c)
}

// serve returns the URL of a server over an engine.
func serve(t *testing.T, e s3vectors.Engine) string {
	t.Helper()
	keys := accesskeys.Static{
		"ADMIN":  {User: "admin", ID: "ADMIN", Secret: secret, Role: accesskeys.Admin},
		"READER": {User: "reader", ID: "READER", Secret: secret, Role: accesskeys.Read},
		"NOBODY": {User: "nobody", ID: "NOBODY", Secret: secret, Role: accesskeys.None},
	}
	h, err := s3vectors.New(e, s3vectors.Options{Keys: keys, StrictFilter: true, QueryBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	server.Config = s3vectors.NewServer(&faults{handler: h}, nil)
	server.Start()
	t.Cleanup(server.Close)
	return server.URL
}

// TestClients runs each client's script, which exits with 0 when all its cases pass.
func TestClients(t *testing.T) {
	required := os.Getenv("SPRAT_CLIENTS") == "required"
	if !required && os.Getenv("SPRAT_CLIENTS") != "installed" {
		t.Skip("SPRAT_CLIENTS is neither installed nor required")
	}
	python := cmp.Or(os.Getenv("SPRAT_PYTHON"), "python3")
	node := cmp.Or(os.Getenv("SPRAT_NODE"), "node")
	cli := cmp.Or(os.Getenv("SPRAT_AWS"), "aws")
	for name, c := range map[string]struct {
		probe, run []string
		distant    bool
	}{
		"boto3":                   {[]string{python, "-c", "import boto3; boto3.client('s3vectors', region_name='us-east-1')"}, []string{python, "clients/boto3_client.py"}, false},
		"boto3 through a gateway": {[]string{python, "-c", "import boto3; boto3.client('s3vectors', region_name='us-east-1')"}, []string{python, "clients/boto3_client.py"}, true},
		"cli":                     {[]string{cli, "s3vectors", "help"}, []string{python, "clients/cli_client.py", cli}, false},
		"js":                      {[]string{node, "-e", "require('@aws-sdk/client-s3vectors')"}, []string{node, "clients/js_client.cjs"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			probe := exec.Command(c.probe[0], c.probe[1:]...)
			probe.Env = append(os.Environ(), "AWS_PAGER=", "PAGER=cat")
			if out, err := probe.CombinedOutput(); err != nil {
				if required {
					t.Fatalf("the client is not there: %v\n%s", err, out)
				}
				t.Skip("the client is not installed")
			}
			run := exec.Command(c.run[0], c.run[1:]...)
			run.Env = append(os.Environ(), "AWS_ENDPOINT_URL_S3VECTORS="+serve(t, engine(t, c.distant)), "AWS_ACCESS_KEY_ID=ADMIN", "AWS_SECRET_ACCESS_KEY="+secret,
				"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true", "AWS_PAGER=", "AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull)
			out, err := run.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}
