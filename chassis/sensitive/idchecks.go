package sensitive

import "strings"

// ssn has the rules of the US Social Security Administration; no check digit.
func ssn(b []byte) bool {
	area := num(b[:3])
	return area != 0 && area != 666 && num(b[3:5]) != 0 && num(b[5:]) != 0 && (area < 900 || num(b[3:5]) >= 50)
}

func ninoPrefix(b []byte) bool {
	if strings.IndexByte("DFIQUV", b[0]) >= 0 || strings.IndexByte("DFIOQUV", b[1]) >= 0 {
		return false
	}
	switch string(b[:2]) {
	case "BG", "GB", "NK", "KN", "TN", "NT", "ZZ":
		return false
	}
	return true
}

func nino(b []byte) bool { return b[8] <= 'D' && ninoPrefix(b) }

const dniLetters = "TRWAGMYFPDXBNJZSQVHLCKE"

func dni(b []byte) bool { return dniLetters[num(b[:8])%23] == b[8] }

func nie(b []byte) bool {
	lead := strings.IndexByte("XYZ", b[0])
	return lead >= 0 && dniLetters[(lead*10_000_000+num(b[1:8]))%23] == b[8]
}

// codiceFiscale checks the last letter (Decreto Ministeriale 23/12/1976); letters may
// stand for digits where two people would have the same code.
func codiceFiscale(b []byte) bool {
	const odd = "\x01\x00\x05\x07\x09\x0d\x0f\x11\x13\x15\x02\x04\x12\x14\x0b\x03\x06\x08\x0c\x0e\x10\x0a\x16\x19\x18\x17"
	for _, i := range []int{6, 7, 9, 10, 12, 13, 14} {
		if !digit(b[i]) && strings.IndexByte("LMNPQRSTUV", b[i]) < 0 {
			return false
		}
	}
	if strings.IndexByte("ABCDEHLMPRST", b[8]) < 0 {
		return false
	}
	sum := 0
	for i, c := range b[:15] {
		v := int(c - 'A')
		if digit(c) {
			v = int(c - '0')
		}
		if i%2 == 0 {
			v = int(odd[v])
		}
		sum += v
	}
	return byte(sum%26)+'A' == b[15]
}

// curp checks the last digit of Mexico's CURP.
func curp(b []byte) bool {
	if !dayMonth(num(b[8:10]), num(b[6:8])) || strings.IndexByte("HMX", b[10]) < 0 {
		return false
	}
	sum := 0
	for i, c := range b[:17] {
		v := int(c-'A') + 10
		switch {
		case digit(c):
			v = int(c - '0')
		case c > 'N':
			v++ // Ñ stands between N and O
		}
		sum += v * (18 - i)
	}
	return byte((10-sum%10)%10)+'0' == b[17]
}

