package sensitive

import "slices"

// idKind is one kind of national id.
type idKind struct {
	kind string
	// masks of its characters: 9 a digit, A a letter, X either.
	masks []string
	// shapes in which it is taken for what it is without a word about it: the lengths of
	// its groups with the separators between them. A size alone is written without any.
	shapes []string
	// topic of the words about it.
	topic topic
	// check of its check digits and of what else is known; nil where nothing is.
	check func([]byte) bool
	small bool // in small letters too, without a word about it
}

// idKinds come with the most certain first.
var idKinds = []idKind{
	{"it-codice-fiscale", []string{"AAAAAAXXAXXAXXXA"}, []string{"16", "3 3 5 5", "6 5 5", "3 3 5 4 1", "3-3-5-5", "6 2 1 2 1 3 1"}, aNIF, codiceFiscale, true},
	{"mx-curp", []string{"AAAA999999AAAAAAX9"}, []string{"18"}, anID, curp, true},
	{"cn-resident-id", []string{"99999999999999999X"}, []string{"18", "6 8 4", "6-8-4", "6 4 4 4"}, anID, chineseID, true},
	{"fr-nir", []string{"999999999999999", "99999A999999999", "999999A99999999"}, []string{"15", "1 2 2 2 3 3 2", "1.2.2.2.3.3.2", "1-2-2-2-3-3-2", "13 2", "1 2 2 2 3 3-2", "1 2 2 5 3 2", "1 2 2 2 6 2", "1 2 2 2 3 3/2", "13-2", "1 2 2 3 5 2", "1 4 2 3 3 2"}, aNIR, nir, true},
	{"fr-nir", []string{"9999999999999"}, nil, aNIR, func(b []byte) bool { return nirBody(b) }, false},
	{"gb-driving-licence", []string{"XXXXX999999XXXAA"}, []string{"16", "5 6 5", "5 6 2 1 2", "5 6 5 2", "5-6-5"}, aLicence, britishLicence, false},
	{"ro-cnp", []string{"9999999999999"}, []string{"13"}, anID, cnp, false},
	{"za-id", []string{"9999999999999"}, []string{"13", "6 4 3", "6 4 2 1", "6-4-3", "6 4 1 2", "6 4 1 1 1"}, anID, southAfrican, false},
	{"ch-ahv", []string{"9999999999999"}, []string{"13", "3.4.4.2", "3 4 4 2", "3-4-4-2"}, anID, ahv, false},
	{"th-id", []string{"9999999999999"}, []string{"1-4-5-2-1", "1 4 5 2 1"}, aThaiID, thaiID, false},
	{"kr-rrn", []string{"9999999999999"}, []string{"6-7"}, anID, korean, false},
	{"de-versicherungsnummer", []string{"99999999A999"}, []string{"12", "2 6 1 3", "2 6 4", "8 1 3", "2 6 1 2 1", "8 4"}, anID, rentenversicherung, true},
	{"in-aadhaar", []string{"999999999999"}, []string{"4 4 4", "4-4-4"}, anAadhaar, aadhaar, false},
	{"jp-my-number", []string{"999999999999"}, nil, aMyNumber, myNumber, false},
	{"se-personnummer", []string{"999999999999"}, []string{"8-4"}, aPersonnummer, func(b []byte) bool {
		return personnummer(b[2:]) && (b[0] == '1' && b[1] == '9' || b[0] == '2' && b[1] == '0')
	}, false},
	{"se-personnummer", []string{"9999999999"}, []string{"6-4"}, aPersonnummer, personnummer, false},
	{"fi-hetu", []string{"999999999X", "999999X999X", "9999999999"}, []string{"6-4", "11"}, anID, hetu, true},
	{"no-fodselsnummer", []string{"99999999999"}, []string{"11", "6 5", "6-5"}, anID, fodselsnummer, false},
	{"pl-pesel", []string{"99999999999"}, []string{"11"}, aPESEL, pesel, false},
	{"lt-ee-personal-code", []string{"99999999999"}, []string{"11"}, anID, balticCode, false},
	{"be-national-number", []string{"99999999999"}, []string{"11", "2.2.2-3.2", "6-3-2", "6 3 2", "2.2.2-3-2", "2 2 2 3 2", "6-3.2", "2 2 2-3 2", "2/2/2-3.2", "2.2.2 3.2"}, anID, belgian, false},
	{"br-cnpj", []string{"99999999999999"}, []string{"2.3.3/4-2", "2 3 3/4-2"}, aCPF, cnpj, false},
	{"br-cpf", []string{"99999999999"}, []string{"3.3.3-2", "3 3 3-2", "9-2", "3.3.3.2", "3-3-3-2"}, aCPF, cpf, false},
	{"ar-cuit", []string{"99999999999"}, []string{"2-8-1"}, anID, cuit, false},
	{"tr-kimlik", []string{"99999999999"}, nil, aTC, kimlik, false},
	{"de-steuer-id", []string{"99999999999"}, nil, aSteuerID, steuerID, false},
	{"hr-oib", []string{"99999999999"}, nil, anOIB, mod1110, false},
	{"gr-amka", []string{"99999999999"}, nil, anAMKA, func(b []byte) bool { return dayMonth(num(b[:2]), num(b[2:4])) && luhn(b) }, false},
	{"in-pan", []string{"AAAAA9999A"}, []string{"10", "5 4 1"}, aPAN, indianPAN, false},
	{"tw-id", []string{"A999999999"}, nil, anID, taiwanese, false},
	{"cz-rodne-cislo", []string{"9999999999"}, []string{"6/4"}, anID, rodneCislo, false},
	{"dk-cpr", []string{"9999999999"}, nil, aCPR, func(b []byte) bool { return dayMonth(num(b[:2]), num(b[2:4])) }, false},
	{"at-svnr", []string{"9999999999"}, nil, anID, austrian, false},
	{"bg-egn", []string{"9999999999"}, nil, anEGN, bulgarian, false},
	{"gb-nhs", []string{"9999999999"}, nil, anNHS, nhs, false},
	{"gb-utr", []string{"9999999999"}, nil, aUTR, utr, false},
	{"au-medicare", []string{"9999999999", "99999999999"}, nil, aMedicare, func(b []byte) bool {
		return b[0] >= '2' && b[0] <= '6' && weighted(b, 1, 3, 7, 9, 1, 3, 7, 9)%10 == int(b[8]-'0')
	}, false},
	{"gb-nino", []string{"AA999999A"}, []string{"9", "2 2 2 2 1", "2 6 1", "2-2-2-2-1", "2-6-1", "8 1", "2.2.2.2.1", "4 2 2 1", "2 7", "2 2 2 3", "4 2 3"}, aNINO, nino, false},
	{"gb-nino", []string{"AA999999"}, nil, aNINO, func(b []byte) bool { return ninoPrefix(b) }, false},
	{"es-dni", []string{"99999999A"}, []string{"9", "8-1", "8 1", "2.3.3-1", "2.3.3 1", "2.3.4", "2 3 3 1", "2 3 3-1", "2.3.3.1", "2-3-3-1", "2 3 4"}, aNIF, dni, true},
	{"es-nie", []string{"A9999999A"}, []string{"9", "1-7-1", "1 7 1", "1-8", "8-1", "1 1.3.3-1", "1.7.1", "1-1.3.3-1", "1.1.3.3.1", "1 7-1", "1-7 1"}, aNIF, nie, true},
	{"sg-nric", []string{"A9999999A"}, []string{"9"}, anID, nric, false},
	{"us-ssn", []string{"999999999"}, []string{"3-2-4"}, aSSN, ssn, false},
	{"nl-bsn", []string{"999999999"}, nil, aBSN, bsn, false},
	{"ca-sin", []string{"999999999"}, nil, aSIN, luhn, false},
	{"au-tfn", []string{"999999999"}, nil, aTFN, func(b []byte) bool { return weighted(b, 1, 4, 3, 7, 5, 8, 6, 9, 10)%11 == 0 }, false},
	{"pt-nif", []string{"999999999"}, nil, aNIF, portuguese, false},
	{"il-id", []string{"999999999"}, nil, anID, luhn, false},
	{"ie-pps", []string{"9999999A", "9999999AA"}, nil, aPPS, pps, false},
	{"cl-rut", []string{"99999999X", "9999999X"}, []string{"2.3.3-1", "1.3.3-1", "8-1", "7-1"}, anID, rut, true},
	{"hk-id", []string{"A999999X"}, []string{"7(1"}, anID, hongKong, false},
	{"id-nik", []string{"9999999999999999"}, nil, aNIK, nil, false},
	{"my-ic", []string{"999999999999"}, []string{"6-2-4"}, anID, func(b []byte) bool { return dayMonth(num(b[4:6]), num(b[2:4])) }, false},
}

