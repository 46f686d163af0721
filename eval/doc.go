// Package eval runs engines over datasets and writes down what came out.
//
//	datasets.Utterance → [Engine] → report.Record → records.jsonl
//
// [Run] evaluates one engine. [Compare] runs two engines over the same utterances
// in turn, A B A B, and says for each whether they agree, to the bit.
//
// # Resuming
//
// A record is one line, appended with one write when its utterance is done, in the
// order of the dataset. A run that was killed leaves at worst a torn last line;
// the next one over the same folder cuts it off and goes on behind the last whole
// record, so nothing is lost and nothing is there twice. Utterances that failed are
// recorded with their error; the next run takes these records out, in one step, and
// tries the utterances again, and when it is through, the records stand in the order
// of the dataset once more. A folder that holds records of another model, dataset or
// other options is refused.
//
// # Failures
//
// A row of the dataset that cannot be used, audio that cannot be read and an
// engine that fails make a record with an error. Only a full disk and the end of
// the context stop a run.
package eval
