package measure

import (
	"testing"

	"verity/eval"
)

// TestShardOfPod checks that a pod of an Indexed Job takes its part by its index.
func TestShardOfPod(t *testing.T) {
	for _, tt := range []struct {
		flag, index string
		want        eval.Shard
	}{
		{"2/4", "0", eval.Shard{I: 2, Of: 4}},
		{"index/4", "0", eval.Shard{I: 1, Of: 4}},
		{"index/4", "3", eval.Shard{I: 4, Of: 4}},
		{"index/4", "4", eval.Shard{}},
		{"index/4", "", eval.Shard{}},
		{"index/4", "-1", eval.Shard{}},
		{"index/", "1", eval.Shard{}},
		{"index", "1", eval.Shard{}},
	} {
		t.Setenv(indexVariable, tt.index)
		if got, err := parseShard(tt.flag); got != tt.want || (err != nil) != (tt.want == eval.Shard{}) {
			t.Errorf("--shard %s with index %q: %v, %v, want %v", tt.flag, tt.index, got, err, tt.want)
		}
	}
}
