package sensitive

import (
	_ "embed"
	"strings"
)

// topic is what words before a value say about it.
type topic uint8

// The topics. Those of national ids stand together, from any to idOther.
const (
	aPhone topic = iota
	aMail
	aCard
	anIBAN
	anID // an id of a kind that is not told
	aSSN
	aNINO
	anNHS
	aUTR
	aBSN
	aSteuerID
	aNIR
	aPESEL
	aPersonnummer
	aCPR
	anAadhaar
	aCPF
	aSIN
	aTFN
	aMedicare
	aNIF
	aPPS
	aTC
	aMyNumber
	aThaiID
	aNIK
	anAMKA
	anOIB
	anEGN
	aPAN
	aPassport
	aLicence
	aBirth
	aName
	anAddress
	aMoney
	anAccount
	aHealth
	aPersonal
	aPassword
	aCode // a short one of digits
	aToken
	aHost
	aBearer
	isWord // "is" between a name and its value
	goesOn // "number" behind a name
	aNot   // what stands for numbers that are nobody's
	topics
)

const (
	idTopics = 1<<anID | 1<<aSSN | 1<<aNINO | 1<<anNHS | 1<<aUTR | 1<<aBSN | 1<<aSteuerID | 1<<aNIR | 1<<aPESEL |
		1<<aPersonnummer | 1<<aCPR | 1<<anAadhaar | 1<<aCPF | 1<<aSIN | 1<<aTFN | 1<<aMedicare | 1<<aNIF | 1<<aPPS | 1<<aTC |
		1<<aMyNumber | 1<<aThaiID | 1<<aNIK | 1<<anAMKA | 1<<anOIB | 1<<anEGN | 1<<aPAN | 1<<aPassport | 1<<aLicence
	keyTopics = 1<<aBirth | 1<<aName | 1<<anAddress | 1<<aHealth | 1<<aPersonal | 1<<aPassword | 1<<aToken | 1<<aBearer
)

// words is what the words read so far say.
type words struct {
	at   [topics]int64 // where the last word about a topic ended, in the folded text
	last uint64        // topics of the last word, as bits
	hash uint64        // of the last word that counts in pairs
	end  int64         // of the last word
	sep  int64         // behind the last separator between a name and its value
	from int64         // words that ended before it, in another cell of a table, say nothing
}

func (w *words) reset() {
	*w = words{}
	for i := range w.at {
		w.at[i] = never
	}
}

// rebase makes a place the beginning of the text.
func (w *words) rebase(to int64) {
	for i := range w.at {
		w.at[i] = max(w.at[i]-to, never)
	}
	w.end -= to
	w.sep -= to
	w.from = 0
}

const (
	hashBasis = 14695981039346656037
	hashPrime = 1099511628211
)

// read takes in a run of letters and digits that begins at a place in the folded text.
// Words end where digits or a capital letter begin.
func (w *words) read(run []byte, at int64) {
	h := uint64(hashBasis)
	begun, digits := false, 0
	for i, c := range run {
		if c < 'A' { // a digit
			if begun {
				w.word(h, at+int64(i))
				h, begun = hashBasis, false
			}
			if digits++; digits > 2 || w.last&(1<<isWord) != 0 {
				w.last, w.hash = 0, 0
			}
			continue
		}
		if begun && c < 'a' && (run[i-1] >= 'a' || i+1 < len(run) && run[i+1] >= 'a' && i > 1 && run[i-1] < 'a' && run[i-1] >= 'A') {
			w.word(h, at+int64(i))
			h = hashBasis
		}
		begun = true
		h = (h ^ uint64(c|0x20)) * hashPrime
	}
	if begun {
		w.word(h, at+int64(len(run)))
	}
}

func (w *words) word(h uint64, end int64) {
	mask := lexicon.find(h)
	if mask == connects {
		return
	}
	if w.hash != 0 && end-w.end < 40 {
		if pair := lexicon.find(pairOf(w.hash, h)); pair != 0 {
			mask = pair
		}
	}
	if mask&(1<<goesOn) != 0 && w.last != 0 {
		mask = w.last &^ (1 << isWord)
	}
	if mask != 0 {
		w.stamp(mask, end)
	}
	if mask&(1<<isWord) == 0 || w.last == 0 {
		w.last = mask
	} else {
		w.last |= 1 << isWord
	}
	w.hash, w.end = h, end
}

