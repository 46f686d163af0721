package wer

import (
	"strings"
	"unicode"
)

// A Vocabulary gives every distinct word a number, in the order they first
// appear. The zero value is empty and ready. It grows with the number of distinct
// words and must not be used by two goroutines at once.
type Vocabulary struct {
	ids   map[string]int32
	words []string
}

// Words appends the numbers of the words of text, separated by white space, to
// dst.
func (v *Vocabulary) Words(dst []int32, text string) []int32 {
	for word := range strings.FieldsSeq(text) {
		dst = append(dst, v.id(word))
	}
	return dst
}

// Word returns the word numbered id. It panics if there is none.
func (v *Vocabulary) Word(id int32) string { return v.words[id] }

// Len returns how many distinct words v holds.
func (v *Vocabulary) Len() int { return len(v.words) }

func (v *Vocabulary) id(word string) int32 {
	if id, ok := v.ids[word]; ok {
		return id
	}
	if v.ids == nil {
		v.ids = make(map[string]int32)
	}
	id := int32(len(v.words))
	word = strings.Clone(word) // do not keep the whole text alive
	v.ids[word] = id
	v.words = append(v.words, word)
	return id
}

// Characters appends the code points of text to dst, without the white space at
// its ends. White space inside counts, as in jiwer. Bytes that are not UTF-8
// count as U+FFFD each.
func Characters(dst []int32, text string) []int32 {
	for _, r := range strings.TrimFunc(text, unicode.IsSpace) {
		dst = append(dst, r)
	}
	return dst
}
