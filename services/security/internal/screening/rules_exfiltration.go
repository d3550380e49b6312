package screening

// exfiltrationRules find attempts to get at prompts, secrets and other people's data.
func exfiltrationRules() []rule {
	return []rule{
		{
			id: "reveal-prompt", class: Exfiltration, weight: 0.65,
			reason: "It asks for the instructions the agent runs on.",
			phrases: []string{
				"reveal 4 hiddenadj 1 promptnoun",
				"reveal 2 your 2 promptnoun",
				"your 1 hiddenadj 1 promptnoun|message|govern 2 reveal",
				"reveal 4 your 1 hiddenadj 1 message|govern|promptnoun",
				"hiddenadj 1 promptnoun 2 reveal",
				"reveal 1 your 2 promptnoun 2 hiddenadj",
				"reveal 4 message 2 hiddenadj",
				"reveal 6 your 1 promptnoun",
				"reveal 3 govern 1 you 2 told",
				"reveal 4 words|govern|promptnoun 3 you 2 told",
			},
		},
		{
			id: "ask-prompt", class: Exfiltration, weight: 0.6, direct: true,
			reason: "It asks the agent about its own hidden instructions.",
			phrases: []string{
				"ask 4 your 2 hiddenadj 1 promptnoun|message|govern",
				"ask 4 your 2 promptnoun",
			},
		},
		{
			id: "reveal-own-instructions", class: Exfiltration, weight: 0.4, unless: "purpose",
			reason: "It asks for the instructions of the agent.",
			phrases: []string{
				"reveal 2 your 1 govern",
				"reveal 2 your 2 hiddenadj 2 govern",
			},
		},
		{
			id: "reveal-instructions", class: Exfiltration, weight: 0.4,
			reason: "It asks for instructions, which may be those of the agent.",
			phrases: []string{
				"reveal 2 your 2 message|govern",
				"reveal 3 hiddenadj 1 message|govern",
				"your 1 hiddenadj 1 promptnoun",
				"ask 2 your 0 govern",
			},
		},
		{
			id: "repeat-above", class: Exfiltration, weight: 0.6,
			reason: "It asks the agent to repeat what stands before the message.",
			phrases: []string{
				"reveal 1 words 1 above", "reveal 2 all 1 above", "reveal 1 words 2 prior",
				"ask 2 written 1 above",
				"reveal 2 written 1 above",
			},
		},
		{
			id: "verbatim", class: Exfiltration, weight: 0.35,
			reason: "It insists on the exact wording.",
			phrases: []string{
				"reveal 8 verbatim",
				"promptnoun|message 3 verbatim",
			},
		},
		{
			id: "ask-secrets", class: Exfiltration, weight: 0.65,
			reason: "It asks for stored secrets.",
			phrases: []string{
				"reveal 2 all 3 hardsecret",
				"reveal 2 all 3 api 1 key",
				"reveal 3 secret 3 stored",
				"reveal 3 api 1 key 3 stored",
				"reveal 3 stored 3 secret",
				"dumping 3 hardsecret",
				"dumping 4 api 0 key",
				"reveal 2 admin 1 secret",
				"all 2 stored 1 secret 4 reveal",
				"reveal 3 secret 1 other 1 tenant",
				"secret 1 other 1 tenant",
				"reveal 2 your 1 api 0 key",
				"reveal 2 your 2 hardsecret",
				"all 3 hardsecret 3 reveal",
			},
		},
		{
			id: "ask-secret-words", class: Exfiltration, weight: 0.3,
			reason: "It speaks of handing out secrets.",
			phrases: []string{
				"reveal 3 secret",
				"reveal 3 api 0 key",
				"reveal 2 all 3 secret",
			},
		},
		{
			id: "other-tenants", class: Exfiltration, weight: 0.6,
			reason: "It asks for data of other people.",
			phrases: []string{
				"reveal 5 records 4 other 1 tenant",
				"reveal 3 other 2 tenant 1 records",
			},
		},
		{
			id: "all-tenants", class: Exfiltration, weight: 0.4,
			reason: "It asks for data of everybody.",
			phrases: []string{
				"reveal 3 records 3 all 2 tenant",
				"reveal 1 all 1 records 2 all",
				"reveal 1 all 1 tenant 1 records",
				"records 2 all 2 tenant",
			},
		},
		{
			id: "dump-memory", class: Exfiltration, weight: 0.4,
			reason: "It asks for everything that is stored.",
			phrases: []string{
				"dumping 2 your 1 records",
				"dumping 2 all 2 records",
				"dumping 1 records",
				"dumping 2 all 2 ownmemory",
			},
		},
		{
			id: "dump-own-memory", class: Exfiltration, weight: 0.4,
			reason: "It asks for the memory of the agent.",
			phrases: []string{
				"dumping 2 ownmemory",
				"reveal 2 your 1 ownmemory",
			},
		},
		{
			id: "send-out", class: Exfiltration, weight: 0.6,
			reason: "It wants private data sent to an address.",
			phrases: []string{
				"transmit 6 private 8 url",
				"private 6 transmit 4 url",
				"private 4 url 4 transmit",
				"transmit 6 private 6 mailbox",
				"private 4 transmit 4 mailbox",
				"private 8 transmit 4 url|mailbox",
				"transmit 2 url 8 private",
			},
		},
	}
}
