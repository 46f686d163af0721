package assistant

// groups is the number of classes of stream counts: 1, 2, up to 4, up to 8, more.
const groups = 5

// groupOf returns the class of a number of streams.
func groupOf(streams int) (i int) {
	for size := 1; size < streams && i < groups-1; size *= 2 {
		i++
	}
	return i
}

// A mean is a running mean in which a new value has a weight of at least 1/memory.
type mean struct{ v, n float64 }

func (m *mean) add(x, memory float64) {
	m.n = min(m.n+1, memory)
	m.v += (x - m.v) / m.n
}

// A frequency is the share of positive results, with exponential decay.
type frequency struct{ yes, n float64 }

func (s *frequency) add(yes bool) {
	const memory = 0.98
	s.yes *= memory
	s.n = s.n*memory + 1
	if yes {
		s.yes++
	}
}

// rate returns the share. Before measurements it is prior, which weighs as much as four of them.
func (s *frequency) rate(prior float64) float64 { return (s.yes + 4*prior) / (s.n + 4) }

// forget limits the weight of past results to n.
func (s *frequency) forget(n float64) {
	if s.n > n {
		s.yes, s.n = s.yes*n/s.n, n
	}
}
