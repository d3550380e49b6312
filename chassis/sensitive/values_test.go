package sensitive_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// maker makes values with check digits of its own reckoning, not that of the package.
type maker struct{ *rand.Rand }

func (m maker) pick(list ...string) string { return list[m.IntN(len(list))] }

// fill fills a form: # is any digit, % one from 2 to 9, ? a capital letter; others stay.
func (m maker) fill(form string) string {
	return strings.Map(func(r rune) rune {
		switch r {
		case '#':
			return rune('0' + m.IntN(10))
		case '%':
			return rune('2' + m.IntN(8))
		case '?':
			return rune('A' + m.IntN(26))
		}
		return r
	}, form)
}

// grouped writes characters in groups.
func grouped(s, sep string, sizes ...int) string {
	var out []string
	for _, n := range sizes {
		out = append(out, s[:n])
		s = s[n:]
	}
	if s != "" {
		out = append(out, s)
	}
	return strings.Join(out, sep)
}

func sum(s string, weights ...int) int {
	n := 0
	for i, w := range weights {
		n += int(s[i]-'0') * w
	}
	return n
}

func withLuhn(s string) string {
	n, double := 0, true
	for i := len(s) - 1; i >= 0; i-- {
		d := int(s[i] - '0')
		if double {
			d = d*2/10 + d*2%10
		}
		n += d
		double = !double
	}
	return s + fmt.Sprint((10-n%10)%10)
}

func (m maker) card() string {
	var s string
	switch m.IntN(7) {
	case 0, 1, 2:
		s = withLuhn(m.fill("4") + m.fill("##############"))
	case 3, 4:
		s = withLuhn("5" + m.pick("1", "2", "3", "4", "5") + m.fill("#############"))
	case 5:
		s = withLuhn("3" + m.pick("4", "7") + m.fill("############"))
		return m.pick(s, grouped(s, " ", 4, 6), grouped(s, "-", 4, 6))
	default:
		s = withLuhn("6011" + m.fill("###########"))
	}
	wide := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r - '0' + '０'
		}
		return r
	}, s)
	return m.pick(s, s, grouped(s, " ", 4, 4, 4), grouped(s, "-", 4, 4, 4), grouped(s, "\u00a0", 4, 4, 4), grouped(s, " - ", 4, 4, 4), wide, grouped(s, ".", 4, 4, 4))
}

func (m maker) iban() string {
	country := m.pick("DE", "GB", "FR", "ES", "IT", "NL", "PL", "CH", "SE", "NO", "BE", "PT", "AT", "IE", "DK", "SA", "MT")
	body := m.fill(map[string]string{
		"DE": "##################", "GB": "????##############", "FR": "#######################", "ES": "####################", "IT": "?######################",
		"NL": "????##########", "PL": "########################", "CH": "#################", "SE": "####################", "NO": "###########", "BE": "############",
		"PT": "#####################", "AT": "################", "IE": "????##############", "DK": "##############", "SA": "####################", "MT": "????#######################",
	}[country])
	r := 0
	for _, c := range body + country + "00" {
		if c >= 'A' {
			r = (r*100 + int(c) - 55) % 97
		} else {
			r = (r*10 + int(c) - 48) % 97
		}
	}
	s := country + fmt.Sprintf("%02d", 98-r) + body
	spaced := strings.TrimSpace(grouped(s, " ", four(len(s))...))
	return m.pick(s, spaced, spaced, strings.ToLower(s), strings.ReplaceAll(spaced, " ", "-"), strings.ReplaceAll(spaced, " ", "\u00a0"))
}

func four(n int) (sizes []int) {
	for ; n > 4; n -= 4 {
		sizes = append(sizes, 4)
	}
	return sizes
}

func (m maker) date() (day, month, year int) {
	return 1 + m.IntN(28), 1 + m.IntN(12), 1940 + m.IntN(65)
}

const control = "TRWAGMYFPDXBNJZSQVHLCKE"

