// Package diarize finds who speaks when, by voice.
//
//	clip → segmenter → speech, and where two speak ─┐
//	     → embedder  → a vector for every 0.37 s ───┴→ clusters → [Turn]
//
// Two networks do the work; model/speakers holds their weights. The segmenter reads chunks of ten seconds
// and finds speech and overlapping speech. The embedder describes the voice in windows of 1 s, each a unit vector.
// Agglomerative clustering by average cosine similarity decides how many speakers there are: it joins the most
// similar clusters until none are similar enough. Centroids of the clusters then label each moment, and turns the
// words ([Diarization.Label]).
//
// [NewVoice] makes a voice of a few seconds of sound, for Options.Known: speakers then have names. A [Tracker] labels
// sound that is still arriving.
//
// Every sum has one order, so that turns are the same for any number of threads and on any processor. Memory grows by
// half a megabyte for a minute of sound.
//
// docs/SPEAKERS.md says how well it works and what it cannot do.
package diarize
