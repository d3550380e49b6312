package retrieval

import (
	"math/bits"
	"slices"

	"sabha.dev/services/research/internal/embed"
)

// slab holds the vectors of all passages side by side, in blocks that never move: one byte
// a dimension for the exact cosine and one bit, its sign, for a quick look at all of them.
type slab struct {
	dimensions int
	blocks     []block
	n          int
}

type block struct {
	codes  []int8
	signs  []uint64
	scales []float32 // 0 for a passage whose vector is not comparable
}

// ofBlock is how many vectors a block has.
const ofBlock = 1024

func (s *slab) words() int { return (s.dimensions + 63) / 64 }

// at gives the codes and signs of a passage, and where its scale is.
func (s *slab) at(passage int) ([]int8, []uint64, *float32) {
	b, i, d, w := &s.blocks[passage/ofBlock], passage%ofBlock, s.dimensions, s.words()
	return b.codes[i*d : (i+1)*d], b.signs[i*w : (i+1)*w], &b.scales[i]
}

func (s *slab) add(v embed.Quantised, comparable bool) {
	if s.n == len(s.blocks)*ofBlock {
		s.blocks = append(s.blocks, block{make([]int8, ofBlock*s.dimensions), make([]uint64, ofBlock*s.words()), make([]float32, ofBlock)})
	}
	codes, signs, scale := s.at(s.n)
	s.n++
	if !comparable || len(v.Codes) != s.dimensions {
		v = embed.Quantised{}
	}
	clear(codes[copy(codes, v.Codes):])
	clear(signs)
	*scale = v.Scale
	for i, c := range v.Codes {
		if c > 0 {
			signs[i/64] |= 1 << (i % 64)
		}
	}
}

func (s *slab) move(from, to int) {
	codes, signs, scale := s.at(from)
	c, g, f := s.at(to)
	copy(c, codes)
	copy(g, signs)
	*f = *scale
}

func (s *slab) cut(n int) {
	s.n = n
	s.blocks = slices.Delete(s.blocks, (n+ofBlock-1)/ofBlock, len(s.blocks))
}

// cosine of a passage's vector and a query's.
func (s *slab) cosine(passage uint32, q embed.Quantised) float64 {
	codes, _, scale := s.at(int(passage))
	if *scale == 0 || len(q.Codes) != s.dimensions {
		return 0
	}
	return float64(embed.Dot(codes, q.Codes)) * float64(q.Scale) * float64(*scale)
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
	_, signs, _ := s.at(passage)
	w := len(signs)
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