// chineseID checks the last character (GB 11643).
func chineseID(b []byte) bool {
	year := num(b[6:10])
	if year < 1900 || year > 2035 || !dayMonth(num(b[12:14]), num(b[10:12])) || b[0] == '0' {
		return false
	}
	sum := weighted(b, 7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
	return "10X98765432"[sum%11] == b[17]
}

// nir checks the key of France's number. Corsica's departments are 2A and 2B.
func nir(b []byte) bool {
	body := append([]byte(nil), b...)
	minus := 0
	switch {
	case !digit(b[6]) && b[5] == '2' && b[6] == 'A':
		body[6], minus = '0', 1_000_000
	case !digit(b[6]) && b[5] == '2' && b[6] == 'B':
		body[6], minus = '0', 2_000_000
	}
	if !allDigits(body) || !nirBody(body) {
		return false
	}
	return 97-(num(body[:13])-minus)%97 == num(body[13:])
}

func nirBody(b []byte) bool {
	month := num(b[3:5])
	return (b[0] == '1' || b[0] == '2' || b[0] == '3' || b[0] == '4' || b[0] == '7' || b[0] == '8') && (month >= 1 && month <= 12 || month >= 20 && month <= 42 || month >= 50)
}

// britishLicence has the form of the DVLA: surname, decade, month (50 more for women),
// day, year.
func britishLicence(b []byte) bool {
	for i, c := range b[:5] {
		if digit(c) && (c != '9' || i == 0) {
			return false
		}
	}
	month := num(b[6:8])
	if month > 50 {
		month -= 50
	}
	return dayMonth(num(b[8:10]), month)
}

func cnp(b []byte) bool {
	county := num(b[7:9])
	if b[0] == '0' || !dayMonth(num(b[5:7]), num(b[3:5])) || county < 1 || county > 52 {
		return false
	}
	r := weighted(b, 2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9) % 11
	if r == 10 {
		r = 1
	}
	return r == int(b[12]-'0')
}

func southAfrican(b []byte) bool {
	return dayMonth(num(b[4:6]), num(b[2:4])) && b[10] <= '2' && b[11] >= '7' && luhn(b)
}

// ean checks the last of thirteen digits as bar codes do.
func ean(b []byte) bool {
	return weighted(b, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1, 3, 1)%10 == 0
}

func ahv(b []byte) bool { return num(b[:3]) == 756 && ean(b) }

func thaiID(b []byte) bool {
	sum := weighted(b, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2)
	return b[0] != '0' && (11-sum%11)%10 == int(b[12]-'0')
}

// korean has no check digit since 2020.
func korean(b []byte) bool {
	return dayMonth(num(b[4:6]), num(b[2:4])) && b[6] >= '1' && b[6] <= '8'
}

// rentenversicherung checks the number of Germany's pension insurance.
func rentenversicherung(b []byte) bool {
	day := num(b[2:4])
	if day > 31 {
		day -= 50
	}
	if !dayMonth(day, num(b[4:6])) {
		return false
	}
	at := num([]byte{'0' + (b[8]-'A'+1)/10, '0' + (b[8]-'A'+1)%10})
	digits := append(append(append([]byte(nil), b[:8]...), byte('0'+at/10), byte('0'+at%10)), b[9:11]...)
	sum := 0
	for i, w := range []int{2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1} {
		p := int(digits[i]-'0') * w
		sum += p/10 + p%10
	}
	return sum%10 == int(b[11]-'0')
}

func aadhaar(b []byte) bool { return b[0] >= '2' && verhoeff(b) }

func myNumber(b []byte) bool {
	r := weighted(b, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2) % 11
	want := 0
	if r > 1 {
		want = 11 - r
	}
	return want == int(b[11]-'0')
}

// personnummer checks Sweden's number; days have 60 added for people without one.
func personnummer(b []byte) bool {
	day := num(b[4:6])
	if day > 60 {
		day -= 60
	}
	return dayMonth(day, num(b[2:4])) && luhn(b)
}

// hetu checks Finland's code with its sign of the century left out where it is a separator.
func hetu(b []byte) bool {
	if len(b) == 11 {
		if digit(b[6]) || strings.IndexByte("ABCDEFUVWXY", b[6]) < 0 {
			return false
		}
		b = append(append([]byte(nil), b[:6]...), b[7:]...)
	}
	if !allDigits(b[:9]) || !dayMonth(num(b[:2]), num(b[2:4])) {
		return false
	}
	return "0123456789ABCDEFHJKLMNPRSTUVWXY"[num(b[:9])%31] == b[9]
}

func fodselsnummer(b []byte) bool {
	day := num(b[:2])
	if day > 40 {
		day -= 40
	}
	return dayMonth(day, num(b[2:4])) && weighted(b, 3, 7, 6, 1, 8, 9, 4, 5, 2, 1)%11 == 0 &&
		weighted(b, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)%11 == 0
}

func pesel(b []byte) bool {
	return dayMonth(num(b[4:6]), num(b[2:4])%20) && weighted(b, 1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)%10 == 0
}

// balticCode checks the code that Estonia and Lithuania share.
func balticCode(b []byte) bool {
	if b[0] < '1' || b[0] > '6' || !dayMonth(num(b[5:7]), num(b[3:5])) {
		return false
	}
	r := weighted(b, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1) % 11
	if r == 10 {
		r = weighted(b, 3, 4, 5, 6, 7, 8, 9, 1, 2, 3) % 11 % 10
	}
	return r == int(b[10]-'0')
}

func belgian(b []byte) bool {
	if month := num(b[2:4]) % 20; month > 12 || num(b[4:6]) > 31 {
		return false
	}
	n, key := num(b[:9]), num(b[9:])
	return key > 0 && (97-n%97 == key || 97-(2_000_000_000+n)%97 == key)
}

func cpf(b []byte) bool {
	digit := func(n int) bool {
		sum := 0
		for i := range n {
			sum += int(b[i]-'0') * (n + 1 - i)
		}
		return sum*10%11%10 == int(b[n]-'0')
	}
	return digit(9) && digit(10)
}

// cnpj checks the number of a Brazilian company, which many sole traders have.
func cnpj(b []byte) bool {
	digit := func(n int, weights ...int) bool {
		left := weighted(b, weights...) % 11
		return b[n] == '0' && left < 2 || int(b[n]-'0') == 11-left
	}
	return digit(12, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2) && digit(13, 6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2)
}

func cuit(b []byte) bool {
	switch num(b[:2]) {
	case 20, 23, 24, 25, 26, 27, 30, 33, 34:
		return weighted(b, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1)%11 == 0
	}
	return false
}

func kimlik(b []byte) bool {
	odd := weighted(b, 1, 0, 1, 0, 1, 0, 1, 0, 1)
	even := weighted(b, 0, 1, 0, 1, 0, 1, 0, 1)
	tenth := ((odd*7-even)%10 + 10) % 10
	return b[0] != '0' && tenth == int(b[9]-'0') && (odd+even+tenth)%10 == int(b[10]-'0')
}

// steuerID checks Germany's tax id: of the first ten digits one or two are repeated.
func steuerID(b []byte) bool {
	var seen [10]int
	for _, c := range b[:10] {
		seen[c-'0']++
	}
	missing := 0
	for _, n := range seen {
		if n > 3 {
			return false
		}
		if n == 0 {
			missing++
		}
	}
	return missing >= 1 && missing <= 2 && b[0] != '0' && mod1110(b)
}

func indianPAN(b []byte) bool { return strings.IndexByte("ABCEFGHJLPT", b[3]) >= 0 }

func taiwanese(b []byte) bool {
	code := strings.IndexByte("ABCDEFGHJKLMNPQRSTUVXYWZIO", b[0]) + 10
	sum := code/10 + code%10*9
	for i, w := range []int{8, 7, 6, 5, 4, 3, 2, 1, 1} {
		sum += int(b[i+1]-'0') * w
	}
	return sum%10 == 0
}

func rodneCislo(b []byte) bool {
	month := num(b[2:4])
	for _, more := range []int{70, 50, 20} {
		if month > more {
			month -= more
			break
		}
	}
	return dayMonth(num(b[4:6]), month) && num(b)%11 == 0
}

func austrian(b []byte) bool {
	return b[0] != '0' && dayMonth(num(b[4:6]), num(b[6:8])%20) && weighted(b, 3, 7, 9, 0, 5, 8, 4, 2, 1, 6)%11 == int(b[3]-'0')
}

func bulgarian(b []byte) bool {
	return dayMonth(num(b[4:6]), num(b[2:4])%20) && weighted(b, 2, 4, 8, 5, 10, 9, 7, 3, 6)%11%10 == int(b[9]-'0')
}

func nhs(b []byte) bool {
	check := 11 - weighted(b, 10, 9, 8, 7, 6, 5, 4, 3, 2)%11
	return check%11 == int(b[9]-'0') && check != 10
}

func utr(b []byte) bool {
	return "21987654321"[weighted(b[1:], 6, 7, 8, 9, 10, 5, 4, 3, 2)%11] == b[0]
}

func nric(b []byte) bool {
	sum := weighted(b[1:], 2, 7, 6, 5, 4, 3, 2)
	switch b[0] {
	case 'T':
		return "JZIHGFEDCBA"[(sum+4)%11] == b[8]
	case 'S':
		return "JZIHGFEDCBA"[sum%11] == b[8]
	case 'G':
		return "XWUTRQPNMLK"[(sum+4)%11] == b[8]
	case 'F':
		return "XWUTRQPNMLK"[sum%11] == b[8]
	case 'M':
		return "KLJNPQRTUWX"[10-(sum+3)%11] == b[8]
	}
	return false
}

func bsn(b []byte) bool { return weighted(b, 9, 8, 7, 6, 5, 4, 3, 2, -1)%11 == 0 }

func portuguese(b []byte) bool {
	r := weighted(b, 9, 8, 7, 6, 5, 4, 3, 2) % 11
	want := 0
	if r > 1 {
		want = 11 - r
	}
	return b[0] != '0' && want == int(b[8]-'0')
}

func pps(b []byte) bool {
	sum := weighted(b, 8, 7, 6, 5, 4, 3, 2)
	if len(b) == 9 && b[8] != 'W' {
		sum += int(b[8]-'A'+1) * 9
	}
	return "WABCDEFGHIJKLMNOPQRSTUV"[sum%23] == b[7]
}

func rut(b []byte) bool {
	body := b[:len(b)-1]
	sum, factor := 0, 2
	for i := len(body) - 1; i >= 0; i-- {
		sum += int(body[i]-'0') * factor
		if factor++; factor == 8 {
			factor = 2
		}
	}
	return "0K987654321"[sum%11] == b[len(b)-1]
}

func hongKong(b []byte) bool {
	sum := 36*9 + int(b[0]-'A'+10)*8 + weighted(b[1:], 7, 6, 5, 4, 3, 2)
	want := byte("0A987654321"[sum%11])
	return want == b[7]
}
