package grounding

import (
	"fmt"
	"strings"
)

// actorWords are those who do things in contracts, rules, stories and systems.
var actorWords = wordSet(`bank company firm state council tenant client server agent party school fund parent child patient staff team person people
	applicant landlord court police ministry government service protocol specification host side boss family group committee
	buyer seller vendor supplier customer borrower lender lessor lessee employer employee worker manager director chief head officer engineer technician driver
	pilot teacher pupil student doctor nurse pharmacist insurer policyholder insured holder owner operator user administrator admin member visitor guest
	passenger traveller resident citizen voter mayor minister president regulator authority auditor lawyer judge arbitrator notary developer architect builder
	contractor subcontractor publisher author editor reader researcher scientist investor shareholder partner founder inventor player coach trainer guide
	planner validator executor gateway registry broker consumer producer caller sender receiver issuer card-holder broker-dealer board team crew workshop
	university library museum hospital pharmacy hotel airline carrier union works-council department desk subsidiary group insurer merchant shop farmer baker
	husband wife mother father son daughter man woman boy girl neighbour volunteer trustee beneficiary heir executor creditor debtor guarantor`)

// actor tells whether the word may stand for somebody who acts.
func actor(t *token) bool {
	if t.fact || t.number || t.code || !t.content() {
		return false
	}
	w := t.lower
	return actorWords[w] || actorWords[strings.TrimSuffix(w, "s")] || actorWords[strings.TrimSuffix(w, "ies")+"y"] || w == "children"
}

// calendarWords are capitalised without naming anybody.
var calendarWords = wordSet("monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays fridays saturdays sundays christmas easter")

var beings = wordSet("is are was were be been being gets got")

// passive tells whether the verb stands in the passive: "is paid".
func (s *sentence) passive(verb *token) bool {
	for k := 1; k <= 3; k++ {
		if beings[s.word(verb.at-k)] {
			_, irregular := english.irregular[verb.lower]
			return irregular || strings.HasSuffix(verb.lower, "ed")
		}
	}
	return false
}

// doer is who does what the verb says, or nil where the sentence does not tell.
func (s *sentence) doer(verb *token, names nameSet) *token {
	is := func(t *token) bool { return actor(t) || names.is(t) && !t.code && !calendarWords[t.lower] }
	for k := verb.at + 1; k < len(s.tokens) && k <= verb.at+4; k++ {
		if s.tokens[k].lower != "by" {
			continue
		}
		for _, u := range s.tokens[k+1 : min(k+5, len(s.tokens))] {
			if is(u) {
				return u
			}
		}
	}
	if s.passive(verb) {
		return nil
	}
	if pronouns[s.word(verb.at-1)] {
		for _, t := range s.tokens[:verb.at-1] {
			if is(t) && s.word(verb.at-1) != "it" {
				return t
			}
		}
		return nil
	}
	for k := verb.at - 1; k >= 0; k-- {
		t := s.tokens[k]
		if t.clause != verb.clause && t.clause < verb.clause-1 || t.lower == ";" {
			return nil
		}
		if is(t) {
			return t
		}
	}
	return nil
}

// near tells whether the sentence has the word within three words of another.
func (s *sentence) near(t, other *token) bool {
	for _, u := range s.tokens {
		if d := u.at - other.at; d >= -3 && d <= 3 && same(t, u) >= 0.75 {
			return true
		}
	}
	return false
}

// crowd words stand for anybody.
var crowd = wordSet("people person persons anyone staff member members user users party parties customer customers")

// verbal tells whether the token is used as a verb, as far as its form and the word before it show.
func (s *sentence) verbal(t *token, names nameSet) bool {
	if !t.content() || t.capital || modals[t.lower] || actor(t) {
		return false
	}
	if _, past := english.irregular[t.lower]; past || strings.HasSuffix(t.lower, "ed") {
		return true
	}
	if t.at == 0 {
		return false
	}
	before := s.tokens[t.at-1]
	return actor(before) || names.is(before) || modals[before.lower] || pronouns[before.lower] || before.lower == "to" || before.lower == "not" ||
		strings.HasSuffix(before.lower, "ly") || strings.HasSuffix(before.lower, "n't")
}

var pronouns = wordSet("he she it they we you who which this that")

// actors looks for a verb that both have and that somebody else does.
func (c *comparison) actors(claim, s *sentence, names nameSet) {
	for _, v := range claim.tokens {
		if !claim.verbal(v, names) {
			continue
		}
		mine := claim.doer(v, names)
		if mine == nil || crowd[mine.lower] {
			continue
		}
		for _, w := range s.tokens {
			if !s.verbal(w, names) || same(v, w) < 0.75 {
				continue
			}
			theirs := s.doer(w, names)
			if theirs == nil || crowd[theirs.lower] || same(mine, theirs) > 0 || s.near(mine, theirs) || claim.near(theirs, mine) {
				continue
			}
			c.found(actorDiffers, fmt.Sprintf("the claim has %s do what the passage has %s do (%q)", mine.lower, theirs.lower, w.lower))
			return
		}
	}
}
