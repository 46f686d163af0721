package audio

import (
	"encoding/binary"
	"fmt"
	"io"
)

// In a Wave64 file, the first four bytes of a chunk's GUID are the name of the WAV
// chunk; the rest is the same for all chunks but the first.
const w64Tail = "\xf3\xac\xd3\x11\x8c\xd1\x00\xc0\x4f\x8e\xdb\x8a"

// newW64 opens a Sony Wave64 file: the chunks of a WAV file with GUIDs for names
// and sizes of 64 bits, which include the 24 bytes of the chunk's header.
func newW64(r io.ReaderAt, size int64) (source, error) {
	le := binary.LittleEndian
	var format []byte
	var formatAt int64
	at := int64(40) // behind the riff GUID, its size and the wave GUID
	for range maxChunks {
		if at+24 > size {
			return nil, malformed("data chunk", "one", "none in %d bytes", size)
		}
		head, err := readAt(r, at, 24)
		if err != nil {
			return nil, err
		}
		length := int64(le.Uint64(head[16:])) - 24
		if length < 0 {
			return nil, malformed(fmt.Sprintf("chunk at byte %d", at), "a size of 24 bytes or more", "%d", length+24)
		}
		body := at + 24
		switch id := string(head[:4]); {
		case string(head[4:16]) != w64Tail:
		case id == "fmt ":
			formatAt = at
			if format, err = readAt(r, body, min(length, 40, size-body)); err != nil {
				return nil, err
			}
		case id == "data" && format == nil:
			return nil, malformed(fmt.Sprintf("data chunk at byte %d", at), "a fmt chunk before it", "none")
		case id == "data":
			l, err := parseFmt(format, formatAt, le)
			if err != nil {
				return nil, err
			}
			l.place(body, min(length, size-body), length)
			return newPCM(r, l)
		}
		if length > size-body {
			return nil, malformed(fmt.Sprintf("chunk at byte %d", at),
				fmt.Sprintf("at most %d bytes", size-body), "%d", length)
		}
		at = body + (length+7)&^7 // chunks begin at multiples of 8
	}
	return nil, malformed("chunks", fmt.Sprintf("at most %d", maxChunks), "more")
}
