package parallel

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func TestFastCores(t *testing.T) {
	tests := []struct {
		why        string
		capacities []string
		want       int
	}{
		{"RK3588: four small cores, four large ones", []string{"414", "414", "414", "414", "1024\n", "1024", "1024", "1024"}, 4},
		{"one large core, three middle ones, four small ones", []string{"1024", "905", "905", "905", "325", "325", "325", "325"}, 4},
		{"all alike", []string{"1024", "1024"}, 2},
		{"nothing is stated", nil, 0},
		{"nonsense", []string{"1024", "fast"}, 0},
		{"below zero", []string{"1024", "-3"}, 0},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		for i, c := range tt.capacities {
			cpu := filepath.Join(dir, fmt.Sprintf("cpu%d", i))
			if err := os.Mkdir(cpu, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(cpu, "cpu_capacity"), []byte(c), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := readFastCores(dir); got != tt.want {
			t.Errorf("%s: %d fast cores, want %d", tt.why, got, tt.want)
		}
	}
}
