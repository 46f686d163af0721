package serving

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"verity/cmd/internal/cli"
	"verity/internal/input"
)

// unixPrefix precedes the path of a unix socket in an address.
const unixPrefix = "unix:"

// flagAddress returns the address of a listener as a flag spells it.
func flagAddress(l net.Listener) string {
	if l.Addr().Network() == "unix" {
		return unixPrefix + l.Addr().String()
	}
	return l.Addr().String()
}

// reachableAt returns the address that opens a server on this machine: localhost, if it listens on all addresses.
func reachableAt(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return address
}

// wsaEADDRINUSE is Windows' own error; Go's EADDRINUSE is another number there.
const wsaEADDRINUSE = syscall.Errno(10048)

var errOccupied = errors.New("another program listens there")

// listen opens the address that a flag names. Only that another program has it is no error of usage: it may end.
func listen(flag, address string) (l net.Listener, err error) {
	name, isSocket := strings.CutPrefix(address, unixPrefix)
	want := "want a port from 1024, or the rights to a lower one"
	if isSocket {
		want = "want a short path that is free, in a directory of yours"
		l, err = listenUnix(name)
	} else {
		l, err = net.Listen("tcp", address)
	}
	switch {
	case err == nil:
		return l, nil
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, wsaEADDRINUSE):
		return nil, fmt.Errorf("--%s %s: %w: stop it, or use another address", flag, address, errOccupied)
	case isSocket && errors.Is(err, syscall.EINVAL):
		err = errors.New("the path is too long for a socket")
	}
	return nil, cli.Usagef("--%s %s: %w; %s", flag, address, input.NetworkCause(err), want)
}

// listenUnix opens a unix socket. It replaces one that no program listens on: a server that was killed leaves it behind.
func listenUnix(name string) (net.Listener, error) {
	l, err := net.Listen("unix", name)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, err
	}
	info, statErr := os.Lstat(name)
	if statErr != nil || info.Mode()&os.ModeSocket == 0 {
		return nil, errors.New("there is a file of that name")
	}
	conn, dialErr := net.Dial("unix", name)
	if dialErr == nil {
		conn.Close()
	}
	if !errors.Is(dialErr, syscall.ECONNREFUSED) {
		return nil, err
	}
	if err := os.Remove(name); err != nil {
		return nil, err
	}
	return net.Listen("unix", name)
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
	if _, err := net.LookupPort("tcp", port); err != nil {
		return false, errors.New("the port must be from 0 to 65535")
	}
	if l, err := net.Listen("tcp", net.JoinHostPort(host, "0")); err != nil {
		return false, errors.New("this machine has no such address; want one that it has, as 127.0.0.1, or none before the colon for all of them")
	} else {
		l.Close()
	}
	ip := net.ParseIP(host)
	return host != "localhost" && (ip == nil || !ip.IsLoopback()), nil
}
