package quantize

import (
	"fmt"
	"sync"

	"verity/internal/kernel"
	"verity/internal/tensor"
	"verity/parallel"
	"verity/precision"
)

// batchRows is how many inputs are collected before they are added to a Hessian.
const batchRows = 512

// callRows is how many inputs of one product are used, evenly spaced: at least this many if there
// are as many, and fewer than twice that. Neighbouring frames of sound are similar.
const callRows = 384

// A hessian is Σ x·xᵀ over the inputs x of a weight, half the Hessian of its squared
// error.
type hessian struct {
	size  int
	sum   []float32 // [size][size]
	rows  int
	batch []float32 // [batchRows][size], to be added
	kept  int
}

func newHessian(size int) *hessian {
	return &hessian{size: size, sum: make([]float32, size*size), batch: make([]float32, batchRows*size)}
}

// hessianBytes returns the bytes that a hessian takes.
func hessianBytes(size int) int64 { return 4 * int64(size) * int64(size+batchRows) }

// add adds inputs, evenly spaced ones if there are many.
func (h *hessian) add(p *parallel.Pool, x []float32, rows, stride int) error {
	every := max(1, rows/callRows)
	for r := 0; r < rows; r += every {
		copy(h.batch[h.kept*h.size:][:h.size], x[r*stride:])
		if h.kept++; h.kept == batchRows {
			if err := h.flush(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// flush adds the batch: a product of its transpose with itself.
func (h *hessian) flush(p *parallel.Pool) error {
	if h.kept == 0 {
		return nil
	}
	t := make([]float32, h.size*h.kept)
	for r := range h.kept {
		for k, v := range h.batch[r*h.size:][:h.size] {
			t[k*h.kept+r] = v
		}
	}
	m, err := kernel.Pack(precision.F32, tensor.FromFloat32(t, h.size, h.kept))
	if err != nil {
		return err
	}
	kernel.MatMul(p, h.sum, t, h.size, h.kept, m, nil, kernel.StoreAdd)
	h.rows += h.kept
	h.kept = 0
	return nil
}

// A listener accumulates the Hessians of some weights while a model runs.
type listener struct {
	mu   sync.Mutex
	pool *parallel.Pool
	of   map[string]*hessian // weights with the same inputs share one
	err  error
}

// record is a model.Tap.
func (l *listener) record(names []string, x []float32, rows, stride int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.of[names[0]]
	if h == nil || l.err != nil {
		return
	}
	if len(x) < (rows-1)*stride+h.size {
		l.err = fmt.Errorf("quantize: inputs of %s are too short", names[0])
		return
	}
	l.err = h.add(l.pool, x, rows, stride)
}

// finish adds the last batches.
func (l *listener) finish() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for name, h := range l.of {
		if l.err == nil {
			l.err = h.flush(l.pool)
		}
		if l.err == nil && h.rows == 0 {
			l.err = fmt.Errorf("quantize: calibration never used %s: is there speech in the dataset?", name)
		}
	}
	return l.err
}

// squaredError returns Σ d·H·dᵀ over the rows of d, [rows][size]: the squared error of
// outputs if d is the error of weights.
func (h *hessian) squaredError(p *parallel.Pool, m *kernel.Matrix, d []float32) float64 {
	rows := len(d) / h.size
	y := make([]float32, len(d))
	kernel.MatMul(p, y, d, rows, h.size, m, nil, kernel.Store)
	var sum float64
	for i, v := range d {
		sum += float64(v) * float64(y[i])
	}
	return sum
}

// matrix returns the sum as a factor of products.
func (h *hessian) matrix() (*kernel.Matrix, error) {
	return kernel.Pack(precision.F32, tensor.FromFloat32(h.sum, h.size, h.size))
}
