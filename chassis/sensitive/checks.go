package sensitive

// Check digits. Each check is given the characters of a form that already fits: digits
// and capital letters.

func num(b []byte) int {
	n := 0
	for _, c := range b {
		n = n*10 + int(c-'0')
	}
	return n
}

func allDigits(b []byte) bool {
	for _, c := range b {
		if !digit(c) {
			return false
		}
	}
	return true
}

// luhn checks the last digit as ISO/IEC 7812-1 has it.
func luhn(b []byte) bool {
	sum := 0
	for i := range b {
		d := int(b[len(b)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum > 0 && sum%10 == 0
}

// mod97 gives the remainder of ISO 7064 modulo 97-10 with letters as 10 to 35.
func mod97(parts ...[]byte) int {
	r := 0
	for _, p := range parts {
		for _, c := range p {
			if digit(c) {
				r = (r*10 + int(c-'0')) % 97
			} else {
				r = (r*100 + int(c-'A') + 10) % 97
			}
		}
	}
	return r
}

// mod1110 checks the last digit as ISO 7064 modulo 11,10 has it.
func mod1110(b []byte) bool {
	p := 10
	for _, c := range b[:len(b)-1] {
		s := (int(c-'0') + p) % 10
		if s == 0 {
			s = 10
		}
		p = s * 2 % 11
	}
	return (p+int(b[len(b)-1]-'0'))%10 == 1
}

// weighted sums digits by weights.
func weighted(b []byte, weights ...int) int {
	sum := 0
	for i, w := range weights {
		sum += int(b[i]-'0') * w
	}
	return sum
}

var verhoeffTimes = [10][10]byte{
	{0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
	{1, 2, 3, 4, 0, 6, 7, 8, 9, 5},
	{2, 3, 4, 0, 1, 7, 8, 9, 5, 6},
	{3, 4, 0, 1, 2, 8, 9, 5, 6, 7},
	{4, 0, 1, 2, 3, 9, 5, 6, 7, 8},
	{5, 9, 8, 7, 6, 0, 4, 3, 2, 1},
	{6, 5, 9, 8, 7, 1, 0, 4, 3, 2},
	{7, 6, 5, 9, 8, 2, 1, 0, 4, 3},
	{8, 7, 6, 5, 9, 3, 2, 1, 0, 4},
	{9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
}

var verhoeffTurn = [10]byte{1, 5, 7, 6, 2, 8, 3, 0, 9, 4}

// verhoeff checks the last digit as Verhoeff (1969) has it.
func verhoeff(b []byte) bool {
	c := byte(0)
	for i := range b {
		d := b[len(b)-1-i] - '0'
		for range i % 8 {
			d = verhoeffTurn[d]
		}
		c = verhoeffTimes[c][d]
	}
	return c == 0
}

// dayMonth tells whether two numbers are a day and a month.
func dayMonth(day, month int) bool {
	return day >= 1 && day <= 31 && month >= 1 && month <= 12 && (month != 2 || day <= 29) &&
		(day < 31 || month != 4 && month != 6 && month != 9 && month != 11)
}

// same tells whether all characters are the same.
func same(b []byte) bool {
	for _, c := range b {
		if c != b[0] {
			return false
		}
	}
	return true
}
