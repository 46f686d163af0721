package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"verity"
	"verity/audio"
	"verity/cmd/internal/cli"
	"verity/internal/input"
	"verity/internal/show"
	"verity/serve"
	"verity/transcribe"
)

const serveHelp = `Serve answers OpenAI's audio API: clients of OpenAI's /v1/audio/transcriptions and
/v1/audio/translations work with this server once they use its address. A web page at /
transcribes files and the microphone in a browser. /v1/realtime accepts live audio, as
in OpenAI's realtime transcription; /openapi.json describes the API, and /metrics serves
Prometheus metrics.

Requests that are transcribed at the same time share every pass over the weights. The
text of each is bit for bit what transcribe writes for the file alone.

On a terminal of a desktop, serve opens the page in the browser; started once more, it opens
the page that runs.

By default only local clients can connect. Listening on another address requires
--api-key-file, which may be "none". On SIGTERM the server finishes the requests it has
accepted. On SIGHUP it reads keys and certificates again.

  verity serve --model ~/whisper-small --precision int8
  curl -F file=@talk.wav http://127.0.0.1:8000/v1/audio/transcriptions
  verity serve --listen :8000 --api-key-file keys.txt`

// grace is how long accepted requests may go on after SIGTERM.
const grace = 10 * time.Minute

// A serveCommand is the serve command with its flags.
type serveCommand struct {
	cli.Run
	address string
	wyoming string // address; empty for none
	metrics string // address; empty for that of the API
	check   bool   // nothing is served
	noOpen  bool   // no browser is opened
	cert    string // files of TLS
	key     string
	keyFile string
	loaded  *verity.Model
	files   serve.Reloader
	opt     serve.Options
}

func Serve(e cli.Env) *cobra.Command {
	s := &serveCommand{Run: cli.Run{Env: e}}
	c := cli.New("serve [flags]", "Serve OpenAI's audio API over HTTP", serveHelp+cli.EndHelp, s.serve)
	cli.AddFlags(c, s.Model.RegisterModel, s.register, cli.DecodingFlags(&s.Decoding, cli.Server),
		s.Model.RegisterSpeed, s.Model.Assistant.Register, s.Log.Register)
	return c
}

func (s *serveCommand) register(f *pflag.FlagSet) {
	cli.Bind(f, "listen", &s.address)
	cli.Bind(f, "wyoming", &s.wyoming)
	cli.Bind(f, "metrics", &s.metrics)
	cli.Bind(f, "check", &s.check)
	cli.Bind(f, "no-open", &s.noOpen)
	cli.Bind(f, "api-key-file", &s.keyFile)
	cli.AddOption(f, "origin", func(v cli.Value) error {
		if !f.Changed("origin") {
			s.opt.Origins = nil // the default, or nothing
		}
		s.opt.Origins = append(s.opt.Origins, strings.FieldsFunc(v.Text, func(r rune) bool { return r == ',' })...)
		return nil
	})
	cli.Repeatable(f, "origin")
	cli.AddOption(f, "tls-cert", func(v cli.Value) error {
		two := false
		if s.cert, s.key, two = strings.Cut(v.Text, ","); !two {
			s.key = s.cert
		}
		return nil
	})
	cli.Bind(f, "batch", &s.opt.Turns)
	cli.Redefine(f, "batch", strconv.Itoa(serve.DefaultTurns), "maximum `number` of requests to transcribe at the same time. They share every pass "+
		"over the weights; each needs its own memory")
	cli.AddOption(f, "queue", func(v cli.Value) error { s.opt.Waiting = v.OrNone(); return nil })
	cli.AddOption(f, "max-upload", func(v cli.Value) error { s.opt.MaxBytes = int64(v.Number) << 20; return nil })
	cli.Bind(f, "ffmpeg", &s.opt.Sound.FFmpeg)
	cli.Redefine(f, "ffmpeg", audio.FFmpegAuto, "`program` for formats that Verity does not read itself. auto: the "+
		"installed ffmpeg, for common formats only (MP4, M4A, 3GP, AAC, AMR, AIFF, AU, CAF, Ogg, Matroska); never; or a path: that program, for "+
		"every format")
	cli.AddOption(f, "max-audio", func(v cli.Value) error { s.opt.MaxAudio = v.Duration(); return nil })
	cli.AddOption(f, "timeout", func(v cli.Value) error { s.opt.Timeout = v.Duration(); return nil })
}

