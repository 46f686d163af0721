package transcribe

import (
	"context"
	"sync"

	"verity/decoder"
	"verity/encoder"
	"verity/internal/layer"
	"verity/model"
)

// LoadNetwork reads the encoder and the decoder of c, in the same precision. That is faster than
// one after the other: the disk reads the second while the end of the first is packed.
func LoadNetwork(c *model.Checkpoint, o decoder.Options) (e *encoder.Encoder, d *decoder.Decoder, err error) {
	if o.Precision, err = layer.Resolve(c, o.Precision, o.Pool); err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancelCause(c.Context())
	defer cancel(nil)
	c = c.WithContext(ctx)
	var both sync.WaitGroup
	both.Go(func() {
		var err error
		if e, err = encoder.New(c, o); err != nil {
			cancel(err)
		}
	})
	both.Go(func() {
		var err error
		if d, err = decoder.New(c, o); err != nil {
			cancel(err)
		}
	})
	both.Wait()
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	return e, d, nil
}
