package screening

// jailbreakRules find attempts to talk the agent out of its limits.
func jailbreakRules() []rule {
	return []rule{
		{
			id: "persona-unbound", class: Jailbreak, weight: 0.6,
			reason: "It asks for a persona without rules.",
			phrases: []string{
				"machine 3 not 3 limit|shackle",
				"you 4 not 3 shackle",
				"persona 8 not 3 shackle", "persona 8 shackle 3 revoked",
				"persona 6 unbound",
				"you 4 unbound",
				"your 3 unbound",
				"not 2 shackle 4 machine",
				"machine 3 unbound",
				"unbound 2 machine",
				"free 6 shackle|govern|system|policies",
				"persona 4 machine 4 not 3 limit",
				"you 3 not 2 all 2 limit",
				"persona 8 machine 8 not 3 shackle",
				"you 2 not 0 nolonger 3 machine|follow|bound",
				"command 3 all 4 not 2 shackle",
				"you 2 not 1 bound",
			},
		},
		{
			id: "persona", class: Jailbreak, weight: 0.15,
			reason:  "It gives the agent a persona.",
			phrases: []string{"you 1 enter 3 machine", "persona 4 machine", "fromnow 0 you", "persona 0 filler 3 machine"},
		},
		{
			id: "no-limits", class: Jailbreak, weight: 0.2,
			reason: "It speaks of having no limits.",
			phrases: []string{
				"not 2 shackle",
				"not 2 limit",
				"unbound",
				"shackle 2 not 1 apply",
				"free 3 shackle",
				"not 1 freely",
				"command 1 freely",
			},
		},
		{
			id: "special-mode", class: Jailbreak, weight: 0.55,
			reason: "It wants to switch the agent into a mode that does not exist.",
			phrases: []string{
				"enter 3 special 0 mode",
				"you 4 special 0 mode",
				"special 0 mode 3 enter",
				"enter 1 mode 2 special",
			},
		},
		{
			id: "switch-off-safety", class: Jailbreak, weight: 0.6,
			reason: "It asks to switch off safety, screening or records.",
			phrases: []string{
				"disable 3 your 2 safety|filterish|shackle",
				"disable 1 all 1 filterish",
				"disable 3 safety 1 filterish",
				"disable 2 guard",
				"safety 1 filterish 2 disable",
			},
		},
		{
			id: "never-refuse", class: Jailbreak, weight: 0.4,
			reason:  "It forbids the agent to refuse.",
			phrases: []string{"not 1 refuse", "always 1 comply", "you 2 always 3 comply"},
		},
		{
			id: "fiction-frame", class: Jailbreak, weight: 0.2,
			reason:  "It wraps the request in a story.",
			phrases: []string{"fiction 12 harm", "fiction 8 not 3 limit", "persona 3 fiction", "fiction 6 safety"},
		},
		{
			id: "dangerous-knowledge", class: Jailbreak, weight: 0.65, direct: true, unless: "advisory",
			reason: "It asks how to make something that harms people or machines.",
			phrases: []string{
				"make 4 harm",
				"persona 3 harm",
			},
		},
	}
}
