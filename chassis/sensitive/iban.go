package sensitive

// ibanLengths are the lengths by country of the IBAN registry (ISO 13616), in the order
// of the countries' codes.
const ibanLengths = "AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BI27 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DJ27 DK18 DO28 EE20 EG29 ES24 FI18 FK18 FO18 FR27 " +
	"GB22 GE22 GI23 GL18 GR27 GT28 HN28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MN20 MR27 " +
	"MT31 MU30 NI28 NL18 NO15 OM23 PK24 PL28 PS29 PT25 QA29 RO24 RS22 RU33 SA24 SC31 SD18 SE24 SI19 SK24 SM27 SO23 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20 YE30"

var ibanLength = func() (by [26][26]uint8) {
	for i := 0; i+4 <= len(ibanLengths); i += 5 {
		c := ibanLengths[i : i+4]
		by[c[0]-'A'][c[1]-'A'] = uint8(num([]byte(c[2:])))
	}
	return by
}()

// iban gives the end of the account number that begins at i, or 0.
func (s *Scanner) iban(i int) int {
	a, b := s.at(i)&^0x20, s.at(i+1)&^0x20
	if !upper(a) || !upper(b) {
		return 0
	}
	length := int(ibanLength[a-'A'][b-'A'])
	if length == 0 {
		return 0
	}
	var text [34]byte
	n, k, gaps := 0, i, 0
	for n < length {
		c := s.at(k)
		switch {
		case alnum(c):
			if !digit(c) {
				c &^= 0x20
			}
			if (n == 2 || n == 3) && !digit(c) {
				return 0
			}
			text[n] = c
			n++
			gaps = 0
		case (c == ' ' || c == '-' || c == '.') && n >= 2 && gaps < 2:
			gaps++
		default:
			return 0
		}
		k++
	}
	if alnum(s.at(k)) || mod97(text[4:length], text[:4]) != 1 {
		return 0
	}
	return k
}