// serve serves until ctx ends, or checks with --check that it could.
func (s *serveCommand) serve(ctx context.Context, _ []string) error {
	s.Log.Records = true
	logger := s.Log.Logger(s.Env)
	s.files.Log = logger
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer s.watchHangups(stop, logger)()
	if err := s.prepare(ctx, logger); err != nil {
		return err
	}
	s.limitFFmpeg()
	var secure *tls.Config
	if s.cert != "" {
		var err error
		if secure, err = s.files.TLS(s.cert, s.key); err != nil {
			return cli.Usagef("--tls-cert %w; want a certificate and its key in PEM, in one file or as CERTIFICATE,KEY", err)
		}
	}
	defer func() {
		if s.loaded != nil {
			s.loaded.Close()
		}
	}()
	return s.listenAndServe(ctx, secure, logger)
}

// listenAndServe listens before it loads the model, which takes long.
func (s *serveCommand) listenAndServe(ctx context.Context, secure *tls.Config, logger *slog.Logger) error {
	var background sync.WaitGroup
	defer background.Wait()
	listeners, err := s.listenAll()
	for _, l := range listeners {
		defer l.Close()
	}
	api := listeners["listen"]
	switch {
	case err != nil:
		return err
	case s.check:
		if _, err = s.load(ctx, logger); err == nil {
			_, err = fmt.Fprintln(s.Out, "verity: options, keys, certificate, addresses and model are all right; nothing was served")
		}
		return err
	case api == nil: // the page of a server that runs was opened
		return nil
	}
	if api.Addr().Network() == "tcp" {
		s.opt.Address = reachableAt(flagAddress(api))
	}
	load := func(ctx context.Context) (*serve.Server, error) {
		server, err := s.load(ctx, logger)
		if err == nil {
			s.begin(server, listeners, secure != nil, &background, logger)
		}
		return server, err
	}
	return serve.Run(ctx, s.opt, load, func(h *http.Server) error {
		if secure == nil {
			return h.Serve(api)
		}
		h.TLSConfig = secure
		return h.ServeTLS(api, "", "")
	}, logger, grace)
}

// listenAll opens the addresses of the flags. It has none for --listen if the server that runs there shows its page instead,
// and with --check none where Verity answers.
func (s *serveCommand) listenAll() (map[string]net.Listener, error) {
	all := map[string]net.Listener{}
	for flag, address := range map[string]string{"listen": s.address, "wyoming": s.wyoming, "metrics": s.metrics} {
		if address == "" {
			continue
		}
		l, err := listen(flag, address)
		switch {
		case s.check && errors.Is(err, errOccupied) && isVerity(flag, address): // the server that is to be restarted
			continue
		case err != nil && flag == "listen" && !s.check:
			return all, s.secondStart(err)
		case err != nil:
			return all, err
		}
		all[flag] = l
	}
	return all, nil
}

// begin announces a server that is loaded, serves what is beside the API, and opens the page.
func (s *serveCommand) begin(
	server *serve.Server, listeners map[string]net.Listener, secure bool, background *sync.WaitGroup, logger *slog.Logger,
) {
	api, scheme := listeners["listen"], "http://"
	switch {
	case api.Addr().Network() == "unix":
		scheme = ""
	case secure:
		scheme = "https://"
	}
	at := scheme + reachableAt(flagAddress(api))
	s.announce(show.Name(s.opt.Name), at)
	if l := listeners["wyoming"]; l != nil {
		background.Go(func() {
			if err := server.ServeWyoming(l); err != nil {
				logger.Error("the Wyoming protocol is no longer served", "error", err)
			}
		})
		s.announce("Wyoming", flagAddress(l))
	}
	if l := listeners["metrics"]; l != nil {
		background.Go(func() { (&http.Server{Handler: server.Metrics(), ReadHeaderTimeout: time.Minute}).Serve(l) })
		s.announce("metrics", flagAddress(l))
	}
	if a, tcp := api.Addr().(*net.TCPAddr); tcp && a.IP.IsLoopback() && s.hasDesktop() {
		openBrowser(at)
	}
}

// announce writes what is served where, whatever the level of the log. Readers of a JSON log need JSON.
func (s *serveCommand) announce(what, address string) {
	if s.Log.JSON() {
		slog.New(slog.NewJSONHandler(s.Err, nil)).Info("serving", "what", what, "address", address)
		return
	}
	fmt.Fprintf(s.Err, "verity: serving %s on %s\n", what, address)
}

// watchHangups reads keys and certificates again on SIGHUP. If the log is on a terminal, the terminal has gone, and the
// server ends as on SIGTERM. The caller calls end.
func (s *serveCommand) watchHangups(stop func(), logger *slog.Logger) (end func()) {
	if signal.Ignored(syscall.SIGHUP) { // by nohup
		return func() {}
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		for range hangups {
			if s.ErrTerminal {
				stop()
				return
			}
			logger.Info("keys and certificates are read again")
			s.files.Reload()
		}
	}()
	return func() {
		signal.Stop(hangups)
		close(hangups)
	}
}

