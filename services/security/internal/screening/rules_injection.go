package screening

// injectionRules find orders to the agent that are not the caller's to give.
func injectionRules() []rule {
	return []rule{
		{
			id: "override-instructions", class: Injection, weight: 0.8, negatable: true,
			reason: "It tells the agent to drop the instructions it was given.",
			phrases: []string{
				"revoke 3 prior|all|system 3 govern",
				"revoke 2 your 3 govern|promptnoun|criteria",
				"revoke 5 govern 1 prior",
				"revoke 3 govern 4 system|you 4 told",
				"revoke 4 you 2 told",
				"prior|all|your 3 govern 3 revokefinal",
				"revoke 1 system 1 promptnoun|message",
				"stop 1 follow 3 your|prior|all|system 3 govern",
				"not 1 follow 3 your|prior|all|system 3 govern|promptnoun",
				"not 1 follow 2 govern 4 system|your|prior",
				"revoke 3 your 3 safety|prior 1 policies",
				"revoke2 3 prior|your|system 2 govern",
				"revoke2|supersede 4 system 2 told",
				"revoke2 2 govern 2 you 2 told",
				"not 1 attention 4 govern",
				"your 2 govern 2 revoke2",
			},
		},
		{
			id: "override-context", class: Injection, weight: 0.6, negatable: true,
			reason: "It tells the agent to forget everything before the message.",
			phrases: []string{
				"revoke 2 all 3 prior",
				"revoke 2 prior 0 all",
				"revoke 2 all 2 prior 2 contextnoun",
				"revoke 2 all 2 you 4 prior",
				"revoke 1 all 1 filler 1 told",
			},
		},
		{
			id: "override-plain", class: Injection, weight: 0.3, negatable: true, unless: "purpose",
			reason:  "It tells the reader to drop instructions.",
			phrases: []string{"revoke 1 govern"},
		},
		{
			id: "override-topic", class: Injection, weight: 0.35, negatable: true,
			reason: "It tells the agent to drop what it was given.",
			phrases: []string{
				"revoke 3 all 3 contextnoun",
				"revoke 2 prior 2 contextnoun",
				"revoke2 2 all 2 prior",
			},
		},
		{
			id: "override-words", class: Injection, weight: 0.25, negatable: true,
			reason: "It speaks of dropping rules.",
			phrases: []string{
				"revoke 4 govern",
				"not 1 follow 4 govern",
				"revoke 3 your 2 policies",
				"revoke 2 all 2 policies",
			},
		},
		{
			id: "rules-void", class: Injection, weight: 0.6,
			reason: "It declares rules of the platform void.",
			phrases: []string{
				"prior|all|your|safety|system 2 govern 5 revoked",
				"safety 1 policies 5 revoked",
				"prior|all|your|safety|system 2 govern 3 nolonger|not 3 apply",
				"govern 4 prior 4 revoked",
				"human|control 4 nolonger 1 required",
				"control 2 revoked",
			},
		},
		{
			id: "new-instructions", class: Injection, weight: 0.45,
			reason: "It gives the agent a new task or new rules in place of its own.",
			phrases: []string{
				"your 1 new 1 task", "new 0 govern", "new 2 task 1 url", "follow 1 new 2 you", "follow 1 new 4 iam", "your 1 new 1 govern",
				"you 3 follow 3 new",
				"nownew 4 new 1 task",
				"your 1 new 0 task",
			},
		},
		{
			id: "addressed-to-machine", class: Injection, weight: 0.35,
			reason: "A passage of the text speaks to the machine that reads it.",
			phrases: []string{
				"note 3 machine",
				"you 2 machine 3 reading",
				"you 3 model 1 model",
				"you 3 machine 2 reading",
				"machine 1 reading 2 filler",
			},
		},
		{
			id: "commands-machine", class: Injection, weight: 0.4,
			reason: "A passage gives orders to the machine that reads it.",
			phrases: []string{
				"machine 3 revoke",
				"machine 2 not 1 tell",
				"machine 2 command",
				"machine 8 instead",
				"instead 2 tell 1 nobody",
				"note 3 machine 8 instead",
				"you 2 machine 3 reading 4 command",
				"model 8 command",
				"machine 5 command",
			},
		},
		{
			id: "drop-request", class: Injection, weight: 0.35,
			reason: "It tells the agent to drop what the person asked for.",
			phrases: []string{
				"revoke 1 filler 1 user",
				"stop 1 reading",
				"not 3 user 2 ask",
			},
		},
		{
			id: "your-new-task", class: Injection, weight: 0.3,
			reason: "It gives the agent a task in place of its own.",
			phrases: []string{
				"your 0 new 1 task",
				"nownew 3 your 1 new",
				"your 1 new 1 govern",
				"follow 2 new 1 you",
			},
		},
		{
			id: "force-output", class: Injection, weight: 0.3,
			reason: "It dictates the words of the answer.",
			phrases: []string{
				"command 1 only",
				"reveal 1 only",
				"only 1 reveal",
				"only 1 command",
				"command 3 phrase",
				"reveal 2 phrase",
				"instead 1 command|reveal",
			},
		},
		{
			id: "secrecy", class: Injection, weight: 0.35,
			reason:  "It asks the agent to keep something from the person it works for.",
			phrases: []string{"not 2 tell 3 nobody", "nobody 3 not 2 tell", "tell 1 nobody 1 not", "not 1 tell 2 nobody", "tell 1 nobody 2 not"},
		},
	}
}