// idsBySize are the kinds by the number of their characters.
var idsBySize = func() (by [maxChars + 1][]*idKind) {
	for i := range idKinds {
		k := &idKinds[i]
		seen := 0
		for _, m := range k.masks {
			if seen&(1<<len(m)) == 0 {
				seen |= 1 << len(m)
				by[len(m)] = append(by[len(m)], k)
			}
		}
	}
	return by
}()

// nationalID gives the kind that a window is, or "".
func (s *Scanner) nationalID(w window) string {
	if w.left == '+' || w.size > maxChars || len(idsBySize[w.size]) == 0 && !s.words.about(idTopics, s.base+int64(w.start)) {
		return ""
	}
	at := s.base + int64(w.start)
	b := w.text()
	anyID, alone := s.tells(anID, at), !w.glued && !w.goesOn() && !s.words.other(at)
	for _, k := range idsBySize[w.size] {
		if !k.fits(b) {
			continue
		}
		told := anyID || s.tells(k.topic, at)
		if !told && (!alone || w.groups[w.last].small && !k.small || !k.bare(w.shape)) {
			continue
		}
		if same(b) || k.check != nil && !k.check(b) {
			continue
		}
		return k.kind
	}
	return s.toldID(w, b, at)
}

// tells tells whether a word about a topic says what stands at a place. It does not when a
// word about phones came after it, or when it has told a value and what is between does
// not look like a list.
func (s *Scanner) tells(t topic, at int64) bool {
	if !s.words.near(t, at, 48) || s.words.at[aPhone] > s.words.at[t] {
		return false
	}
	return s.listed(t, at)
}