// load loads the model, and returns its server.
func (s *serveCommand) load(ctx context.Context, logger *slog.Logger) (*serve.Server, error) {
	s.Model.Serving = true
	m, err := s.Model.Load(ctx, transcribe.Options{})
	if err != nil {
		return nil, err
	}
	s.loaded = m
	s.opt.Decoding, s.opt.Fields = s.Decoding.Result(logger), formFields()
	s.opt.Name, s.opt.Log, s.opt.Version = filepath.Base(m.Checkpoint.Name), logger, cli.Version
	s.opt.NoMetrics = s.metrics != ""
	server, err := serve.New(m.Model, s.opt)
	return server, cli.InFlag(err)
}

// formFields returns the form fields of the options that a request may set.
func formFields() (fields []serve.Field) {
	for _, o := range cli.All() {
		if o.Scope&cli.Request == 0 {
			continue
		}
		set := func(to *transcribe.Options, text string) error {
			v, err := o.Parse(text)
			if err != nil { // package serve adds "want"
				return errors.New(strings.NewReplacer("want ", "", "must be ", "a value ").Replace(err.Error()))
			}
			d := cli.Decoding{Options: *to}
			o.Set(&d, v)
			*to = d.Options
			return nil
		}
		fields = append(fields, serve.Field{Name: o.FormField(), Option: o.Field, Set: set})
	}
	return fields
}

// limitFFmpeg limits --ffmpeg auto to common formats, if ffmpeg is installed.
func (s *serveCommand) limitFFmpeg() {
	sound := &s.opt.Sound
	if sound.FFmpeg != audio.FFmpegAuto {
		return
	}
	sound.CommonFormatsOnly = true
	if _, err := exec.LookPath("ffmpeg"); err != nil {
		sound.FFmpeg = audio.FFmpegNever // an error must not advise clients to install it
	}
}

// prepare checks the flags that decide who may connect, and reads the keys.
func (s *serveCommand) prepare(ctx context.Context, logger *slog.Logger) error {
	if err := s.opt.Check(); err != nil {
		return cli.UsageError{Err: cli.InFlag(err)}
	}
	if err := (&cli.SoundFlags{Input: s.opt.Sound}).Check(); err != nil {
		return err
	}
	if s.keyFile != "" && s.keyFile != "none" {
		var err error
		s.opt.Keys, err = s.files.Keys(s.keyFile, func() ([]serve.Key, error) { return readKeys(ctx, s.keyFile) })
		if err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				err = fmt.Errorf("%w; want a file with one key a line, or none to allow anyone", err)
			}
			return cli.Usagef("--api-key-file %w", err)
		}
	}
	for _, a := range []struct{ flag, address, example string }{
		{"listen", s.address, "127.0.0.1:8000"}, {"metrics", s.metrics, "127.0.0.1:9000"}, {"wyoming", s.wyoming, ":10300"},
	} {
		if a.address == "" && a.flag != "listen" {
			continue
		}
		switch others, err := reachable(a.address, a.example); {
		case err != nil:
			return cli.Usagef("--%s %s: %w", a.flag, a.address, err)
		case a.flag == "metrics" && a.address == s.address:
			return cli.Usagef("--metrics %s is the address of --listen; name another port", a.address)
		case !others:
		case a.flag == "metrics":
			logger.Warn("anyone who can reach this machine can read the metrics: they have no key", a.flag, a.address)
		case a.flag == "wyoming":
			logger.Warn("anyone who can reach this machine can use the server: Wyoming has no keys", a.flag, a.address)
		case s.keyFile == "":
			return cli.Usagef("--listen %s lets other machines connect: add --api-key-file FILE, or --api-key-file none to allow anyone",
				a.address)
		case s.opt.Keys == nil:
			logger.Warn("anyone who can reach this machine can use the server", a.flag, a.address)
		}
	}
	return nil
}

// maxKeyFile is how many bytes a file of keys may have.
const maxKeyFile = 1 << 20

// readKeys returns the keys of a file: lines that are not empty and do not begin with #. After a space and #, a line may
// have a name of the key for the log.
func readKeys(ctx context.Context, name string) (keys []serve.Key, err error) {
	fail := func(err error) ([]serve.Key, error) {
		return nil, fmt.Errorf("%s: %w", show.Name(name), err)
	}
	raw, err := input.Read(ctx, name, maxKeyFile)
	if err != nil {
		return fail(err)
	}
	for n, line := range input.Lines(raw) {
		secret, label, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " #")
		key := serve.Key{Secret: strings.TrimSpace(secret), Name: strings.TrimSpace(label)}
		if strings.ContainsFunc(key.Secret, func(r rune) bool { return r <= ' ' || r > '~' }) {
			// The key itself stays out of messages, which are in logs.
			return fail(fmt.Errorf("line %d: a key has a space, or a character that a header cannot hold; want one key a line", n))
		}
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return fail(serve.ErrNoKeys)
	}
	return keys, nil
}
