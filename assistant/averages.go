package assistant

// groups is how many numbers of streams are told apart: 1, 2, up to 4, up to 8, more.
const groups = 5

// groupOf returns the index of a number of streams.
func groupOf(streams int) (i int) {
	for size := 1; size < streams && i < groups-1; size *= 2 {
		i++
	}
	return i
}

// A mean forgets: a new value has a weight of at least one in memory.
type mean struct{ v, n float64 }

func (m *mean) add(x, memory float64) {
	m.n = min(m.n+1, memory)
	m.v += (x - m.v) / m.n
}

// A frequency of what is so or not forgets, too.
type frequency struct{ yes, n float64 }

func (s *frequency) add(yes bool) {
	const memory = 0.98
	s.yes *= memory
	s.n = s.n*memory + 1
	if yes {
		s.yes++
	}
}

// rate starts at a prior with the weight of four.
func (s *frequency) rate(prior float64) float64 { return (s.yes + 4*prior) / (s.n + 4) }

// forget limits the weight of the past to n rounds.
func (s *frequency) forget(n float64) {
	if s.n > n {
		s.yes, s.n = s.yes*n/s.n, n
	}
}