// id makes a national id and the word that goes with it; bare tells that it needs none.
func (m maker) id() (value, word string, bare bool) {
	d, mo, y := m.date()
	switch m.IntN(18) {
	case 0:
		s := fmt.Sprintf("%03d%02d%04d", 1+m.IntN(600), 1+m.IntN(99), 1+m.IntN(9999))
		return m.pick(grouped(s, "-", 3, 2), grouped(s, " ", 3, 2), s), m.pick("SSN", "Social Security Number", "social security no."), false
	case 1:
		s := m.pick("AB", "CE", "JG", "PW", "SH", "TX") + m.fill("######") + m.pick("A", "B", "C", "D")
		return m.pick(s, grouped(s, " ", 2, 2, 2, 2), grouped(s, "-", 2, 2, 2, 2)), m.pick("NI number", "National Insurance number", "NINO"), true
	case 2:
		s := m.fill("########")
		n := 0
		_, _ = fmt.Sscan(strings.TrimLeft(s, "0")+"", &n)
		c := string(control[n%23])
		return m.pick(s+c, s+"-"+c, s[:2]+"."+s[2:5]+"."+s[5:]+"-"+c), m.pick("DNI", "NIF"), true
	case 3:
		k := m.IntN(3)
		s := m.fill("#######")
		n := 0
		_, _ = fmt.Sscan(fmt.Sprint(k)+s, &n)
		return string("XYZ"[k]) + m.pick("", "-") + s + m.pick("", "-") + string(control[n%23]), "NIE", true
	case 4:
		s := fmt.Sprintf("%d%02d%02d%02d%03d%03d", 1+m.IntN(2), y%100, mo, 1+m.IntN(95), 1+m.IntN(990), 1+m.IntN(999))
		r := 0
		for _, c := range s {
			r = (r*10 + int(c-'0')) % 97
		}
		s += fmt.Sprintf("%02d", 97-r)
		return m.pick(s, grouped(s, " ", 1, 2, 2, 2, 3, 3)), m.pick("numéro de sécurité sociale", "NIR"), true
	case 5:
		for {
			s := m.fill("%#########")
			seen := map[rune]int{}
			for _, c := range s {
				seen[c]++
			}
			if len(seen) != 9 {
				continue
			}
			p := 10
			for _, c := range s {
				if p = (p + int(c-'0')) % 10; p == 0 {
					p = 10
				}
				p = p * 2 % 11
			}
			s += fmt.Sprint((11 - p) % 10)
			return m.pick(s, grouped(s, " ", 2, 3, 3)), m.pick("Steuer-ID", "Steuerliche Identifikationsnummer", "IdNr."), false
		}
	case 6:
		for {
			s := m.fill("%#######")
			if c := sum(s, 9, 8, 7, 6, 5, 4, 3, 2) % 11; c < 10 {
				return s + fmt.Sprint(c), m.pick("BSN", "burgerservicenummer"), false
			}
		}
	case 7:
		if y >= 2000 {
			mo += 20
		}
		s := fmt.Sprintf("%02d%02d%02d", y%100, mo, d) + m.fill("####")
		return s + fmt.Sprint((10-sum(s, 1, 3, 7, 9, 1, 3, 7, 9, 1, 3)%10)%10), "PESEL", true
	case 8:
		s := withLuhn(fmt.Sprintf("%02d%02d%02d", y%100, mo, d) + m.fill("###"))
		return m.pick(grouped(s, "-", 6), fmt.Sprint(y/100)+grouped(s, "-", 6)), m.pick("personnummer", "Personnr"), true
	case 9:
		s := fmt.Sprintf("%02d%02d%02d%03d", d, mo, y%100, 2+m.IntN(890))
		n := 0
		_, _ = fmt.Sscan(strings.TrimLeft(s, "0"), &n)
		sign := "-"
		if y >= 2000 {
			sign = "A"
		}
		return s[:6] + sign + s[6:] + string("0123456789ABCDEFHJKLMNPRSTUVWXY"[n%31]), "henkilötunnus", true
	case 10:
		s := m.fill("%###########")[:11]
		for c := range 10 {
			if verhoeffSum(s+fmt.Sprint(c)) == 0 {
				s += fmt.Sprint(c)
				break
			}
		}
		return m.pick(grouped(s, " ", 4, 4), grouped(s, "-", 4, 4), s), m.pick("Aadhaar", "Aadhaar no.", "UID"), false
	case 11:
		return m.fill("???") + m.pick("P", "C", "H") + m.fill("?####?"), m.pick("PAN", "PAN card"), true
	case 12:
		s := m.fill("#########")
		for n := 10; n <= 11; n++ {
			t := 0
			for i := range n - 1 {
				t += int(s[i]-'0') * (n - i)
			}
			s += fmt.Sprint(t * 10 % 11 % 10)
		}
		return m.pick(s[:3]+"."+s[3:6]+"."+s[6:9]+"-"+s[9:], s), "CPF", false
	case 13:
		s := withLuhn(m.pick("1", "4", "5", "6", "7") + m.fill("#######"))
		return m.pick(s, grouped(s, " ", 3, 3), grouped(s, "-", 3, 3)), m.pick("SIN", "Social Insurance Number"), false
	case 14:
		for {
			s := m.fill("4########")
			if c := 11 - sum(s, 10, 9, 8, 7, 6, 5, 4, 3, 2)%11; c != 10 {
				s += fmt.Sprint(c % 11)
				return m.pick(s, grouped(s, " ", 3, 3)), m.pick("NHS number", "NHS no"), false
			}
		}
	case 15:
		for {
			s := fmt.Sprintf("%02d%02d%02d", d, mo, y%100) + m.fill("###")
			a := (11 - sum(s, 3, 7, 6, 1, 8, 9, 4, 5, 2)%11) % 11
			b := (11 - (sum(s, 5, 4, 3, 2, 7, 6, 5, 4, 3)+2*a)%11) % 11
			if a < 10 && b < 10 {
				s += fmt.Sprint(a) + fmt.Sprint(b)
				return m.pick(s, grouped(s, " ", 6)), "fødselsnummer", true
			}
		}
	case 16:
		return m.pick("X", "C", "L", "") + m.fill("%#######")[:m.IntN(2)+7], m.pick("passport number", "Passport No", "Reisepassnummer", "pasaporte"), false
	default:
		return m.pick("RSSMRA85T10A562S", "rssmra85t10a562s", "RSS MRA 85T10 A562S", "MRTMTT91D08F205J"), m.pick("codice fiscale", "C.F."), true
	}
}

