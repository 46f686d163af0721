// Package checkpoint has the commands about models: models, info, quantize and synth.
package checkpoint
