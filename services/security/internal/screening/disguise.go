package screening

import "sabha.dev/services/security/internal/plaintext"

// disguiseRules weigh that something was hidden, beside what was hidden.
func disguiseRules() []rule {
	return []rule{
		{id: "invisible-characters", class: Obfuscation, weight: 0.3, reason: "Words are split by characters that nobody sees."},
		{id: "invisible-text", class: Obfuscation, weight: 0.6, reason: "It carries text in characters that nobody sees."},
		{id: "mixed-scripts", class: Obfuscation, weight: 0.35, reason: "Words mix letters of different scripts that look alike."},
		{id: "encoded-attack", class: Obfuscation, weight: 0.45, reason: "What it hides in an encoding is suspicious."},
		{id: "disguised-words", class: Obfuscation, weight: 0.3, reason: "Suspicious words are spelt so that filters miss them."},
		{id: "hidden-passage", class: Obfuscation, weight: 0.4, reason: "A passage that readers do not see is suspicious."},
		{id: "nested-encoding", class: Obfuscation, weight: 0.7, reason: "Encodings are nested deeper than anyone needs."},
	}
}

// disguises adds the signals of disguiseRules.
func (s *Screener) disguises(reading plaintext.Reading, f *findings) {
	on := map[string]bool{
		"encoded-attack":  f.encoded >= 0.4,
		"disguised-words": f.disguised >= 0.4,
		"hidden-passage":  f.hidden >= 0.3,
		"nested-encoding": reading.Nested,
	}
	for _, v := range reading.Views {
		on["invisible-characters"] = on["invisible-characters"] || v.Split > 2
		on["invisible-text"] = on["invisible-text"] || len(v.Tags) > 3
		on["mixed-scripts"] = on["mixed-scripts"] || v.Mixed > 1
	}
	for i, r := range s.rules.rules {
		if on[r.id] {
			f.add(i, r.weight, plaintext.Plain)
		}
	}
}
