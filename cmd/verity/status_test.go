package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStatusRule tries the rule of docs/GUIDE.md at every place: what was typed cannot be used, and the exit status is 2;
// or it can, and a sound or other work fails, and it is 1.
func TestStatusRule(t *testing.T) {
	t.Chdir(t.TempDir())
	files := map[string]string{
		"a.wav": string(wav(0.4)), "bad.wav": "RIFF, no sound", "note.txt": "hello", "model/config.json": "{", "empty/x.txt": "",
		"rows.jsonl": `{"audio":"a.wav","text":"so"}`, "late.jsonl": `{"audio":"none.wav","text":"so"}`, "none.jsonl": "\n", "bad.jsonl": "no",
		"records.jsonl": `{"id":"a","reference":"so","hypothesis":"so"}`, "voices.txt": "Ann: none.wav",
	}
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, stderr := program(t, nil, "eval", "-d", "rows.jsonl", "-o", "run"); code != 0 {
		t.Fatal(stderr)
	}
	for _, rule := range []struct {
		want  int
		lines string
	}{
		{2, `
			a.wav --nonsense
			a.wav --precision fp16
			a.wav --language klingon
			a.wav --suppress-tokens 99999
			a.wav --clip-timestamps 3,2
			a.wav --model none
			a.wav --model /none
			a.wav --model empty
			a.wav --model model
			a.wav --model note.txt
			a.wav --model owner/name --offline
			a.wav --assistant none.bin
			a.wav --assistant empty
			a.wav --assistant owner/name --offline
			a.wav --terms none
			a.wav --draft-from none
			a.wav --draft-from empty
			a.wav --draft-from a.wav
			a.wav --speakers voice --speaker-names none
			a.wav --speakers voice --speaker-names voices.txt
			a.wav --ffmpeg none
			a.wav -o note.txt
			a.wav -o note.txt/x
			a.wav -f pdf
			--files-from none
			empty
			watch none -o out
			watch a.wav -o out
			watch empty -o note.txt
			watch empty -o note.txt/x
			watch empty -o out --model none
			listen --model none
			listen --out none/x.txt
			serve --model none
			serve --check --model none
			serve --check --listen none
			serve --check --metrics none
			serve --check --wyoming none
			serve --check --api-key-file nowhere
			serve --check --api-key-file empty/x.txt
			serve --check --tls-cert none
			serve --check --tls-cert note.txt
			serve --check --ffmpeg none
			eval -d none
			eval -d empty
			eval -d note.txt
			eval -d none.jsonl
			eval -d hf:foo
			eval -d bad.jsonl
			eval -d rows.jsonl:test
			eval -d rows.jsonl --columns x,y
			eval -d rows.jsonl --model none
			eval -d rows.jsonl --shard 3/2
			eval -d rows.jsonl -o note.txt/x
			eval -d rows.jsonl -o run --suppress-tokens 7
			eval -d rows.jsonl --html none/x.html
			eval -d rows.jsonl --html note.txt
			compare a.wav --model none
			compare a.wav --assistant none.bin
			compare a.wav -o note.txt/x
			compare a.wav --html none/x.html
			report none
			report empty
			report a.wav
			report note.txt
			report run --by none
			report run --normalizer nonsense
			report run --html none/x.html
			report run --html note.txt
			bench --model none
			bench --size none
			info none
			info empty
			quantize none --precision int4 --out out
			quantize digits --precision none --out out
			quantize digits --precision int4 --out note.txt/x
			synth --size none --out out
			synth --size tiny --out note.txt/x
			models pull none
			models pull owner/name --offline
			models rm none
			models rm owner/name
			pipe --model none
			help none
			completion none`},
		{1, `
			none.wav
			bad.wav
			none*.wav
			a.wav none.wav
			a.wav --audio-track 3
			a.wav --channel 4
			a.wav --clip-timestamps 100,200
			eval -d late.jsonl
			compare none.wav
			decode none.wav`},
		{0, `
			a.wav
			report run
			report records.jsonl`},
	} {
		for line := range strings.Lines(strings.TrimSpace(rule.lines)) {
			t.Run(strings.TrimSpace(line), func(t *testing.T) {
				t.Setenv("HF_HUB_CACHE", t.TempDir())
				code, _, stderr := program(t, strings.NewReader(""), strings.Fields(line)...)
				if code != rule.want {
					t.Errorf("status %d, want %d:\n%s", code, rule.want, stderr)
				}
			})
		}
	}
}
