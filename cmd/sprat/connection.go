package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"github.com/spratdb/sprat/server/grpc/certs"
	"github.com/spratdb/sprat/server/grpc/client"
)

// connectionFlags say how a server of `sprat serve` is reached.
type connectionFlags struct {
	addr      string
	token     string
	tokenName string // of the environment's variable in place of the file
	secure    bool
	tls       certs.Files
	tlsName   string
}

// add registers the flags but for the address; each begins with prefix, and peer is
// what they call the other side.
func (f *connectionFlags) add(cmd *cobra.Command, prefix, peer, tokenName string) {
	f.tokenName = tokenName
	fl := cmd.Flags()
	fl.StringVar(&f.token, prefix+"token", "", "`file` that holds the "+peer+"'s token (default: "+tokenName+")")
	fl.BoolVar(&f.secure, prefix+"tls", false, "connect to the "+peer+" by TLS, with the authorities of the system unless --"+prefix+"ca is given")
	fl.StringVar(&f.tls.CA, prefix+"ca", "", "PEM `file` of the authorities that the "+peer+"'s certificate comes from; means TLS")
	fl.StringVar(&f.tls.Cert, prefix+"cert", "", "PEM `file` of a certificate to show to the "+peer+"; means TLS")
	fl.StringVar(&f.tls.Key, prefix+"key", "", "PEM `file` of its key")
	fl.StringVar(&f.tlsName, prefix+"tls-name", "", "`name` in the "+peer+"'s certificate (default: the host of its address)")
	cmd.MarkFlagsRequiredTogether(prefix+"cert", prefix+"key")
}

// connect makes the client, which connects when it is needed.
func (f *connectionFlags) connect(log *slog.Logger) (*client.Client, error) {
	token := os.Getenv(f.tokenName)
	if f.token != "" {
		text, err := os.ReadFile(f.token)
		if err != nil {
			return nil, err
		}
		if token = string(bytes.TrimSpace(text)); token == "" || bytes.ContainsAny(bytes.TrimSpace(text), " \t\r\n") {
			return nil, fmt.Errorf("%s: want one token and nothing else", f.token)
		}
	}
	var secure *tls.Config
	if f.secure || f.tls != (certs.Files{}) {
		var err error
		if secure, err = certs.Client(f.tls, f.tlsName, log); err != nil {
			return nil, err
		}
	}
	return client.New(f.addr, client.Options{Token: token, TLS: secure})
}
