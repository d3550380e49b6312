package embed

import (
	"encoding/binary"
	"errors"
	"math"
)

// Quantised is a vector in one byte a dimension: value i is Codes[i] times
// Scale. A cosine comes out within about 0.01 of the exact one.
type Quantised struct {
	Scale float32
	Codes []int8
}

// Quantise rounds a vector.
func Quantise(v []float32) Quantised {
	most := float32(0)
	for _, x := range v {
		most = max(most, max(x, -x))
	}
	q := Quantised{Codes: make([]int8, len(v))}
	if most == 0 {
		return q
	}
	q.Scale = most / 127
	for i, x := range v {
		q.Codes[i] = int8(math.Round(float64(x / q.Scale)))
	}
	return q
}

// Bytes is the vector as it is stored: the scale as a little-endian 32-bit
// float, then one byte a dimension.
func (q Quantised) Bytes() []byte {
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(q.Codes)), math.Float32bits(q.Scale))
	for _, c := range q.Codes {
		out = append(out, byte(c))
	}
	return out
}

// ErrVector is a stored vector that is none.
var ErrVector = errors.New("stored vector is cut short")

// FromBytes reads what Bytes wrote.
func FromBytes(b []byte) (Quantised, error) {
	if len(b) < 4 {
		return Quantised{}, ErrVector
	}
	q := Quantised{Scale: math.Float32frombits(binary.LittleEndian.Uint32(b)), Codes: make([]int8, len(b)-4)}
	for i, c := range b[4:] {
		q.Codes[i] = int8(c)
	}
	return q, nil
}

// Dot is the product of two quantised vectors of one length.
func Dot(a, b []int8) int32 {
	b = b[:len(a)]
	var s0, s1, s2, s3 int32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += int32(a[i]) * int32(b[i])
		s1 += int32(a[i+1]) * int32(b[i+1])
		s2 += int32(a[i+2]) * int32(b[i+2])
		s3 += int32(a[i+3]) * int32(b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += int32(a[i]) * int32(b[i])
	}
	return s0 + s1 + s2 + s3
}

// Cosine of two quantised vectors whose originals had length 1 (or 0), from
// -1 to 1. Vectors of different dimensions have cosine 0.
func (q Quantised) Cosine(o Quantised) float64 {
	if len(q.Codes) != len(o.Codes) {
		return 0
	}
	return float64(Dot(q.Codes, o.Codes)) * float64(q.Scale) * float64(o.Scale)
}
