package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
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

// isVerity reports whether Verity answers at an address.
func isVerity(address string) bool {
	r, err := (&http.Client{Timeout: 2 * time.Second}).Get("http://" + address + "/openapi.json")
	if err != nil {
		return false
	}
	defer r.Body.Close()
	var api struct{ Info struct{ Title string } }
	return json.NewDecoder(r.Body).Decode(&api) == nil && api.Info.Title == "Verity"
}

// secondStart opens the page that runs already at the address of --listen, given the error of listening there.
func (s *serveCommand) secondStart(err error) error {
	at := reachableAt(s.address)
	switch {
	case !errors.Is(err, errOccupied) || !isVerity(at):
		return err
	case !s.hasDesktop():
		return fmt.Errorf("--listen %s: Verity runs there already: open http://%s, or use another address", s.address, at)
	}
	openBrowser("http://" + at)
	_, err = fmt.Fprintf(s.Err, "verity: Verity runs already, in another terminal: its page at http://%s was opened. For other options, end it there first\n", at)
	return err
}
