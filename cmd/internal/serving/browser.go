package serving

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// hasDesktop reports whether a person at this machine can see a browser that is opened now.
func (s *serveCommand) hasDesktop() bool {
	if s.noOpen || !s.ErrTerminal || s.Log.JSON() || os.Getenv("SSH_CONNECTION") != "" {
		return false
	}
	own := runtime.GOOS == "windows" || runtime.GOOS == "darwin" // their desktop is always there
	return own || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

// openBrowser opens an address in the browser. If that fails, the person opens the printed address.
func openBrowser(address string) {
	c := exec.Command("xdg-open", address)
	switch runtime.GOOS {
	case "windows":
		c = exec.Command("rundll32", "url.dll,FileProtocolHandler", address)
	case "darwin":
		c = exec.Command("open", address)
	}
	if c.Start() == nil {
		go c.Wait()
	}
}

// isVerity reports whether Verity answers at the address of a flag.
func isVerity(flag, address string) bool {
	if flag != "wyoming" {
		return runningAt(address) != ""
	}
	conn, err := dial(address)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	fmt.Fprintln(conn, `{"type":"describe"}`)
	info, _ := io.ReadAll(conn) // until the deadline
	return bytes.Contains(info, []byte("verity"))
}

// dial connects to an address of a flag.
func dial(address string) (net.Conn, error) {
	if path, unix := strings.CutPrefix(address, unixPrefix); unix {
		return net.Dial("unix", path)
	}
	return net.DialTimeout("tcp", reachableAt(address), 2*time.Second)
}

// runningAt returns where Verity answers at an address of --listen, over HTTP or HTTPS; empty if it does not.
func runningAt(address string) string {
	host := reachableAt(address)
	if strings.HasPrefix(address, unixPrefix) {
		host = "socket"
	}
	t := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, // nothing is sent, and the certificate is for another name
		DialContext:     func(context.Context, string, string) (net.Conn, error) { return dial(address) },
	}
	defer t.CloseIdleConnections()
	for _, scheme := range []string{"http://", "https://"} {
		r, err := (&http.Client{Timeout: 2 * time.Second, Transport: t}).Get(scheme + host + "/openapi.json")
		if err != nil {
			continue
		}
		var api struct{ Info struct{ Title string } }
		err = json.NewDecoder(r.Body).Decode(&api)
		r.Body.Close()
		if err == nil && api.Info.Title == "Verity" {
			return scheme + host
		}
	}
	return ""
}

// secondStart opens the page that runs already at the address of --listen, given the error of listening there.
func (s *serveCommand) secondStart(err error) error {
	if !errors.Is(err, errOccupied) || strings.HasPrefix(s.address, unixPrefix) {
		return err
	}
	switch at := runningAt(s.address); {
	case at == "":
		return err
	case !s.hasDesktop():
		return fmt.Errorf("--listen %s: Verity runs there already: open %s, or use another address", s.address, at)
	default:
		openBrowser(at)
		_, err = fmt.Fprintf(s.Err, "verity: Verity runs already, in another terminal: its page at %s was opened. For other options, end it there first\n", at)
		return err
	}
}
