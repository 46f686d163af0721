// Package pipeline is "verity eval" as a pipeline of Apache Beam.
//
//	dataset → [index] → chunks → Reshuffle → [transcribe] → records by shard
//	        → GroupByKey → [write] → record files, which package report scores
//
// # Failures
//
// A row that cannot be used, sound that cannot be read and an engine that fails become a
// record with an error, as in verity eval; the bundle succeeds. A bundle fails only for what
// would fail every row: a model that cannot be opened, a full disk.
//
// A chunk of rows is the unit of work. Its records are written to OUT/chunks, whole or
// not at all, under a name that follows from the run and the chunk. A chunk that runs again,
// because a worker or the whole job died, reads them and runs only the missing rows. So a
// retry costs at most the chunks in progress. Rows whose records have errors run again.
//
// Records are grouped by shard and sorted by their row, one for each row, before they
// are written. So no record appears twice, however often a runner delivers it, and a record
// file has the same bytes as that of verity eval --shard.
package pipeline
