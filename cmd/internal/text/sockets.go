package text

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"
)

// sockets are what the server listens on.
type sockets struct {
	api   net.Listener
	voice net.Listener // of the Wyoming protocol; nil without
}

// unixPrefix precedes the path of a unix socket in an address.
const unixPrefix = "unix:"

// systemdSockets returns the sockets that systemd has opened for this process: the one named wyoming is for Wyoming.
func systemdSockets() (s sockets, err error) {
	named, err := activation.ListenersWithNames()
	if err != nil {
		return s, err
	}
	count := 0
	for name, list := range named {
		for _, l := range list {
			switch {
			case l == nil:
				return s, errors.New("got a socket from systemd that is no stream: want ListenStream in the unit")
			case name == "wyoming":
				s.voice = l
			default:
				s.api = l
				count++
			}
		}
	}
	if count > 1 {
		return s, fmt.Errorf("got %d sockets from systemd, want one; that of Wyoming needs FileDescriptorName=wyoming", count)
	}
	return s, nil
}

// open opens the addresses that systemd has not opened.
func (s *sockets) open(api, voice string) (err error) {
	if s.api == nil {
		if s.api, err = listen("listen", api); err != nil {
			return err
		}
	}
	if s.voice == nil && voice != "" {
		s.voice, err = listen("wyoming", voice)
	}
	return err
}

func (s *sockets) close() {
	for _, l := range []net.Listener{s.api, s.voice} {
		if l != nil {
			l.Close()
		}
	}
}

// addressOf returns the address of a listener as a flag spells it; other if there is no listener.
func addressOf(l net.Listener, other string) string {
	switch {
	case l == nil:
		return other
	case l.Addr().Network() == "unix":
		return unixPrefix + l.Addr().String()
	}
	return l.Addr().String()
}

// reachableAt returns the address that opens a server on this machine: localhost, if it listens on all addresses.
func reachableAt(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("localhost", port)
	}
	return address
}

// wsaEADDRINUSE is Windows' own error; Go's EADDRINUSE is another number there.
const wsaEADDRINUSE = syscall.Errno(10048)

// listen opens the address that a flag names.
func listen(flag, address string) (l net.Listener, err error) {
	if name, ok := strings.CutPrefix(address, unixPrefix); ok {
		l, err = listenUnix(name)
	} else {
		l, err = net.Listen("tcp", address)
	}
	var op *net.OpError
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, wsaEADDRINUSE):
		return nil, fmt.Errorf("--%s %s: another program listens there, perhaps verity serve: stop it, or use another address", flag, address)
	case errors.As(err, &op):
		err = op.Err // the rest names the network and the address again
	}
	return nil, fmt.Errorf("--%s %s: %w", flag, address, err)
}

// listenUnix opens a unix socket. It replaces one that no program listens on: a server that was killed leaves it behind.
func listenUnix(name string) (net.Listener, error) {
	l, err := net.Listen("unix", name)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	info, statErr := os.Lstat(name)
	if statErr != nil || info.Mode()&os.ModeSocket == 0 {
		return nil, errors.New("there is a file of that name: remove it, or name another")
	}
	conn, dialErr := net.Dial("unix", name)
	if dialErr == nil {
		conn.Close()
	}
	if !errors.Is(dialErr, syscall.ECONNREFUSED) {
		return nil, err
	}
	//verity:writes the socket of a server that was killed
	if err := os.Remove(name); err != nil {
		return nil, err
	}
	return net.Listen("unix", name)
}

// notifySystemd tells systemd, if it has started this process, that the server is ready, and when ctx ends, that it
// stops.
func notifySystemd(ctx context.Context) {
	daemon.SdNotify(false, daemon.SdNotifyReady)
	<-ctx.Done()
	daemon.SdNotify(false, daemon.SdNotifyStopping)
}

// reachable reports whether other machines may reach an address, and what is wrong with it.
func reachable(address, example string) (bool, error) {
	if name, ok := strings.CutPrefix(address, unixPrefix); ok {
		if name == "" {
			return false, errors.New("want unix:PATH")
		}
		return false, nil
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return false, fmt.Errorf("want host:port, as %s, or unix:PATH", example)
	}
	if n, err := strconv.Atoi(port); err == nil && n > 65535 || err != nil && strings.HasPrefix(port, "-") {
		return false, errors.New("the port must be from 0 to 65535")
	}
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback()), nil
}