// listed tells whether nothing has been found between the last word about a topic and a
// place, or what stands between that and the place looks like a list.
func (s *Scanner) listed(t topic, at int64) bool {
	told := s.base + int64(s.lastEnd)
	return told <= s.words.at[t] || at-told <= 6 || at-told <= 16 && s.words.end <= told
}

// goesOn tells whether a window with spaces is a part of a longer row of numbers, or
// begins with a date as some numbers of documents do.
func (w window) goesOn() bool {
	if w.last == 0 || w.groups[1].sep != ' ' {
		return false
	}
	if next := w.last + 1; w.second || next < w.n && next < w.digits && w.groups[next].sep == ' ' {
		return true
	}
	return w.groupLen(0) == 4 && w.groupLen(1) == 4 && year(w.chars[:4]) && dayMonth(num(w.chars[6:8]), num(w.chars[4:6]))
}

// toldID gives the kind of an id that only the words directly before it tell.
func (s *Scanner) toldID(w window, b []byte, at int64) string {
	if w.size < 6 || w.size > 20 || w.last > 6 || at-s.words.end > 12 || s.words.last&idTopics == 0 || s.words.last&(1<<aNot) != 0 {
		return ""
	}
	if g := w.groups[0]; g.small && w.last > 0 && !digit(w.chars[g.chars-1]) {
		return "" // a word before the number
	}
	digits := 0
	for _, c := range b {
		if digit(c) {
			digits++
		}
	}
	for k := 1; k <= w.last; k++ { // 4411 HTTP
		if w.groups[k].sep == ' ' && (w.groupLen(k) > 2 || lower(s.buf[w.groups[k].start])) && !slices.ContainsFunc(w.chars[w.groups[k-1].chars:w.groups[k].chars], digit) {
			return ""
		}
	}
	card := s.words.last&(1<<aPassport|1<<aLicence|1<<anID) != 0 && w.last == 0 && digits >= 2 && !w.groups[0].small && w.size >= 8
	if digits < 5 && !card || w.groups[w.last].small && digits < w.size-3 {
		return ""
	}
	switch last := s.words.last; {
	case last&(1<<aPassport) != 0:
		if w.size <= 10 && w.last == 0 || w.last == 1 {
			return "passport"
		}
		return ""
	case last&(1<<aLicence) != 0:
		return "driving-licence"
	case s.words.sep >= s.words.end || w.size >= 8:
		return "national-id"
	}
	return ""
}

func (k *idKind) fits(b []byte) bool {
masks:
	for _, m := range k.masks {
		if len(m) != len(b) {
			continue
		}
		for i := range b {
			switch m[i] {
			case '9':
				if !digit(b[i]) {
					continue masks
				}
			case 'A':
				if digit(b[i]) {
					continue masks
				}
			}
		}
		return true
	}
	return false
}

func (k *idKind) bare(shape []byte) bool {
	for _, s := range k.shapes {
		if s == string(shape) {
			return true
		}
	}
	return false
}
