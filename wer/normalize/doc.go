// Package normalize removes from transcripts what a score should not punish:
// case, punctuation, spelling and the way numbers are written.
//
// [English] and [Basic] take a text and return a text; [ByName] finds them by the
// names of the command line. Normalise when scoring and keep raw text in records,
// so that a record can be scored anew. Time is linear in the length of a text.
//
// # Upstream
//
// Both return, character for character, what EnglishTextNormalizer and
// BasicTextNormalizer of openai-whisper 20250625 return (whisper/normalizers of
// openai/whisper at c0d2f62), oddities included, because published error rates
// were measured with them. Some of those:
//
//   - A result may begin or end with a space.
//   - "one" stands for 1 even inside a number: 0.1 becomes "0.one".
//   - Of "1,2,3" only the first comma goes; the second becomes a space.
//   - "O'Hara" becomes "0 hara", "mr" "mister", and "st" always "saint".
//   - "ninth" is not a number, "nineth" is.
//
// Upstream's goldens are in testdata; tools/reference/normalize_goldens.py wrote
// them. English.json is upstream's British-American table, byte for byte (MIT
// licence, english.LICENSE), gathered there from
// https://www.tysto.com/uk-us-spelling-list.html.
//
// Unicode tables are those of version 15.0, as in Python 3.12. There are three
// differences: bytes that are not UTF-8 count as U+FFFD; a number of more than 4300 digits
// is kept as it is where Python raises ValueError; of more than thirty combining marks on
// one letter those beyond the thirtieth may compose differently.
package normalize
