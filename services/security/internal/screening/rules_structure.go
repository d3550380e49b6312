package screening

// structureRules are found in the shape of a text: markup, templates, commands.
// Patterns see the folded text, which is in lower case.
func structureRules() []rule {
	return []rule{
		{
			id: "chat-template", class: Forgery, weight: 0.75,
			reason:  "It carries the control marks of a chat template.",
			needles: []string{"<|", "[inst]", "<<sys>>", "<start_of_turn>", "</s>"},
			pattern: `<\|\s?(im_start|im_end|system|assistant|user|endoftext|eot_id|start_header_id|end_of_turn)\s?\|?>|\[/?inst\]|<</?sys>>|<start_of_turn>`,
		},
		{
			id: "forged-turn", class: Forgery, weight: 0.45,
			reason:  "It contains a turn that claims to come from the system or the agent.",
			needles: []string{"system", "assistant", "developer"},
			pattern: `(^|\n)[\s#*>\[<("-]*(system|assistant|developer|system (message|note|override|notice|update)|systemnachricht)( prompt| message)?\s?[\])>"*]*\s?:`,
		},
		{
			id: "forged-header", class: Forgery, weight: 0.65,
			reason:  "It contains a heading that claims the authority of the platform.",
			needles: []string{"system", "admin", "developer", "operator"},
			pattern: `(^|\n)\s?([#*=\[<-]{2,}|\[|<)\s?(begin |end |new )?(system|admin|developer|operator)[ _]?(override|instructions?|message|prompt|notice|command)?\s?([#*=\]>-]{1,}|:)`,
		},
		{
			id: "forged-role", class: Forgery, weight: 0.65,
			reason:  "It contains a message object with a role that callers do not have.",
			needles: []string{"role"},
			pattern: `["']?role["']?\s?[:=]\s?["'](system|developer|tool|role_agent|assistant)["']`,
		},
		{
			id: "forged-call", class: Forgery, weight: 0.7,
			reason:  "It contains a tool call in the agent's own notation.",
			needles: []string{"tool_call", "function_call", "<invoke", "tool_use", "<tool>", "action input", "tool_result", "tool_response"},
			pattern: `</?\s?(antml:)?(tool_calls?|function_calls?|invoke|tool_use|function_results?|tool_results?|tool_response)\b[^>]*>|"(tool_calls|function_call|tool_use)"\s?:|(^|\n)action input\s?:`,
		},
		{
			id: "react-trace", class: Forgery, weight: 0.4,
			reason:  "It imitates the agent's own reasoning steps.",
			needles: []string{"observation:", "thought:"},
			pattern: `(^|\n)(thought|observation)\s?:[^\n]*\n(thought|action)\s?:`,
		},
		{
			id: "image-beacon", class: Exfiltration, weight: 0.7,
			reason:  "It contains an image or a link whose address carries data out.",
			needles: []string{"](http", "<img", "](//"},
			pattern: `!?\[[^\]\n]*\]\(\s?(https?:)?//[^)\s]*(\{|\$\{|%7b|=\)|=<|=\[)|<img[^>]*src=[^>]*(\{\{|\$\{|'\s?\+|"\s?\+)`,
		},
		{
			id: "secret-file", class: Exfiltration, weight: 0.45,
			reason:  "It names a file that holds credentials.",
			needles: []string{"/etc/", "id_rsa", "id_ed25519", ".aws/", ".ssh/", ".env", ".kube/", ".netrc", "/proc/self"},
			pattern: `/etc/(passwd|shadow|sudoers)|id_rsa|id_ed25519|\.aws/credentials|\.ssh/|(^|[\s/"'])\.env\b|\.kube/config|\.netrc|/proc/self/environ`,
		},
		{
			id: "read-secret-file", class: Exfiltration, weight: 0.4,
			reason:  "It wants a file with credentials read out.",
			needles: []string{"/etc/", "id_rsa", "id_ed25519", ".aws/", ".ssh/", ".env", "/proc/self"},
			pattern: `\b(cat|read|paste|print|quote|send|lies|lee|lis)\b[^\n]{0,60}(/etc/(passwd|shadow|sudoers)|id_rsa|id_ed25519|\.aws/|\.ssh/|\.env\b|/proc/self)`,
		},
		{
			id: "secret-name", class: Exfiltration, weight: 0.4,
			reason:  "It asks for a variable that holds a secret.",
			needles: []string{"_key", "_secret", "_token", "_password", "environment variables", "umgebungsvariablen"},
			pattern: `\b(include|print|show|send|return|reveal|echo|output|give|tell|read|dump)\b[^\n]{0,80}\b([a-z0-9]+_(api_key|secret|token|password|key|access_key))\b|\b(read|dump|send|print)\b[^\n]{0,20}environment variables[^\n]{0,20}(server|host|process)`,
		},
		{
			id: "path-escape", class: Command, weight: 0.6,
			reason:  "It climbs out of the folder it may read.",
			needles: []string{"../", `..\`, "file:///"},
			pattern: `(\.\./){3,}|(\.\.\\){3,}|file:///+(etc|proc|root|\.\.|home|var/run)`,
		},
		{
			id: "wipe-disk", class: Command, weight: 0.65,
			reason:  "It holds a command that erases a machine.",
			needles: []string{"rm ", "mkfs", "dd if", "format c:", "del /", "chmod "},
			pattern: `\brm\s+(-[a-z-]+\s+)+["']?(/(\s|$|["'*;&|.]|etc\b|usr\b|boot\b|bin\b|home\b)|~(/?\s|/?$|/\*)|\*(\s|$)|\$home)|\bmkfs(\.[a-z0-9]+)?\s+/dev/|\bdd\s+if=[^\n]{0,60}of=/dev/|chmod\s+(-r\s+)?777\s+/(\s|$)|format c:|del\s+/[sfq]`,
		},
		{
			id: "fetch-and-run", class: Command, weight: 0.65,
			reason:  "It fetches a program from the network and runs it.",
			needles: []string{"curl", "wget", "iwr", "invoke-webrequest", "downloadstring", "net.webclient"},
			pattern: `\b(curl|wget|iwr|invoke-webrequest)\b[^\n]{0,200}(\|\s?(sudo\s)?(ba|z|da)?sh\b|\|\s?(python|perl|iex)|chmod\s+\+?[0-7x]+|&&\s?(ba)?sh\b)|downloadstring|net\.webclient`,
		},
		{
			id: "reverse-shell", class: Command, weight: 0.75,
			reason:  "It opens a shell to another machine.",
			needles: []string{"/dev/tcp/", "nc -", "ncat ", "bash -i", "pty.spawn", "socket.connect", "mkfifo"},
			pattern: `/dev/tcp/|\bn(c|cat)\s+[^\n]{0,40}(-e|-c)\s?[^\n]{0,20}sh\b|bash -i\b|pty\.spawn|mkfifo[^\n]{0,60}\bnc\b`,
		},
		{
			id: "fork-bomb", class: Command, weight: 0.75,
			reason:  "It holds a fork bomb.",
			needles: []string{":|:", ": |:", ":| :"},
			pattern: `:\(\)\s?\{\s?:\s?\|\s?:\s?&?\s?\}\s?;\s?:?`,
		},
		{
			id: "hidden-shell", class: Command, weight: 0.7,
			reason:  "It starts a shell with a hidden command.",
			needles: []string{"powershell", "base64 -d", "base64 --decode", "frombase64string"},
			pattern: `powershell[^\n]{0,80}\s-(e|ec|enc|encodedcommand)\s|powershell[^\n]{0,80}-w(indowstyle)? hidden|base64 (-d|--decode)\s?\|\s?(ba)?sh|frombase64string`,
		},
		{
			id: "shell-substitution", class: Command, weight: 0.65,
			reason:  "It smuggles a shell command into a value.",
			needles: []string{"$(", "`", "&&", ";"},
			pattern: `\$\(\s?(cat|curl|wget|id|whoami|env|printenv|rm|nc|bash|sh|base64|ls)\b|[;&|]\s?(rm -rf /|cat /etc|nc -)`,
		},
		{
			id: "sql-break-out", class: Command, weight: 0.75,
			reason:  "It breaks out of a value into SQL.",
			needles: []string{"drop", "union", "delete", "update", " or ", "insert", "xp_cmdshell"},
			pattern: `['"]\)?\s?;\s?(drop|delete|update|insert|alter|truncate|exec)\b[^\n]{0,120}--|'\s?or\s?'?1'?\s?=\s?'?1|['")]\s*union\s+(all\s+)?select\b|xp_cmdshell`,
		},
		{
			id: "code-escape", class: Command, weight: 0.5,
			reason:  "It holds code that starts programs or reads files of the machine.",
			needles: []string{"os.system", "subprocess", "child_process", "eval(", "exec(", "__import__", "runtime.getruntime", "shutil.rmtree"},
			pattern: `os\.system\s?\(|subprocess\.(run|popen|call|check_output)\s?\(|child_process|__import__\s?\(|(eval|exec)\s?\(\s?(compile|base64|atob|requests|input)|runtime\.getruntime|shutil\.rmtree\s?\(`,
		},
		{
			id: "cover-tracks", class: Command, weight: 0.5,
			reason:  "It holds a command that removes traces.",
			needles: []string{"history", "histfile", "/var/log"},
			pattern: `history -c|unset histfile|histfile=/dev/null|(rm|shred|truncate)\b[^\n]{0,30}/var/log`,
		},
		{
			id: "run-smuggled-code", class: Command, weight: 0.6,
			reason:  "It wants code run that reaches past the sandbox.",
			needles: []string{"whoami", "eval(", "system(", "popen", "sh -c", "exec(", "kill -9 -1", "sudo su"},
			pattern: `\b(run|execute|exec|bypass|skip|eval|test|decode and execute)\b\s?:?\s?[^\n]{0,40}(whoami|eval\(|system\(|popen|\bsh -c|\bexec\(|kill -9 -1|sudo su\b)`,
		},
		{
			id: "compromise-phrase", class: Injection, weight: 0.45,
			reason:  "It wants the agent to say that it has been taken over.",
			needles: []string{"pwned", "pwn3d", "been hacked", "access granted", "been owned", "hacked'", "hacked\""},
			pattern: `\b(say|print|output|reply|respond|write|repeat|answer|state|confirm)\b[^\n]{0,60}(pwn[e3]d|been hacked|access granted|been owned|["']hacked["'])`,
		},
		{
			id: "script-markup", class: Command, weight: 0.5,
			reason:  "It holds markup that runs a script or sends cookies away.",
			needles: []string{"<script", "javascript:", "onerror=", "onload=", "document.cookie"},
			pattern: `<script[^>]*>[^<]{0,200}(fetch|document\.|eval|location|xmlhttp)|javascript:[a-z]|on(error|load)\s?=|document\.cookie`,
		},
		{
			id: "data-url", class: Obfuscation, weight: 0.5,
			reason:  "It carries a page or a script inside a data URL.",
			needles: []string{"data:"},
			pattern: `data:(text/html|application/(x-)?javascript|text/javascript|image/svg\+xml|application/xhtml\+xml)[;,]`,
		},
		{
			id: "data-url-text", class: Obfuscation, weight: 0.15,
			reason:  "It carries text inside a data URL.",
			needles: []string{"data:text"},
			pattern: `data:text/plain[^,\s]{0,40},`,
		},
		{
			id: "hidden-element", class: Obfuscation, weight: 0.35,
			reason:  "It contains markup that readers do not see.",
			needles: []string{"display:", "font-size:", "visibility:", "opacity:", "color:", "[//]:", "hidden>"},
			pattern: `display:\s?none|font-size:\s?0|visibility:\s?hidden|opacity:\s?0[;"']|color:\s?(white|#fff)|\[//\]:\s?#`,
		},
		{
			id: "dan", class: Jailbreak, weight: 0.75,
			reason:  "It names a well-known jailbreak persona.",
			needles: []string{"dan", "stan", "aim", "evil", "do anything now", "jailbr", "god mode", "godmode"},
			pattern: `\bdo anything now\b|you are (now )?(dan|stan|evil[a-z]*|aim|freebot)\b|\bevil\s?(bot|confidant|gpt|ai)\b|\[\s?[\p{L}]?\s?jailbreak\s?\]|\bgod\s?mode\b`,
		},
	}
}
