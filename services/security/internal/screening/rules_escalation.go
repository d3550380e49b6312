package screening

// escalationRules find attempts to gain rights or get round controls.
func escalationRules() []rule {
	return []rule{
		{
			id: "grant-privilege", class: Escalation, weight: 0.55,
			reason: "It asks for rights the caller does not have.",
			phrases: []string{
				"grant 4 privilege 1 admin", "grant 4 admin 1 privilege", "grant 2 filler 3 admin", "grant 3 filler 1 admin", "you 3 told|grant 1 elevated 1 privilege", "grant 1 privilege 3 admin",
				"grant 3 privilege 3 all 1 tenantall",
			},
		},
		{
			id: "claim-authority", class: Escalation, weight: 0.3,
			reason: "It claims an authority that a message cannot prove.",
			phrases: []string{
				"iam 3 admin", "user 4 elevated 2 admin", "nobody 4 elevated 2 admin", "you 3 elevated 1 privilege", "iam 1 filler 1 system",
				"me 1 filler 1 asroot|admin",
			},
		},
		{
			id: "skip-control", class: Escalation, weight: 0.5,
			reason: "It wants a check or an approval left out.",
			phrases: []string{
				"skip 3 control",
				"skip 2 all 2 control",
				"control 1 skip",
			},
		},
		{
			id: "no-asking", class: Escalation, weight: 0.3,
			reason:  "It wants it done without asking.",
			phrases: []string{"not|skip 1 asking", "not 1 human"},
		},
		{
			id: "approve-itself", class: Escalation, weight: 0.5,
			reason:  "It wants the agent to approve in a person's place.",
			phrases: []string{"approve 5 self", "approve 5 not|skip 2 control", "approve 4 skip 2 all"},
		},
		{
			id: "other-identity", class: Escalation, weight: 0.6,
			reason: "It wants to act under another identity.",
			phrases: []string{
				"behalf 4 identity",
				"persona 2 self 3 identity",
				"use 1 whose 1 privilege",
				"grant 1 privilege 4 secret",
				"behalf 3 machine",
			},
		},
		{
			id: "force-result", class: Escalation, weight: 0.35,
			reason: "It dictates the result of a check.",
			phrases: []string{
				"setresult 4 scoremax", "setresult 6 asset 3 scoremax",
				"setresult 2 own 3 scoremax",
			},
		},
		{
			id: "run-as-root", class: Escalation, weight: 0.55,
			reason:  "It wants a command run with the highest rights.",
			phrases: []string{"exec 6 asroot"},
		},
		{
			id: "hide-traces", class: Escalation, weight: 0.6,
			reason: "It wants something kept out of the records.",
			phrases: []string{
				"hide 5 log",
			},
		},
		{
			id: "approve-own", class: Escalation, weight: 0.4,
			reason: "It wants the caller's own request approved.",
			phrases: []string{
				"setresult 2 own 5 scoremax",
				"approve 2 own",
			},
		},
		{
			id: "move-money", class: Escalation, weight: 0.25,
			reason:  "It wants money moved at once.",
			phrases: []string{"money 30 urgent"},
		},
	}
}

// commandRules find orders to destroy data or plant programs, in words.
func commandRules() []rule {
	return []rule{
		{
			id: "destroy-critical", class: Command, weight: 0.3,
			reason:  "What it wants destroyed cannot be brought back.",
			phrases: []string{"destroy 1 all 2 critical", "destroy 1 filler 0 critical"},
		},
		{
			id: "destroy-data", class: Command, weight: 0.55,
			reason:  "It asks to destroy data.",
			phrases: []string{"destroy 1 all 3 assets", "destroy 3 assets", "destroy 1 all 2 records"},
		},
		{
			id: "urgent", class: Command, weight: 0.15,
			reason:  "It presses for haste without questions.",
			phrases: []string{"urgent 4 not 1 asking"},
		},
		{
			id: "persistence", class: Command, weight: 0.6,
			reason:  "It wants something that starts again and again planted on a machine.",
			phrases: []string{"persist 6 download", "download 2 exec 2 url"},
		},
	}
}
