// Package zlibsize computes the size that zlib would compress a text to.
//
//	text → [Len] → len(zlib.compress(text)), level 6, of the C library
//
// Whisper judges a window by its compression ratio, compared with a threshold. Another
// compressor, even one that is a byte better, would decide differently. Go's compress/zlib
// finds other matches and splits blocks elsewhere, so its sizes differ from those of
// Python's zlib, which upstream calls: tried on 32,364 texts (references of the test
// recordings, one to four times over), nearly all sizes differed, by up to a third, and 45
// fell on the other side of 2.4. This package computes only the size and writes
// nothing.
//
// # Scope
//
// zlib 1.2.13, deflate level 6 with a window of 32 KiB and memLevel 8, the defaults of
// Python's zlib.compress. The algorithms that decide the size are those of deflate.c
// (hash chains, lazy matching) and trees.c (length-limited Huffman codes, the cheapest of
// three kinds of block). They are the same in every zlib since 1.2.5.1. Forks tuned for speed
// (zlib-ng, Cloudflare's, Chromium's) give other sizes. The format is RFC 1950 and RFC 1951.
//
// The text is that of a window: Len is zlib's as long as that is one block (16,383 literals
// and matches) within 63 KiB. The longest text of a published model, 224 times its longest
// token, has 28 KiB.
package zlibsize
