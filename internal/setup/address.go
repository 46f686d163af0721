package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"verity/audio"
	"verity/internal/show"
)

const (
	largestDownload = 4 << 30          // bytes of a sound file from the network
	patience        = 30 * time.Second // without a byte until a download is given up
)

// IsAddress reports whether the name of a sound file is an address on the web.
func IsAddress(name string) bool {
	scheme, _, ok := strings.Cut(name, "://")
	return ok && (strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https"))
}

// download reads the sound file at an address into a temporary file.
func (s *SoundFlags) download(ctx context.Context, address string) (*audio.Clip, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("%s: no address: %w", show.Name(address), err)
	}
	name := u.Redacted()
	loading, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(patience, func() { cancel(fmt.Errorf("no byte came for %v", patience)) })
	defer silence.Stop()
	failed := func(err error) error {
		if cause := context.Cause(loading); cause != nil {
			err = cause
		}
		return fmt.Errorf("%s: %w", show.Name(name), err)
	}
	request, err := http.NewRequestWithContext(loading, http.MethodGet, address, nil)
	if err != nil {
		return nil, failed(err)
	}
	// Clients of net/http follow ten redirects, and to http and https alone.
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		var e *url.Error
		if errors.As(err, &e) {
			err = e.Err // without the address, which failed names
		}
		return nil, failed(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, failed(fmt.Errorf("the server answers %s", show.Text(answer.Status)))
	}
	if kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type")); kind == "text/html" {
		return nil, failed(errors.New("is a web page, want the address of the sound file itself"))
	}
	body := &download{from: answer.Body, left: largestDownload, came: func() { silence.Reset(patience) }}
	clip, err := s.OpenReader(ctx, name, body)
	if err != nil && context.Cause(loading) != nil {
		err = failed(err)
	}
	return clip, err
}

// A download is a body of bounded size that says when something came.
type download struct {
	from io.Reader
	left int64
	came func()
}

func (d *download) Read(b []byte) (int, error) {
	n, err := d.from.Read(b)
	d.came()
	if d.left -= int64(n); d.left < 0 {
		return 0, fmt.Errorf("more than %d GiB", largestDownload>>30)
	}
	return n, err
}
