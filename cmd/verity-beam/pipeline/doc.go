// Package pipeline is "verity eval" as a pipeline of Apache Beam.
//
//	dataset → [index] → chunks → Reshuffle → [transcribe] → records by shard
//	        → GroupByKey → [write] → record files, which package report scores
//
// # What fails, and what happens then
//
// A row that cannot be used, sound that cannot be read and an engine that fails make a
// record with an error, as in verity eval: never a failed bundle. What does fail a
// bundle is what would fail every row: a model that cannot be opened, a full disk.
//
// A chunk of rows is the unit of work. Its records are written to OUT/chunks, whole or
// not at all, under a name that follows from the run and the chunk. A chunk that is run
// again, because a worker died or the whole job did, finds them and runs only what is
// missing. So a retry costs at most the chunks that were under way, and a job that is
// started again goes on where it was. Records with errors are not found: their rows
// are tried again.
//
// Records are grouped by shard and sorted by their row, one for each row, before they
// are written. So nothing is there twice, however often a runner delivers
// a record, and a record file is the same bytes as that of verity eval --shard.
package pipeline