func (w *words) stamp(mask uint64, end int64) {
	for t := topic(0); mask != 0; t, mask = t+1, mask>>1 {
		if mask&1 != 0 {
			w.at[t] = end
		}
	}
}

// say takes in a character that stands for a word.
func (w *words) say(c byte, end int64) {
	mask := [...]uint64{1 << aPhone, 1 << anID, 1 << aPassword, 1 << aName, 1 << aBirth, 1 << aNot}[c-saysPhone]
	w.stamp(mask, end)
	w.last, w.hash, w.end = mask, 0, end
}

// near tells whether a word about the topic ended at most so many bytes before a place in
// the folded text, with no word after it that speaks of something else.
func (w *words) near(t topic, at, distance int64) bool {
	return at-w.at[t] <= distance && w.at[aNot] < w.at[t] && w.at[t] >= w.from
}

// about tells whether a word about any of the topics is near a place.
func (w *words) about(mask uint64, at int64) bool {
	for t := topic(0); mask != 0; t, mask = t+1, mask>>1 {
		if mask&1 != 0 && at-w.at[t] <= 48 && w.at[t] >= w.from {
			return true
		}
	}
	return false
}

// other tells whether the words just before speak of numbers that are nobody's.
func (w *words) other(at int64) bool { return at-w.at[aNot] <= 24 }

func pairOf(a, b uint64) uint64 { return (a*31 + b) * hashPrime }

// connects is the mask of words that stand between the words of a name.
const connects = 1 << 63

// dictionary finds the topics of a word or of two words in a row by hash.
type dictionary struct {
	filter [1 << 11]uint64 // a bit for each hash that is there
	topics map[uint64]uint64
}

func (d *dictionary) find(h uint64) uint64 {
	bit := (h ^ h>>29) & (1<<17 - 1)
	if d.filter[bit>>6]&(1<<(bit&63)) == 0 {
		return 0
	}
	return d.topics[h]
}

//go:embed lexicon.txt
var lexiconText string

var topicNames = map[string]topic{
	"phone": aPhone, "mail": aMail, "card": aCard, "iban": anIBAN, "id": anID, "ssn": aSSN, "nino": aNINO, "nhs": anNHS, "utr": aUTR,
	"bsn": aBSN, "steuerid": aSteuerID, "nir": aNIR, "pesel": aPESEL, "personnummer": aPersonnummer, "cpr": aCPR, "aadhaar": anAadhaar,
	"cpf": aCPF, "sin": aSIN, "tfn": aTFN, "medicare": aMedicare, "nif": aNIF, "pps": aPPS, "tc": aTC, "mynumber": aMyNumber, "thai": aThaiID,
	"nik": aNIK, "amka": anAMKA, "oib": anOIB, "egn": anEGN, "pan": aPAN, "passport": aPassport, "licence": aLicence, "birth": aBirth,
	"name": aName, "address": anAddress, "money": aMoney, "account": anAccount, "health": aHealth, "personal": aPersonal,
	"password": aPassword, "code": aCode, "token": aToken, "host": aHost, "bearer": aBearer, "is": isWord, "number": goesOn, "not": aNot,
}

var lexicon = readLexicon(lexiconText)

func readLexicon(text string) *dictionary {
	d := &dictionary{topics: map[uint64]uint64{}}
	for line := range strings.Lines(text) {
		name, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		mask := uint64(connects)
		if name != "connects" {
			t, ok := topicNames[name]
			if !ok {
				panic("sensitive: the lexicon has an unknown topic " + name)
			}
			mask = 1 << t
		}
		for phrase := range strings.SplitSeq(list, ",") {
			d.add(strings.Fields(phrase), mask)
		}
	}
	return d
}

// add takes in a phrase of one or two words.
func (d *dictionary) add(phrase []string, mask uint64) {
	var hashes []uint64
	for _, word := range phrase {
		h := uint64(hashBasis)
		for _, r := range word {
			c := byte(r)
			if r >= 0x80 {
				c = foldRune(r)
			}
			h = (h ^ uint64(c|0x20)) * hashPrime
		}
		hashes = append(hashes, h)
	}
	var key uint64
	switch len(hashes) {
	case 0:
		return
	case 1:
		key = hashes[0]
	case 2:
		key = pairOf(hashes[0], hashes[1])
	default:
		panic("sensitive: a phrase of more than two words: " + strings.Join(phrase, " "))
	}
	d.topics[key] |= mask
	bit := (key ^ key>>29) & (1<<17 - 1)
	d.filter[bit>>6] |= 1 << (bit & 63)
}
