package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"verity/model/digits"
)

// A kubeJob is what the test reads of a manifest. A field that Kubernetes does not know
// would be an error there; one that this does not know is read over.
type kubeJob struct {
	APIVersion string `yaml:"apiVersion"`
	Kind       string
	Metadata   struct{ Name string }
	Spec       struct {
		CompletionMode       string `yaml:"completionMode"`
		Completions          int
		Parallelism          int
		BackoffLimit         *int `yaml:"backoffLimit"`
		BackoffLimitPerIndex *int `yaml:"backoffLimitPerIndex"`
		MaxFailedIndexes     *int `yaml:"maxFailedIndexes"`
		Template             struct {
			Spec struct {
				RestartPolicy string `yaml:"restartPolicy"`
				Containers    []struct {
					Name, Image  string
					Args         []string
					VolumeMounts []struct {
						Name      string
						MountPath string `yaml:"mountPath"`
					} `yaml:"volumeMounts"`
				}
				Volumes []struct {
					Name                  string
					PersistentVolumeClaim struct {
						ClaimName string `yaml:"claimName"`
					} `yaml:"persistentVolumeClaim"`
				}
			}
		}
	}
}

func readJob(t *testing.T, name string) kubeJob {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("kubernetes", name))
	if err != nil {
		t.Fatal(err)
	}
	var j kubeJob
	if err := yaml.Unmarshal(raw, &j); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	pod := j.Spec.Template.Spec
	if j.APIVersion != "batch/v1" || j.Kind != "Job" || pod.RestartPolicy != "Never" || len(pod.Containers) != 1 || len(pod.Volumes) != 1 {
		t.Fatalf("%s is no Job of one container and one volume: %+v", name, j)
	}
	c := pod.Containers[0]
	if len(c.VolumeMounts) != 1 || c.VolumeMounts[0].Name != pod.Volumes[0].Name || pod.Volumes[0].PersistentVolumeClaim.ClaimName == "" {
		t.Fatalf("%s: the volume is not the one that is mounted", name)
	}
	return j
}

// pod returns the process that a pod of the job is, with the volume at dir and the index
// that Kubernetes would give it.
func (j kubeJob) pod(dir string, index int) *exec.Cmd {
	c := j.Spec.Template.Spec.Containers[0]
	var args []string
	for _, a := range c.Args {
		args = append(args, strings.Replace(a, c.VolumeMounts[0].MountPath, dir, 1))
	}
	cmd := exec.Command(verityProgram, args...)
	cmd.Env = append(os.Environ(), fmt.Sprint("JOB_COMPLETION_INDEX=", index))
	return cmd
}

// volume makes what the manifests expect in their volume: a dataset of many rows, one of
// which has no sound, and a model.
func volume(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(filepath.Join(dir, "model"), digits.Target()); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "dataset")
	if err := os.Mkdir(data, 0o777); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for i := range 40 {
		fmt.Fprintf(&b, `{"id":"u%d","audio":"digits.wav","offset":%v,"duration":2,"text":"one nine"}`+"\n", i, 0.125*float64(i))
	}
	b.WriteString(`{"id":"gone","audio":"gone.wav","text":"one"}` + "\n")
	for name, content := range map[string][]byte{"manifest.jsonl": b.Bytes(), "digits.wav": digits.Sample()} {
		if err := os.WriteFile(filepath.Join(data, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestKubernetes runs the pods of the manifests as processes. One is killed in the
// middle and started again, as Kubernetes does: every utterance is there once, the one
// without sound is counted and named, and the score is that of one machine.
func TestKubernetes(t *testing.T) {
	shards, merge := readJob(t, "shards.yaml"), readJob(t, "merge.yaml")
	s := shards.Spec
	if s.CompletionMode != "Indexed" || s.BackoffLimitPerIndex == nil || s.MaxFailedIndexes == nil || s.Parallelism < 1 {
		t.Fatalf("shards.yaml: mode %q, a limit for each index %v, most failed %v", s.CompletionMode, s.BackoffLimitPerIndex, s.MaxFailedIndexes)
	}
	if flag := fmt.Sprintf("--shard=index/%d", s.Completions); !strings.Contains(fmt.Sprint(s.Template.Spec.Containers[0].Args), flag) {
		t.Fatalf("shards.yaml has %d completions, and not %s", s.Completions, flag)
	}
	dir := volume(t)
	const killed = 0 // its shard holds the row without sound, too
	for index := range s.Completions {
		if index == killed {
			kill(t, func() *exec.Cmd { return shards.pod(dir, index) }, filepath.Join(dir, "out", fmt.Sprintf("records-%d-of-%d.jsonl", index+1, s.Completions)))
		}
		want := 0
		if index == killed {
			want = 1
		}
		if got := status(shards.pod(dir, index)); got != want {
			t.Errorf("pod %d: status %d, want %d", index, got, want)
		}
	}
	c := merge.pod(dir, 0)
	c.Args = append(c.Args, "--json")
	var out bytes.Buffer
	c.Stdout = &out
	if got := status(c); got != 1 { // since an utterance has failed
		t.Errorf("merging: status %d, want 1", got)
	}
	got := score(t, out.String())
	whole := t.TempDir()
	want := score(t, verity(t, 1, "eval", "-q", "--json", "-d", filepath.Join(dir, "dataset"), "-m", filepath.Join(dir, "model"), "-o", whole))
	if diff := cmp.Diff(want, got, exact, near); diff != "" {
		t.Errorf("score (-one machine +pods):\n%s", diff)
	}
	if got.Utterances != 40 || got.Failed != 1 || got.Failures[0].ID == "" || !strings.Contains(got.Failures[0].Error, "gone.wav") {
		t.Errorf("%d utterances, %d failed: %v", got.Utterances, got.Failed, got.Failures)
	}
	if _, err := os.Stat(filepath.Join(dir, "out", "report.html")); err != nil {
		t.Error(err)
	}
}

// kill starts a pod and kills it when it has written a record; again, if it had come to the end
// of its records by then.
func kill(t *testing.T, pod func() *exec.Cmd, records string) {
	t.Helper()
	var c *exec.Cmd
	for range 20 {
		os.Remove(records)
		c = pod()
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		count := func() int {
			raw, _ := os.ReadFile(records) // there is none at first
			return bytes.Count(raw, []byte("\n"))
		}
		for began := time.Now(); count() == 0 && time.Since(began) < 2*time.Minute; {
			time.Sleep(time.Millisecond)
		}
		c.Process.Signal(syscall.SIGKILL)
		c.Wait() // the signal is the error
		if n := count(); !c.ProcessState.Exited() && n > 0 && n < 6 {
			return
		}
	}
	t.Fatalf("the pod came to its end before it was killed: %v", c.ProcessState)
}

func status(c *exec.Cmd) int {
	c.Run() // the status says what went wrong
	return c.ProcessState.ExitCode()
}
