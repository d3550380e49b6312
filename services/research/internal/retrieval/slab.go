package retrieval

import (
	"math/bits"

	"sabha.dev/services/research/internal/embed"
)

// slab holds the vectors of all passages side by side: one byte a dimension
// for the exact cosine and one bit, its sign, for a quick look at all of them.
type slab struct {
	dimensions int
	codes      []int8
	scales     []float32 // 0 for a passage whose vector is not comparable
	signs      []uint64
}

func (s *slab) words() int { return (s.dimensions + 63) / 64 }

func (s *slab) add(v embed.Quantised, comparable bool) {
	if !comparable || len(v.Codes) != s.dimensions {
		v = embed.Quantised{Codes: make([]int8, s.dimensions)}
	}
	s.codes = append(s.codes, v.Codes...)
	s.scales = append(s.scales, v.Scale)
	at := len(s.signs)
	s.signs = append(s.signs, make([]uint64, s.words())...)
	for i, c := range v.Codes {
		if c > 0 {
			s.signs[at+i/64] |= 1 << (i % 64)
		}
	}
}

func (s *slab) move(from, to int) {
	d, w := s.dimensions, s.words()
	copy(s.codes[to*d:(to+1)*d], s.codes[from*d:(from+1)*d])
	copy(s.signs[to*w:(to+1)*w], s.signs[from*w:(from+1)*w])
	s.scales[to] = s.scales[from]
}

func (s *slab) cut(n int) {
	s.codes, s.signs, s.scales = s.codes[:n*s.dimensions], s.signs[:n*s.words()], s.scales[:n]
}

// cosine of a passage's vector and a query's.
func (s *slab) cosine(passage uint32, q embed.Quantised) float64 {
	if s.scales[passage] == 0 || len(q.Codes) != s.dimensions {
		return 0
	}
	d := s.dimensions
	return float64(embed.Dot(s.codes[int(passage)*d:(int(passage)+1)*d], q.Codes)) * float64(q.Scale) * float64(s.scales[passage])
}

// planes are a query's values in four bits, a bit a plane, beside their signs.
type planes struct {
	bits [4][]uint64
}

func (s *slab) planes(q embed.Quantised) planes {
	var p planes
	for b := range p.bits {
		p.bits[b] = make([]uint64, s.words())
	}
	for i, c := range q.Codes {
		// -8 to 7 becomes 0 to 15; where it stands is the same for every passage.
		v := int(c)/16 + 8
		for b := range p.bits {
			if v>>b&1 == 1 {
				p.bits[b][i/64] |= 1 << (i % 64)
			}
		}
	}
	return p
}

// nearness of a passage by the signs of its vector: a number that grows with
// the cosine. The sum over the dimensions where the passage is positive of
// the query's value.
func (s *slab) nearness(passage int, p *planes) int {
	w := s.words()
	signs := s.signs[passage*w : (passage+1)*w]
	b0, b1, b2, b3 := p.bits[0][:w], p.bits[1][:w], p.bits[2][:w], p.bits[3][:w]
	n, n0, n1, n2, n3 := 0, 0, 0, 0, 0
	for i, x := range signs {
		n += bits.OnesCount64(x)
		n0 += bits.OnesCount64(x & b0[i])
		n1 += bits.OnesCount64(x & b1[i])
		n2 += bits.OnesCount64(x & b2[i])
		n3 += bits.OnesCount64(x & b3[i])
	}
	return n0 + 2*n1 + 4*n2 + 8*n3 - 8*n
}
