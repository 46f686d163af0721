// Package hub finds Whisper checkpoints by name, in the cache that all programs of
// Hugging Face share, and downloads those that are not there.
//
//	"small", "openai/whisper-small", a path → [Client.Open] → *model.Checkpoint
//
// # Cache
//
// The layout is that of huggingface_hub, so each program finds the files of the others:
//
//	models--openai--whisper-small/
//	    blobs/<etag>                a file, by its hash
//	    blobs/<etag>.incomplete     what has come of one
//	    snapshots/<commit>/<file>   a link to its blob; a copy where there are no links
//	    refs/main                   the commit
//	.locks/models--…/<etag>.lock    held while a blob is fetched
//
// A blob gets its name only when it is complete: its length and hash are those that the
// hub gave. An interrupted download is continued the next time.
//
// # Environment
//
// HF_HUB_CACHE or HF_HOME name the cache, HF_ENDPOINT another hub, HF_TOKEN or the
// file HF_HOME/token the token, HF_HUB_OFFLINE=1 forbids the network. Without any of them
// the cache is in the home directory; without one it is an error, since other users could
// put files into a directory that all share.
//
// # Upstream
//
// huggingface/huggingface_hub v2.4.0, file_download.py and constants.py.
package hub
