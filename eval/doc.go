// Package eval runs engines over datasets and records the results.
//
//	datasets.Utterance → [Engine] → report.Record → records.jsonl
//
// [Run] evaluates one engine. [Compare] runs several over the same utterances in turn,
// A B A B, and reports for each utterance whether they agree, to the bit.
//
// # Resuming
//
// A record is one line, appended with one write when its utterance is done. A run that was
// killed leaves at worst an incomplete last line. The next run over the same folder cuts it
// off and continues after the last whole record. Utterances that failed are recorded with
// their error; the next run tries them again and appends another record. Readers sort the
// records by row of the dataset; if an utterance has several records, the last counts. A folder
// with records of another model or dataset, or of other options, is refused.
//
// # Failures
//
// A row of the dataset that cannot be used, audio that cannot be read and an engine
// that fails give a record with an error. Only a full disk and the end of the context
// stop a run.
package eval