func verhoeffSum(s string) int {
	// The dihedral group of order ten, reckoned instead of tabled.
	times := func(a, b int) int {
		switch {
		case a < 5 && b < 5:
			return (a + b) % 5
		case a < 5:
			return (a+b-5)%5 + 5
		case b < 5:
			return (a-5-b+5)%5 + 5
		}
		return (a - b + 5) % 5
	}
	turn := []int{1, 5, 7, 6, 2, 8, 3, 0, 9, 4}
	c := 0
	for i := range s {
		d := int(s[len(s)-1-i] - '0')
		for range i % 8 {
			d = turn[d]
		}
		c = times(c, d)
	}
	return c
}

func (m maker) phone() (value string, bare bool) {
	us := m.fill("%") + m.pick("0", "1", "2") + m.pick("2", "5", "0") + "|" + m.fill("%##") + "|" + m.fill("####")
	p := strings.Split(us, "|")
	switch m.IntN(16) {
	case 0:
		return "+1 " + m.pick("("+p[0]+") "+p[1]+"-"+p[2], strings.Join(p, " "), strings.Join(p, "-"), strings.Join(p, ".")), true
	case 1:
		return m.pick("("+p[0]+") "+p[1]+"-"+p[2], "("+p[0]+")"+p[1]+"-"+p[2], strings.Join(p, "-"), strings.Join(p, "."), "1-"+strings.Join(p, "-")), true
	case 2:
		return m.fill(m.pick("+44 20 7946 0###", "+44 (0)20 7946 0###", "+44 7700 900###", "+442079460###", "0044 20 7946 0###", "020 7946 0###", "(020) 7946 0###", "07700 900###", "07700900###", "01632 960###")), true
	case 3:
		return m.fill(m.pick("+33 1 %9 ## ## ##", "+33 (0)1 %9 ## ## ##", "01 %9 ## ## ##", "06.%9.##.##.##", "06-%9-##-##-##", "+336%#######")), true
	case 4:
		return m.fill(m.pick("+49 30 %######", "+49 (0)30 %######", "030 %######", "030/%######", "0171 %######", "0171-%######", "+49 171 %######", "0049 30 %######", "(030) %## ## ##")), true
	case 5:
		return m.fill(m.pick("+34 6%9 ### ###", "+34 91 %## ## ##", "+346%#######")), true
	case 6:
		return m.fill(m.pick("+39 06 %### ####", "+39 347 %## ####", "06 %### ####", "02-%#######")), true
	case 7:
		return m.fill(m.pick("+91 98%## #####", "+91-98%##-#####", "98%## #####", "+9198%#######")), true
	case 8:
		return m.fill(m.pick("+55 11 9%###-####", "(11) 9%###-####", "+55 (21) %###-####")), true
	case 9:
		return m.fill(m.pick("+81 3-%###-####", "03-%###-####", "090-%###-####", "０３−８９９９−９９９９")), true
	case 10:
		return m.fill(m.pick("+31 6 %#######", "06-%#######", "+31 20 %## ####", "020-%######")), true
	case 11:
		return m.fill(m.pick("+46 8 %## ### ##", "08-%## ### ##", "+46 70 %## ## ##", "070-%## ## ##")), true
	case 12:
		return m.fill(m.pick("+61 2 %### ####", "(02) %### ####", "0412 %## ###", "+61 412 %## ###")), true
	case 13:
		return m.fill(m.pick("+7 495 %##-##-##", "8 (495) %##-##-##", "+7 (916) %##-##-##", "+380 44 %## ####", "+48 6%9 ### ###", "+351 91 %## ####", "+971 50 %## ####", "+65 %### ####")), true
	case 14:
		return m.fill(m.pick("%#########", "6%9 ### ###", "%### ####", "%##-####", "%9 ## ## ##")), false
	default:
		return m.fill(m.pick("+86 138 %### ####", "138 %### ####", "+82 10-%###-####", "010-%###-####")), true
	}
}
