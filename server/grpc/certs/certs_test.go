package certs_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/test/bufconn"

	"github.com/spratdb/sprat/server/grpc/certs"
)

// authority makes certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func writePEM(t *testing.T, path, kind string, der []byte) {
	t.Helper()
	must(t, os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600))
}

func newAuthority(t *testing.T, path string) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: path}, NotBefore: time.Unix(0, 0),
		NotAfter: time.Unix(1<<33, 0), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	writePEM(t, path, "CERTIFICATE", der)
	return &authority{cert, key}
}

func (a *authority) issue(t *testing.T, serial int64, certPath, keyPath string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), DNSNames: []string{"sprat"}, NotBefore: time.Unix(0, 0),
		NotAfter: time.Unix(1<<33, 0), ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	must(t, err)
	text, err := x509.MarshalPKCS8PrivateKey(key)
	must(t, err)
	writePEM(t, keyPath, "PRIVATE KEY", text)
	writePEM(t, certPath, "CERTIFICATE", der)
}

// shake connects and returns the serial numbers that the sides saw, 0 for none.
func shake(server, client *tls.Config) (ofServer, ofClient int64, err error) {
	listener := bufconn.Listen(64 << 10) // a net.Pipe would have both sides wait to write
	defer listener.Close()
	accepted := make(chan *tls.Conn, 1)
	done := make(chan error, 1)
	go func() {
		a, err := listener.Accept()
		if err != nil {
			done <- err
			return
		}
		s := tls.Server(a, server)
		if err = s.Handshake(); err == nil {
			_, err = s.Write([]byte{1}) // with TLS 1.3 a client learns here that it was refused
		}
		if err != nil {
			a.Close()
		}
		accepted <- s
		done <- err
	}()
	b, err := listener.Dial()
	if err != nil {
		return 0, 0, err
	}
	c := tls.Client(b, client)
	_, err = c.Read(make([]byte, 1))
	defer b.Close()
	if err != nil {
		b.Close()
	}
	if err = errors.Join(err, <-done); err != nil {
		return 0, 0, err
	}
	s := <-accepted
	defer s.Close()
	if p := s.ConnectionState().PeerCertificates; len(p) > 0 {
		ofClient = p[0].SerialNumber.Int64()
	}
	return c.ConnectionState().PeerCertificates[0].SerialNumber.Int64(), ofClient, nil
}

func TestReload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		in := func(name string) string { return filepath.Join(dir, name) }
		ca, other := newAuthority(t, in("ca")), newAuthority(t, in("other"))
		ca.issue(t, 10, in("server"), in("server.key"))
		ca.issue(t, 20, in("client"), in("client.key"))
		other.issue(t, 30, in("stranger"), in("stranger.key"))
		clientOf := func(name string) *tls.Config {
			t.Helper()
			f := certs.Files{CA: in("ca")}
			if name != "" {
				f.Cert, f.Key = in(name), in(name+".key")
			}
			c, err := certs.Client(f, "sprat", nil)
			must(t, err)
			return c
		}
		plain, err := certs.Server(certs.Files{Cert: in("server"), Key: in("server.key")}, nil)
		must(t, err)
		mutual, err := certs.Server(certs.Files{Cert: in("server"), Key: in("server.key"), CA: in("ca")}, nil)
		must(t, err)
		if s, c, err := shake(plain, clientOf("")); err != nil || s != 10 || c != 0 {
			t.Errorf("TLS: %d %d %v", s, c, err)
		}
		if s, c, err := shake(mutual, clientOf("client")); err != nil || s != 10 || c != 20 {
			t.Errorf("mTLS: %d %d %v", s, c, err)
		}
		for _, name := range []string{"", "stranger"} {
			if _, _, err := shake(mutual, clientOf(name)); err == nil {
				t.Errorf("mTLS takes %q", name)
			}
		}
		wrong, err := certs.Client(certs.Files{CA: in("other")}, "sprat", nil)
		must(t, err)
		if _, _, err := shake(plain, wrong); err == nil {
			t.Error("a server of another authority is trusted")
		}

		same := clientOf("client")
		ca.issue(t, 11, in("server"), in("server.key"))
		ca.issue(t, 21, in("client"), in("client.key"))
		<-time.After(2 * time.Second)
		if s, c, err := shake(mutual, same); err != nil || s != 11 || c != 21 {
			t.Errorf("after a change: %d %d %v", s, c, err)
		}
		must(t, os.WriteFile(in("server"), []byte("half a file"), 0o600))
		<-time.After(2 * time.Second)
		if s, _, err := shake(mutual, same); err != nil || s != 11 {
			t.Errorf("after a bad change: %d %v", s, err)
		}
	})
}

func TestBadFiles(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	ca := newAuthority(t, in("ca"))
	ca.issue(t, 1, in("a"), in("a.key"))
	ca.issue(t, 2, in("b"), in("b.key"))
	must(t, os.WriteFile(in("text"), []byte("no PEM"), 0o600))
	for name, f := range map[string]certs.Files{
		"none": {Cert: in("none"), Key: in("a.key")}, "no key": {Cert: in("a")}, "of another": {Cert: in("a"), Key: in("b.key")},
		"no CA": {Cert: in("a"), Key: in("a.key"), CA: in("none")}, "CA of text": {Cert: in("a"), Key: in("a.key"), CA: in("text")},
	} {
		if _, err := certs.Server(f, nil); err == nil {
			t.Errorf("server: %s is taken", name)
		}
		if _, err := certs.Client(f, "", nil); err == nil {
			t.Errorf("client: %s is taken", name)
		}
	}
}
