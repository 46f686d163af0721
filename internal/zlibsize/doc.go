// Package zlibsize counts the bytes that zlib would compress a text to.
//
//	text → [Len] → len(zlib.compress(text)), level 6, of the C library
//
// Whisper judges a window by its compression ratio, and a ratio is compared with
// a threshold: another compressor, even one a byte better, takes other
// decisions. compress/zlib of Go finds other matches and splits blocks
// elsewhere, so its counts differ from those of Python's zlib, which upstream
// calls. Nothing is written here; only the length is worked out.
//
// # What is followed
//
// zlib 1.2.13, deflate level 6 with a window of 32 KiB and memLevel 8, the
// defaults of Python's zlib.compress. The choices that decide the length are
// those of deflate.c (hash chains, lazy matching: match.go) and of trees.c
// (length-limited Huffman codes, the cheapest of three kinds of block:
// block.go, huffman.go). They are the same in every zlib since 1.2.5.1; forks
// tuned for speed (zlib-ng, Cloudflare's, Chromium's) give other counts. The
// format is RFC 1950 and RFC 1951.
package zlibsize
